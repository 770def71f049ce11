"""Benchmarks of real and of odd text: what is right, flagged or wrong is counted, and failures are found."""

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from benchmarks import any_language, fuzz, real_text, steps
from benchmarks.rows import Row
from benchmarks.text_kinds import Case, Sentence, make_kinds, sentence_of
from nmt.translation.translator import Translator
from tests.data.corpus_files import write_corpus

pytestmark = pytest.mark.slow
Run = Callable[..., list[Row]]
NOUNS = {"Haus": "house", "Boot": "boat", "Kind": "child", "Tier": "animal", "Brot": "bread"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    pairs = [(f"das {noun} {size}.", f"the {meaning} {size}.") for noun, meaning in NOUNS.items() for size in range(12)]
    return write_corpus(tmp_path, train=pairs, val=pairs, test=pairs)


def stand_in(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, change: Callable[[str], str], doubted: str = "\0"
) -> None:
    """A translator word by word, which loses a second sentence, changes its text so, and doubts a character."""

    def translate(folder: Path, options: list[str], lines: list[str]) -> list[real_text.Answer]:
        texts = [re.sub(r"\w+", lambda word: (NOUNS | {"das": "the"}).get(word[0], word[0]), line) for line in lines]
        texts = [change(text.split(". ")[0] + "." if ". the" in text else text) for text in texts]
        return [real_text.Answer(text, ("unsure",) if doubted in text else ()) for text in texts]

    monkeypatch.setattr(module, "run_translate", translate)


def test_real_text_counts_what_is_right_flagged_and_silently_wrong(
    model_folder: Path, corpus: Path, run_benchmark: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Nothing is put into the place of a list mark, and no-break spaces are doubted."""
    stand_in(monkeypatch, real_text, lambda text: text.removeprefix("• "), "\u00a0")
    kinds = ("two sentences", "list item •", "no-break space", "inline tags", "soft hyphen")
    options = ["--lines 30", *(f"--kind '{kind}'" for kind in kinds)]
    found = run_benchmark(real_text, "--model", model_folder, "--corpus", corpus, *options)
    table = capsys.readouterr().out
    names = ("right", "right_flagged", "flagged", "silent")
    assert {row["kind"]: [row[name] for name in names] for row in found} == {
        "two sentences": [0, 0, 0, 30],
        "list item •": [0, 0, 0, 30],
        "no-break space": [30, 30, 0, 0],
        "inline tags": [30, 0, 0, 0],
    }
    assert "| two sentences; list item • | 0 | 0 | 0 | 100 |" in table
    assert "| each other kind (1) | 100 | 0 | 0 | 0 |" in table


def test_in_any_language_the_loss_is_that_against_the_plain_translation(
    model_folder: Path, corpus: Path, run_benchmark: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A house is never known, and what is behind a tab is lost."""
    stand_in(monkeypatch, any_language, lambda text: text.replace("house", "car").partition("\t")[0])
    found = run_benchmark(any_language, "--of", model_folder, corpus, "--lines", "15")
    lost = {row["kind"]: row["plain"] - row["chrf"] for row in found}
    assert all(row["plain"] < 95 for row in found if row["kind"] in ("plain", "indented"))
    assert lost["plain"] == lost["list item -"] == lost["inline tags"] == 0
    assert lost["two sentences"] > 20 < lost["tab between sentences"]
    assert {"in capitals", "figures"} & {*lost} == {"in capitals"}, "kinds without lines are left out"
    assert "| two sentences | +" in capsys.readouterr().out


# Translations in which what was added to the line is lost, or stands at another place.
WRONG: dict[str, Callable[[str], str]] = {
    "two sentences": lambda right: right.partition(". ")[0] + ".",
    "two paragraphs, CRLF": lambda right: right.replace("\r", ""),
    "indented": str.strip,
    "amount (12,50 €)": lambda right: right.replace("12", "13"),
    "inline tags": lambda right: re.sub(r"<b>(\w+)</b> (\w+)", r"<b>\1 \2</b>", right),
    "entity amp": lambda right: right.replace("&amp;", "&"),
    "placeholder {name}": lambda right: "{name} " + right.replace("{name}", "Anna"),
    "URL in brackets": lambda right: re.sub(r"(\(\S+\)) (\w+)", r"\2 \1", right),
    "target language": lambda right: right.replace("two", "three"),
}


def test_each_kind_of_real_text_says_what_is_right() -> None:
    meanings = {"Anna": "Anna", "Paul": "Paul", "Konzert": "concert", "Supermarkt": "supermarket"}
    target = "Anna and Paul open two bottles at the supermarket before the concert."
    first = sentence_of(("Anna und Paul öffnen am Supermarkt zwei Flaschen vor dem Konzert.", target), meanings)
    assert dict(first.words) == meanings
    others = [Sentence(f"Satz {n}.", f"Sentence {n}.") for n in range(20)]
    for name, kind in make_kinds("de", "en").items():
        case = kind([first, *others], Random(1))
        assert case, name
        assert (case.line == first.source) == (name == "plain")
        assert all(map(case.accepts, case.right)), name
        assert not case.accepts("Anna and Paul are two bottles."), name
        if name in WRONG:
            assert not case.accepts(WRONG[name](case.right[0])), name
    assert WRONG.keys() <= make_kinds("de", "en").keys()


def test_rules_of_steps_are_left_out_one_by_one_and_come_back(translator: Translator) -> None:
    left_out = steps.steps_left_out() | steps.RULES
    usual = {name: [getattr(owner, attribute) for owner, attribute, _ in left_out[name]] for name in left_out}
    list_item = Case("- Der Hund", ("- The dog",))
    changed = {name for name, patches in left_out.items() if steps.is_read_anew(translator, list_item, patches)}
    assert changed == {"marks around a line", "marks before the text"}
    assert usual == {name: [getattr(owner, attribute) for owner, attribute, _ in left_out[name]] for name in left_out}


def test_fuzzing_finds_no_failure(tmp_path: Path, run_benchmark: Run) -> None:
    for row in run_benchmark(fuzz, "--lines 60 --long 0 --job jsonl --job ids --failures", tmp_path / "fuzz"):
        assert row["failures"] == 0
        assert all(row[name] > 9 for name in ("lines", "characters", "peak_memory_mib"))
    assert not (tmp_path / "fuzz").exists()


def test_fuzzing_finds_the_line_that_ends_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = argparse.Namespace(seed=3, long=0, failures=tmp_path / "failures")
    fuzz.make_folders(tmp_path)
    fuzzing = fuzz.Fuzzing("decode", fuzz.Job(fuzz.DECODE), tmp_path, args)
    fuzzing.check([b"", b"\xe2\x96\x81", b"no pieces", b"</s>", b""])
    [failure] = fuzzing.outcome.failures
    assert "exit status 2: " in failure
    assert (tmp_path / "failures" / "decode-3-1").read_bytes() == b"no pieces\n"
    assert "decode, seed 3, 1 lines in " in capsys.readouterr().err


REQUEST = b'{"text": "a\\nb", "id": [1], "score": 2}'
ANSWER = {"text": "a\nb", "id": [1], "score": -1, "translation": "x\ny"}


@pytest.mark.parametrize(
    ("check", "line", "answer", "told"),
    [
        (fuzz.columns, b"a\xff\tb\r", b"a\xff\tb\ttext\t-1.0\tloop", ""),
        (fuzz.columns, b"a\xff\tb", b"a?\tb\ttext\t-1.0\t", "columns changed"),
        (fuzz.members, REQUEST, json.dumps(ANSWER | {"id": [2]}).encode(), "members ['id'] changed"),
        (fuzz.members, REQUEST, json.dumps(ANSWER | {"translation": "x"}).encode(), "line breaks changed"),
        (fuzz.members, b"[", json.dumps(ANSWER).encode(), "an invalid line has no error, or is lost"),
        (fuzz.round_trip, b"a b", b"ab", "text changed"),
    ],
)
def test_fuzzing_checks_what_must_stay(
    check: Callable[[bytes, bytes], str], line: bytes, answer: bytes, told: str
) -> None:
    assert check(line, answer) == told
