"""One way of reading for all kinds of lines: constraints, scores and text are the same at every door."""

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.text_kinds import Sentence, make_kinds
from nmt.config.serve import ServeConfig
from nmt.data.tokenizer import Tokenizer
from nmt.documents.base import Unit, units_translator
from nmt.reading.request import Constraints, Request, Term
from nmt.scoring.evaluation import evaluate
from nmt.server.metrics import Metrics
from nmt.server.work.owners import Places, Work
from nmt.server.work.queue import Engine
from nmt.text.markup import is_markup, visible
from nmt.text.tokens import tokenize
from nmt.text.words import Words
from nmt.translation.formats import Text
from nmt.translation.jobs import Translating
from nmt.translation.model_folder import Facts
from nmt.translation.pipeline import pipeline
from nmt.translation.translator import Translator
from tests.tiny import PAIRS, SHORT, make_model

SEARCH = replace(SHORT, guard=True, max_length=10, batch_size=64)
NOUNS = {"Anna": "Anna", "Hund": "dog", "Kaffee": "coffee", "Bahnhof": "station"}
# The first one suits every kind.
FIRST = (
    "Anna und Paul öffnen am Supermarkt zwei Flaschen Kaffee.",
    "Anna and Paul open two bottles of coffee at the supermarket.",
)
SENTENCES = [Sentence(*pair, tuple((s, t) for s, t in NOUNS.items() if s in pair[0])) for pair in (FIRST, *PAIRS * 7)]
LINES = {
    name: case.line
    for name, kind in make_kinds("de", "en").items()
    if (case := kind(SENTENCES, Random(1))) and name != "twenty sentences"
}
SEVERAL = ["> Der „kleine“ Hund, {name}: [1]", "ZWEI MÄNNER!!!", "<b>Der</b> Hund &amp; René\nWo? (Da.)", "1) %s läuft"]


@pytest.fixture(scope="module", params=[False, True], ids=["", "words"])
def reader(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Translator:
    """A tiny random model that has what makes steps act, or not."""
    facts = Facts(final_mark=".", usual_sentences=2) if request.param else Facts()
    known = tokenizer.with_words(Words.learn([source for source, _ in PAIRS])) if request.param else tokenizer
    translator = Translator(make_model(tokenizer), known, SEARCH, facts=facts)
    translator.quotes = ("“", "”") if request.param else None
    return translator


@pytest.mark.slow
@pytest.mark.parametrize("reader", [True], indirect=True, ids=["words"])
@pytest.mark.parametrize("kind", ["must", "must_not", "prefix"])
@pytest.mark.parametrize("line", SEVERAL)
def test_no_constraint_of_any_part_of_a_line_is_broken_unflagged(reader: Translator, line: str, kind: str) -> None:
    seen = visible(line, "auto")
    parts = dict.fromkeys([*(seen[start:end] for start, end in tokenize(seen)), *seen.split(), "the", "“"])
    made = [
        Constraints(must=(Term((part,)),), must_not=("x",))
        if kind == "must"
        else Constraints(must_not=(part,))
        if kind == "must_not"
        else Constraints(part)
        for part in parts
    ]
    possible = [constraints for constraints in made if not reader.compiler.problem(constraints, SEARCH)]
    assert possible
    found = reader.translate_n_best([Request(line, constraints) for constraints in possible])
    for constraints, (best, *_) in zip(possible, found, strict=True):
        is_met = reader.compiler.are_met(constraints, visible(best.text, "auto"))
        assert is_met or "constraints" in best.flags, (constraints, best.text)


def test_the_lines_are_of_all_kinds() -> None:
    assert {*make_kinds("de", "en")} - {*LINES} == {"twenty sentences"}


def test_the_printed_score_is_that_of_the_forced_translation(reader: Translator) -> None:
    requests = [Request(line) for line in LINES.values()]
    found = reader.translate_n_best(requests)
    printed = [best.score for best, *_ in reader.with_forced_scores(requests, found, SEARCH)]
    pairs = [(line, best.text) for line, (best, *_) in zip(LINES.values(), found, strict=True)]
    forced = [scored.score if scored else None for scored in reader.scorer().score(pairs)]
    lost = {n for n, (best, *_) in enumerate(found) if not best.parts or not best.text}
    unlike = [
        (name, *both)
        for n, (name, *both) in enumerate(zip(LINES, printed, forced, strict=True))
        if n not in lost and both[1] != pytest.approx(both[0], abs=1e-3)
    ]
    assert not unlike
    assert len(lost) < 12


def test_one_line_has_one_translation_wherever_it_is_translated(reader: Translator, tmp_path: Path) -> None:
    lines = list(LINES.values())[::2]
    expected = reader.translate(lines)
    assert evaluate(reader, lines, lines, metrics=()).translations == expected
    assert [one["translation_text"] for one in pipeline("translation", reader)(lines)] == expected
    single = [n for n, line in enumerate(lines) if len(line.splitlines()) == 1 and "\t" not in line]
    job = Translating(reader, SEARCH, Text(reader), markup="auto")
    output = job.answer([lines[n].encode() for n in single]).decode().splitlines()
    assert output == [expected[n] for n in single]

    async def ask(mode: str) -> list[str]:
        engine = Engine(ServeConfig(workers=1), Metrics(), Places(2, "other"))
        try:
            requests = [Request(line) for line in lines]
            return [best.text for best, *_ in await engine.translate(Work(""), reader, requests, SEARCH, markup=mode)]  # type: ignore[arg-type]
        finally:
            engine.close()

    assert asyncio.run(ask("auto")) == expected
    plain = reader.translate(lines, markup="none")
    assert asyncio.run(ask("none")) == plain
    units = [Unit(line, markup=is_markup(line, "auto")) for line in lines]
    answers = units_translator(reader)(units)
    marked = reader.translate(lines, markup="html")
    assert [a.text for a in answers] == [(marked if u.markup else plain)[n] for n, u in enumerate(units)]
