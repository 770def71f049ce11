"""A translator that CTranslate2 runs: the same methods, settings followed or refused, folders checked."""

import copy
import json
import pickle
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
import torch

from nmt import evaluate, translate
from nmt.config import Backend, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.ctranslate2 import CTranslate2Engine
from nmt.decode.hypothesis import CompiledConstraints
from nmt.decode.pytorch import TorchEngine
from nmt.decode.stop import Stop
from nmt.interop.convert import convert
from nmt.interop.export import export
from nmt.reading.request import Constraints, Request
from nmt.translation.forced import known_of
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS, UNK
from tests.interop.foreign import m2m, sides
from tests.tiny import PAIRS, SHORT, TINY, make_model, save_tiny

pytest.importorskip("ctranslate2")

LINES = [source for source, _ in PAIRS]
SEARCH = SearchConfig(beam_size=3, n_best=3, max_length=14, batch_size=4, guard=False)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("lines") / "lines.de"
    file.write_text("\n".join(LINES), encoding="utf8")
    return file


@pytest.fixture(scope="module")
def exported(model_folder: Path, lines: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    export(model_folder, folder, "ctranslate2", check=lines)
    return folder


@pytest.fixture(scope="module")
def foreign(exported: Path) -> Translator:
    return Translator.load(exported, "cpu", backend="ctranslate2")


@pytest.fixture(scope="module")
def own(model_folder: Path) -> Translator:
    return Translator.load(model_folder, "cpu", precision="fp32", backend="pytorch")


def test_scores_of_hypotheses_are_forced_scores_and_they_are_in_order(foreign: Translator, own: Translator) -> None:
    for line, n_best in zip(LINES, foreign.translate_n_best(LINES, SEARCH), strict=True):
        assert len({t.text for t in n_best}) == len(n_best) > 1
        assert [t.score for t in n_best] == sorted((t.score for t in n_best), reverse=True)
        request, lists = Request(line), foreign.with_forced_scores([Request(line)], [n_best], SEARCH)
        forced = foreign.scorer(SEARCH).score([(request, translation.text) for translation in n_best])
        assert [t.score for t in lists[0]] == pytest.approx([t.score for t in forced if t], abs=1e-4)
        for translation in n_best:
            pairs = [(part.source, part.hypothesis.ids) for part in translation.parts]
            scored = own.scorer(SEARCH).score_ids(pairs)
            for part, expected in zip(translation.parts, scored, strict=True):
                assert expected
                assert part.hypothesis.token_log_probs == pytest.approx(expected.token_log_probs, abs=1e-4)
        assert foreign.align(line, n_best[0]) == own.align(line, n_best[0])


def test_greedy_search_prefixes_and_limits_are_followed(foreign: Translator, own: Translator) -> None:
    greedy = replace(SEARCH, beam_size=1, n_best=1)
    requests = [Request(line, Constraints(prefix="The dog,")) for line in LINES]  # no word that may go on
    for settings in (greedy, replace(greedy, min_length=9), replace(greedy, max_length=0, max_length_ratio=0.2)):
        ours, theirs = (t.translate_n_best([*LINES, "", *requests], settings) for t in (own, foreign))
        assert [best.text for best, *_ in theirs] == [best.text for best, *_ in ours]
        assert [best.finished for best, *_ in theirs] == [best.finished for best, *_ in ours]
    [[best]] = foreign.translate_n_best(requests[:1], greedy)
    assert best.text.startswith("The dog")


def test_no_repeated_ngrams_batches_and_given_translations(foreign: Translator, own: Translator) -> None:
    greedy = replace(SEARCH, beam_size=1, n_best=1, max_length=30, no_repeat_ngram=2)
    for translation in foreign.translate_n_best(LINES, greedy):
        for part in translation[0].parts:
            bigrams = [*zip(part.hypothesis.ids, part.hypothesis.ids[1:], strict=False)]
            assert len(set(bigrams)) == len(bigrams)
    alone = [foreign.translate([line], greedy)[0] for line in LINES]
    assert foreign.translate(LINES, greedy) == alone == foreign.translate(LINES, greedy, stop=Stop(1000))
    ours, theirs = ([pair.score for pair in t.scorer().score(PAIRS) if pair] for t in (own, foreign))
    assert theirs == pytest.approx(ours, abs=1e-4)


@pytest.mark.parametrize("settings", [{"length_norm": "gnmt"}, {"repetition_penalty": 1.5}, {"samples": 2}])
def test_a_setting_that_it_lacks_is_refused_by_name(foreign: Translator, settings: dict[str, float | str]) -> None:
    [(name, value)] = settings.items()
    with pytest.raises(ValueError, match=rf"search\.{name} is {value}, and CTranslate2 can't do that"):
        foreign.translate(LINES, replace(SHORT, **settings))  # type: ignore[arg-type]


def test_lines_that_are_too_long_for_the_positions_are_cut(tokenizer: Tokenizer, lines: Path, tmp_path: Path) -> None:
    config = replace(TINY, positions="learned", max_positions=24)
    folder = save_tiny(tmp_path / "model", make_model(tokenizer, config=config), tokenizer)
    export(folder, tmp_path / "out", "ctranslate2", check=lines)
    translator = Translator.load(tmp_path / "out", "cpu", replace(SHORT, max_length_ratio=9), backend="ctranslate2")
    [[best]] = translator.translate_n_best([" ".join(LINES)])
    assert 20 < max(len(part.source) for part in best.parts) <= 23
    assert 20 < max(len(part.hypothesis.ids) for part in best.parts) <= 23


def test_commands_use_it(exported: Path, lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--backend", "ctranslate2", "--model", str(exported), "--device", "cpu"]
    output = tmp_path / "out.txt"
    written = ["--format", "jsonl", "--alignments", "--output", str(output)]
    (tmp_path / "in.jsonl").write_text('"Das ist <b>gut</b>: https://a.de"\n{"text": "Hund", "must": ["dog"]}\n')
    assert translate.main([*options, *written, str(tmp_path / "in.jsonl")]) == 0
    first, second = map(json.loads, output.read_text(encoding="utf8").splitlines())
    assert first["translation"]
    assert first["alignment"] is not None
    assert "can't follow phrases" in second["error"]
    assert evaluate.main([*options, "--source", str(lines), "--reference", str(lines)]) == 0
    assert "float32 on cpu" in capsys.readouterr().out


def test_folders_that_the_backend_cannot_take(exported: Path, model_folder: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(exported, tmp_path / "damaged"))
    (damaged / "model.bin").write_bytes(b"other")
    wrong: list[tuple[Any, str, Backend, str]] = [
        (model_folder, "cpu", "ctranslate2", r"write one with .*export MODEL OUT --to ctranslate2"),
        (exported, "cpu", "auto", r"nmt\.evaluate and nmt\.serve take it with --backend ctranslate2"),
        ([exported, exported], "cpu", "ctranslate2", "runs no ensembles"),
        (tmp_path / "missing", "cpu", "ctranslate2", "there is no such folder"),
        (exported, "cuda:7", "ctranslate2", r"CTranslate2 can't run .* on cuda:7"),
        (damaged, "cpu", "ctranslate2", r"model\.bin is damaged or was altered"),
    ]
    for folder, device, backend, told in wrong:
        with pytest.raises(ValueError, match=told):
            Translator.load(folder, device, backend=backend)


def test_a_model_that_is_told_languages_writes_the_same(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    m2m(tmp_path / "m2m")
    lines = sides()[0][:6]
    (tmp_path / "lines").write_text("\n".join(lines), encoding="utf8")
    convert(tmp_path / "m2m", tmp_path / "any", "M2M-100")
    with pytest.raises(ValueError, match=r"100 languages, .*: choose the source language with --source-language"):
        export(tmp_path / "any", tmp_path / "out", "ctranslate2", check=tmp_path / "lines")
    convert(tmp_path / "m2m", tmp_path / "ours", "M2M-100", ("de", "en"))
    assert export(tmp_path / "ours", tmp_path / "out", "ctranslate2", check=tmp_path / "lines").largest < 1e-4
    greedy = SearchConfig(beam_size=1, max_length=12, guard=False, split_above=1000)
    doors: list[tuple[str, Backend]] = [("ours", "pytorch"), ("out", "ctranslate2")]
    both = [Translator.load(tmp_path / name, "cpu", greedy, "fp32", backend) for name, backend in doors]
    english, french = ([t.between(target=code).translate(lines) for t in both] for code in ("en", "fr"))
    assert english[0] == english[1] != french[0] == french[1]
    wanted = Request(lines[0], Constraints(prefix="here"))
    results = [t.between(target="fr").translate_n_best([wanted], greedy)[0][0] for t in both]
    assert results[0].text == results[1].text
    assert results[0].text.startswith("here")
    assert results[0].log_prob == pytest.approx(results[1].log_prob, abs=1e-4)
    assert both[0].between(target="fr").align(lines[0], results[0]) == both[1].between(target="fr").align(
        lines[0], results[1]
    )


def searches(translator: Translator, requests: list[Request], search: SearchConfig) -> str:
    """What does the searches of a call."""
    library = patch.object(CTranslate2Engine, "search", autospec=True, side_effect=CTranslate2Engine.search)
    with library as called:
        translator.translate(requests, search)
    return "CTranslate2" if called.called else "PyTorch"


def test_by_default_ctranslate2_does_plain_searches_and_pytorch_all_else(model_folder: Path) -> None:
    translator = Translator.load(model_folder, "cpu", SEARCH, precision="fp32")
    assert "CTranslate2, float32" in translator.describe()
    line, plain = Request("Hund und Wiese"), SearchConfig(beam_size=3, max_length=12, guard=False)
    for setting in ({}, {"beam_size": 1}, {"no_repeat_ngram": 3}, {"min_length": 3}, {"length_penalty": 0.5}):
        assert searches(translator, [line], replace(plain, **setting)) == "CTranslate2"
    others: list[dict[str, Any]] = [{"n_best": 2}, {"samples": 2, "beam_size": 1}]
    others += [{"repetition_penalty": 1.2}, {"allow_unk": True}]
    for setting in others:
        assert searches(translator, [line], replace(plain, **setting)) == "PyTorch"
    assert searches(translator, [replace(line, constraints=Constraints(prefix="The"))], plain) == "PyTorch"
    met_anyway = replace(line, constraints=Constraints(must_not=("nowhere",)))
    assert searches(translator, [met_anyway], plain) == "CTranslate2"
    for unlike in (Translator.load(model_folder, "cpu", precision="bf16"), Translator.load([model_folder] * 2, "cpu")):
        assert "CTranslate2" not in unlike.describe()


def test_the_copy_in_the_cache_is_made_once_and_the_model_folder_stays(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    before = {path: path.stat().st_mtime_ns for path in model_folder.rglob("*")}
    Translator.load(model_folder, "cpu", precision="fp32")
    [made] = (tmp_path / "cache").rglob("model.bin")
    stamp = made.stat().st_mtime_ns
    assert "CTranslate2" in Translator.load(model_folder, "cpu", precision="int8").describe()
    assert made.stat().st_mtime_ns == stamp
    assert before == {path: path.stat().st_mtime_ns for path in model_folder.rglob("*")}
    whole = made.read_bytes()
    made.write_bytes(b"damaged")
    assert "CTranslate2" in Translator.load(model_folder, "cpu").describe()
    assert made.read_bytes() == whole
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("NMT_CACHE", str(model_folder / "config.json"))  # no folder can be made there
    assert "CTranslate2" not in Translator.load(model_folder, "cpu").describe()
    assert "PyTorch does all searches" in capsys.readouterr().err
    with pytest.raises(ValueError, match="precision int8 is for searches by CTranslate2"):
        Translator.load(model_folder, "cpu", precision="int8")
    monkeypatch.delenv("NMT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError("Could not determine home directory.")))
    assert "CTranslate2" not in Translator.load(model_folder, "cpu").describe()


@pytest.fixture
def three_threads() -> Iterator[None]:
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(1)


@pytest.mark.usefixtures("three_threads")
def test_lines_that_are_read_in_shares_keep_their_order(model_folder: Path, own: Translator) -> None:
    auto = Translator.load(model_folder, "cpu", precision="fp32")
    lines = [*LINES, "", "Hund!", "Wiese", "Kaffee und Tisch", "x"] * 3
    search = SearchConfig(beam_size=1, max_length=12, batch_size=4, guard=False)
    assert auto.translate(lines, search) == own.translate(lines, search)


def test_log_probabilities_are_exact_where_the_library_s_score_is_not(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """A model that would often write <unk>: the library's scores are of all other pieces alone."""
    model = make_model(tokenizer, seed=3)
    with torch.no_grad():
        model.output.weight[EOS] *= 4
        model.output.weight[UNK] *= 3
    save_tiny(tmp_path / "model", model, tokenizer)
    translator = Translator.load(tmp_path / "model", "cpu", precision="fp32")
    plain, sources = translator.plain, tokenizer.encode_source(LINES)
    assert plain
    free, few = SearchConfig(beam_size=3, max_length=12, guard=False), SearchConfig(beam_size=3, max_length=2)
    prefix = [CompiledConstraints(prefix=(9, 20))] * len(sources)
    for options, constraints in ((few, ()), (free, prefix)):
        for hypotheses in plain.search(sources, options, constraints):
            assert hypotheses[0].log_prob == pytest.approx(sum(hypotheses[0].token_log_probs), abs=1e-4)
    found = [best for best, *_ in translator.translate_n_best([*LINES, "Hund", "Wiese"], free)]
    searched = {tuple(part.hypothesis.ids): part.hypothesis.score for best in found for part in best.parts}
    known = {ids: hypothesis for (_, ids), hypothesis in known_of(found, free).items() if hypothesis}
    assert known.keys() == searched.keys()
    for hypothesis in known.values():
        mean = sum(hypothesis.token_log_probs) / len(hypothesis.token_log_probs)
        assert hypothesis.score == pytest.approx(mean, abs=1e-5)
    assert max(abs(searched[ids] - hypothesis.score) for ids, hypothesis in known.items()) > 1e-3
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert [best.token_log_probs for best in copied] == [best.token_log_probs for best in found]


def test_with_int8_the_printed_score_is_that_of_the_given_translation(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model: Any = make_model(tokenizer, config=replace(TINY, output_bias=True))
    [[word]] = tokenizer.encode_target(["the"])
    model.output.bias.data[word] = 10.0  # so that a translation is this word, whose piece is that of its text
    translator = Translator.load(save_tiny(tmp_path / "model", model, tokenizer), "cpu", precision="int8")
    search = SearchConfig(beam_size=1, max_length=1, guard=False)
    found = translator.translate_n_best(LINES[:2], search)
    assert [best.text for best, *_ in found] == ["the", "the"]
    printed = [best.score for best, *_ in translator.with_forced_scores([*map(Request, LINES[:2])], found, search)]
    forced = translator.scorer(search).score([(line, "the") for line in LINES[:2]])
    assert printed == pytest.approx([scored.score for scored in forced if scored], abs=1e-5)


@pytest.mark.usefixtures("auto")
def test_weights_of_pytorch_are_read_when_a_search_needs_them(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """And they are those of the model that was loaded, though the folder has another one by then."""
    folder = save_tiny(tmp_path / "model", make_model(tokenizer), tokenizer)
    whole = Translator.load(folder, "cpu", backend="pytorch")
    translator, other = (Translator.load(folder, "cpu") for _ in range(2))
    for loaded in (translator, other):
        assert isinstance(loaded.engine, TorchEngine)
        assert loaded.translate(LINES) == loaded.between().translate(LINES)
        assert loaded.engine.models[0].device.type == "meta"
        assert loaded.device.type == "cpu"
    shutil.rmtree(folder)
    save_tiny(folder, make_model(tokenizer, seed=2), tokenizer)
    samples = replace(SHORT, samples=1)
    expected, changed = (loaded.translate(LINES, samples) for loaded in (whole, Translator.load(folder, "cpu")))
    assert translator.translate(LINES, samples) == expected != changed
    pairs = zip(other.model.state_dict().values(), whole.model.state_dict().values(), strict=True)
    assert all(ours.dtype == theirs.dtype and ours.equal(theirs) for ours, theirs in pairs)
    assert not any(weight.is_inference() for weight in translator.model.parameters())


@pytest.mark.usefixtures("three_threads")
def test_the_library_searches_as_long_as_needed_and_leaves_threads_and_adapters_alone(model_folder: Path) -> None:
    """With the patience of 1 that it has by default, 8 of 100 lines would differ (val of Multi30k, beam 5)."""
    translator = Translator.load(model_folder, "cpu", precision="fp32")
    assert torch.get_num_threads() == 3
    assert isinstance(translator.engine, TorchEngine)
    assert translator.engine.plain
    assert translator.engine.with_models(translator.engine.models).plain is None, "its weights are others"
    library = Mock(translate_batch=Mock(return_value=[]))
    replace(translator.engine.plain, translator=library).find([[5]], SearchConfig(), [], 9, None)
    assert library.translate_batch.call_args.kwargs["patience"] >= 1.5
