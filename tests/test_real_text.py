"""Benchmarks of real and of odd text: what is right, flagged or wrong is counted, and failures are found."""

import argparse
import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from benchmarks import any_language, fuzz, fuzz_lines, real_text, steps
from benchmarks.rows import Row
from benchmarks.text_kinds import Case, Sentence, lexicon, make_kinds, sentence_of
from nmt.translation.translator import Translator
from tests.data.corpus_files import write_corpus

pytestmark = pytest.mark.slow
Run = Callable[..., list[Row]]
NOUNS = {"Haus": "house", "Boot": "boat", "Kind": "child", "Tier": "animal", "Brot": "bread"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    pairs = [(f"das {noun} {size}.", f"the {meaning} {size}.") for noun, meaning in NOUNS.items() for size in range(12)]
    return write_corpus(tmp_path, train=pairs, val=pairs, test=pairs)


def test_real_text_needs_a_model_that_translates_plain_sentences(
    model_folder: Path, corpus: Path, run_benchmark: Run
) -> None:
    with pytest.raises(ValueError, match="0 of 60 plain translations equal the reference, but 50 are needed"):
        run_benchmark(real_text, "--model", model_folder, "--corpus", corpus)


def test_real_text_counts_what_is_right_flagged_and_silently_wrong(
    model_folder: Path,
    corpus: Path,
    tmp_path: Path,
    run_benchmark: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def translate(folder: Path, options: list[str], lines: list[str]) -> list[real_text.Answer]:
        """Loses the second sentence, doubts no-break spaces, and puts nothing into the place of a list mark."""
        texts = [re.sub(r"\w+", lambda word: (NOUNS | {"das": "the"}).get(word[0], word[0]), line) for line in lines]
        texts = [text.split(". ")[0] + "." if ". the" in text else text.removeprefix("• ") for text in texts]
        return [real_text.Answer(text, ("unsure",) if "\u00a0" in text else ()) for text in texts]

    monkeypatch.setattr(real_text, "run_translate", translate)
    kinds = ("two sentences", "list item •", "no-break space", "inline tags", "soft hyphen")
    options = ["--lines 30", *(f"--kind '{kind}'" for kind in kinds)]
    found = run_benchmark(real_text, "--model", model_folder, "--corpus", corpus, *options)
    table = capsys.readouterr().out
    names = ("right", "right_flagged", "flagged", "silent")
    figures = {row["kind"]: [row[name] for name in names] for row in found}
    assert figures == {
        "two sentences": [0, 0, 0, 30],
        "list item •": [0, 0, 0, 30],
        "no-break space": [30, 30, 0, 0],
        "inline tags": [30, 0, 0, 0],
    }
    assert "| two sentences; list item • | 0 | 0 | 0 | 100 |" in table
    assert "| each other kind (1) | 100 | 0 | 0 | 0 |" in table


def test_in_any_language_the_loss_is_that_against_the_plain_translation(
    model_folder: Path,
    corpus: Path,
    run_benchmark: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def translate(folder: Path, options: list[str], lines: list[str]) -> list[real_text.Answer]:
        """Never knows a house, and loses a second sentence and what is behind a tab."""
        texts = [re.sub(r"\w+", lambda word: (NOUNS | {"das": "the"}).get(word[0], word[0]), line) for line in lines]
        texts = [text.replace("house", "car").partition("\t")[0] for text in texts]
        return [real_text.Answer(text.split(". ")[0] + "." if ". the" in text else text, ()) for text in texts]

    monkeypatch.setattr(any_language, "run_translate", translate)
    found = run_benchmark(any_language, "--of", model_folder, corpus, "--lines", "15")
    lost = {row["kind"]: row["plain"] - row["chrf"] for row in found}
    assert all(row["plain"] < 95 for row in found if row["kind"] in ("plain", "indented"))
    assert lost["plain"] == lost["list item -"] == lost["inline tags"] == 0
    assert lost["two sentences"] > 20 < lost["tab between sentences"]
    assert "in capitals" in lost and "figures" not in lost, "kinds without lines are left out"  # noqa: PT018
    assert "| two sentences | +" in capsys.readouterr().out


# Translations in which what was added to the line is lost, or stands at another place.
WRONG: dict[str, Callable[[str], str]] = {
    "two sentences": lambda right: right.partition(". ")[0] + ".",
    "two paragraphs, CRLF": lambda right: right.replace("\r", ""),
    "list item 1.": lambda right: right.removeprefix("1. "),
    "indented": str.strip,
    "sentence in quotes": lambda right: right.replace('"', ""),
    "ellipsis": lambda right: right.replace("…", "."),
    "smiley": lambda right: right.removesuffix(" :-)"),
    "amount (12,50 €)": lambda right: right.replace("12", "13"),
    "figures": lambda right: right.replace("two", "3"),
    "inline tags": lambda right: re.sub(r"<b>(\w+)</b> (\w+)", r"<b>\1 \2</b>", right),
    "paragraph tags": lambda right: right.replace(".</p>", "</p>."),
    "entity amp": lambda right: right.replace("&amp;", "&"),
    "placeholder {name}": lambda right: "{name} " + right.replace("{name}", "Anna"),
    "placeholder in brackets": lambda right: re.sub(r"[()]", "", right),
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


def test_real_text_knows_the_words_that_have_one_translation() -> None:
    pairs = [(f"das {noun} ist {n}", f"the {meaning} is {n}") for noun, meaning in NOUNS.items() for n in range(6)]
    pairs += [(f"das Rathaus ist {n}", f"the town hall is {n}") for n in range(6)]
    found = lexicon(pairs)
    assert {noun: found.get(noun) for noun in NOUNS} == NOUNS
    assert "Rathaus" not in found


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


def test_fuzzing_checks_what_must_stay() -> None:
    line = b"a\xff\tb"
    assert fuzz.columns(line + b"\r", line + b"\ttext\t-1.0\tloop") == ""
    assert fuzz.columns(line, b"a?\tb\ttext\t-1.0\t") == fuzz.columns(line, line + b"\ttext") == "columns changed"
    request = b'{"text": "a\\nb", "id": [1], "score": 2}'
    answer = {"text": "a\nb", "id": [1], "score": -1, "translation": "x\ny"}
    assert fuzz.members(request, json.dumps(answer).encode()) == ""
    for change, told in (({"id": [2]}, "members ['id'] changed"), ({"translation": "x"}, "line breaks changed")):
        assert fuzz.members(request, json.dumps(answer | change).encode()) == told
    assert fuzz.members(b"[", json.dumps(answer).encode()) == "an invalid line has no error, or is lost"
    assert fuzz.members(b"[]", json.dumps(answer).encode()) == "a line without text has no error"
    with pytest.raises(ValueError, match="NaN is no JSON"):
        fuzz.members(request, b'{"score": NaN}')
    assert fuzz.round_trip(b" a  b\x00\r", b"a b") == fuzz.round_trip(b"\t", b"") == ""
    assert fuzz.round_trip(b"a b", b"ab") == "text changed"


def test_fuzzed_lines_are_the_same_for_a_seed_and_of_all_kinds() -> None:
    lines = [fuzz_lines.fuzzed_line(Random(seed), seed**2) for seed in range(200)]
    assert lines == [fuzz_lines.fuzzed_line(Random(seed), seed**2) for seed in range(200)]
    assert not any(b"\n" in line for line in lines)
    assert len(lines[0]) < 200 < len(lines[-1])
    texts = [line.decode("utf-8", "replace") for line in lines]
    assert len({unicodedata.category(character) for text in texts for character in text}) > 25
    json_lines = [fuzz_lines.json_line(Random(seed), 50) for seed in range(300)]
    assert not any(b"\n" in line for line in json_lines)
