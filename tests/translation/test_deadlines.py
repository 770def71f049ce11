"""Every search ends when its time is up, with what it has: each line has a translation, and one that isn't finished is
flagged."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nmt.config import Backend, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.hypothesis import LEAST
from nmt.decode.stop import Stop
from nmt.reading.request import Constraints, Request, Term
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS
from tests.decode.families import Looks
from tests.tiny import PAIRS, make_model, save_tiny

GREEDY = SearchConfig(beam_size=1, max_length=14, batch_size=4, guard=False)
BEAM = replace(GREEDY, beam_size=3)
LINES = [source for source, _ in PAIRS] * 4
TERM = Constraints(must=(Term(("dog",)),))
SETTINGS: dict[str, tuple[SearchConfig, Sequence[str | Request]]] = {
    "greedy": (GREEDY, LINES),
    "beam": (BEAM, LINES),
    "n-best": (replace(BEAM, n_best=3), LINES),
    "guard": (replace(BEAM, guard=True), LINES),
    "repeated": (replace(BEAM, no_repeat_ngram=2, min_length=3), LINES),
    "prefix": (BEAM, [Request(line, Constraints(prefix="The dog")) for line in LINES]),
    "long lines": (replace(GREEDY, span_pieces=20), [" ".join(LINES), "", "\n".join(LINES), "<b>Hund</b> und <i>Hut"]),
    "terms": (BEAM, [Request(line, TERM) for line in LINES]),
    "n-best with terms": (replace(BEAM, n_best=2), [Request(line, TERM) for line in LINES]),
    "forbidden": (BEAM, [Request(line, Constraints(must_not=("dog", "the"))) for line in LINES]),
    "samples": (replace(GREEDY, samples=3, n_best=3, guard=True), LINES),
}
BACKENDS: Sequence[Backend] = ("pytorch", "auto", "ctranslate2")
ONLY_PYTORCH = ("terms", "n-best with terms", "forbidden", "samples")
CASES = [(b, name) for b in BACKENDS for name in SETTINGS if b != "ctranslate2" or name not in ONLY_PYTORCH]


@pytest.fixture(scope="module")
def translators(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> dict[Backend, Translator]:
    pytest.importorskip("ctranslate2")
    from nmt.interop.export import export

    folder = tmp_path_factory.mktemp("deadlines")
    model = make_model(tokenizer)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
        model.output.weight[EOS] *= 3  # some translations end before their limit
    save_tiny(folder / "model", model, tokenizer)
    (folder / "lines.de").write_text("\n".join(LINES[:2]), encoding="utf8")
    export(folder / "model", folder / "exported", "ctranslate2", check=folder / "lines.de")

    def load(backend: Backend) -> Translator:
        path: Path = folder / ("exported" if backend == "ctranslate2" else "model")
        # In bf16, which auto is on some processors, scores of such weights differ by more than is compared here.
        return Translator.load(path, "cpu", precision="auto" if backend == "ctranslate2" else "fp32", backend=backend)

    return {backend: load(backend) for backend in BACKENDS}


@pytest.mark.parametrize("looks", [0, 4, 20, 10**9])
@pytest.mark.parametrize(("backend", "name"), CASES)
def test_a_search_is_cut_short(backend: Backend, name: str, looks: int, translators: dict[Backend, Translator]) -> None:
    translator, (search, lines) = translators[backend], SETTINGS[name]
    texts = [line.text if isinstance(line, Request) else line for line in lines]
    stop = Looks(looks)
    found = translator.translate_n_best(lines, search, stop=stop)
    assert len(found) == len(lines)
    assert all(found)
    for text, translations in zip(texts, found, strict=True):
        for translation in translations:
            # A limit of length can be reached too.
            assert translation.finished or stop.looks >= 0 or "unfinished" in translation.flags
            assert text.strip() or not translation.flags
            assert translator.align(text, translation) is not None
    if looks == 0:
        assert all("unfinished" in best.flags for text, (best, *_) in zip(texts, found, strict=True) if text.strip())
        assert not any(best.text for best, *_ in found)
    if looks == 10**9:
        whole = translator.translate_n_best(lines, search)
        assert [[t.text for t in n_best] for n_best in found] == [[t.text for t in n_best] for n_best in whole]
    parts = [part for n_best in found for t in n_best for part in t.parts if part.hypothesis.score > LEAST]
    forced = translator.scorer(search).score_ids([(part.source, part.hypothesis.ids) for part in parts])
    for part, scored in zip(parts, forced, strict=True):  # what was cut off has true scores, too
        assert scored
        assert part.hypothesis.score == pytest.approx(scored.score, abs=1e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_not_scored_in_time_has_no_score(backend: Backend, translators: dict[Backend, Translator]) -> None:
    scorer = translators[backend].scorer(GREEDY)
    pairs = [(f"{source} {n}", f"{target} {n}") for n in range(5) for source, target in PAIRS]
    whole, numbers = scorer.score(pairs), set[int]()
    for looks in (*range(0, 30, 3), 10**9):
        found = scorer.score(pairs, Looks(looks))
        numbers.add(n := sum(scored is not None for scored in found))
        assert [scored and scored.score for scored in found] == pytest.approx(
            [scored.score if scored and i < n else None for i, scored in enumerate(whole)], abs=1e-4
        )
    assert scorer.score(pairs[:1] * 40, Looks(1))[-1] is None, "what is known has no score then, either"
    assert {0, len(pairs)} <= numbers
    assert len(numbers) > 2 or backend == "ctranslate2", "the library looks at the clock as often as it is slow"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_of_many_lines_ends_in_time(backend: Backend, translators: dict[Backend, Translator]) -> None:
    lines, started = [f"{n} {line}" for n in range(2000) for line in LINES], time.monotonic()
    found = translators[backend].translate_n_best(lines, replace(BEAM, batch_size=16), stop=Stop(0.5))
    assert time.monotonic() - started < 10, "all lines take minutes"
    assert len(found) == len(lines)
    assert found[-1][0].text == ""
    assert all(best.finished != ("unfinished" in best.flags) for best, *_ in found)
