"""Jobs apply what all lines share, say what there is to remark, and score given translations."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from nmt.config import SearchConfig
from nmt.translate import main
from nmt.translation.formats import Json, Text
from nmt.translation.glossary import Entry, Glossary
from nmt.translation.jobs import Scoring, Translating
from nmt.translation.request import Constraints, Request, Term
from nmt.translation.translator import Translator
from tests.tiny import PAIRS, SHORT


def answer(job: Translating, line: str) -> str:
    """The answer to a single line."""
    (output,) = job.answer([line.encode()]).decode().splitlines()
    return output


def test_remarks_are_counted_beyond_the_first(translator: Translator) -> None:
    job = Scoring(translator, SHORT, "text")
    job.answer([b"Hund"] * 30)
    assert len(report := list(job.report(verbose=False))) == 21
    assert report[-1] == "and 10 more lines"


def test_constraints_of_the_line_of_the_command_and_of_the_glossary_are_met(translator: Translator) -> None:
    glossary = Glossary([Entry("Wiese", ("lawn", "lawns"))])
    constraints = Constraints("The", (Term(("dog", "dogs")),), ("men",))
    request = {"text": "Der Hund auf der Wiese", "must": ["coffee"], "must_not": ["table"]}
    job = Translating(translator, SHORT, Json(translator), constraints, glossary)
    translation = json.loads(answer(job, json.dumps(request)))["translation"]
    assert translation.startswith("The")
    for phrase in ("coffee", "dogs?", "lawns?"):
        assert re.search(rf"\b{phrase}\b", translation)
    assert not re.search(r"\b(men|table)\b", translation)
    assert glossary.report().startswith("Glossary: 1 of 1 terms met")


def test_terms_of_a_glossary_that_can_t_be_met_don_t_cost_the_others(translator: Translator) -> None:
    glossary = Glossary([Entry("Hund", ("dog",)), Entry("Wiese", ("lawn",))])
    job = Translating(translator, SHORT, Text(translator), Constraints(must_not=("dog",)), glossary)
    line = answer(job, "Der Hund auf der Wiese")
    assert re.search(r"(?<![a-z])lawn(?![a-z])", line)
    assert not re.search(r"(?<![a-z])dog(?![a-z])", line)
    told, report, *_ = job.report(verbose=False)
    assert told.startswith("line 1: without some terms of the glossary: must has 'dog'")
    assert "1 of 2 terms met" in report


def test_pairs_too_long_to_be_scored_are_said_and_the_others_scored(translator: Translator) -> None:
    job = Scoring(translator, SHORT, "text")
    first, long, last = job.answer([b"Hund\tdog", b"Hund " * 5000 + b"\tdog", b"Hund\tdog"]).decode().split()
    assert first == last
    assert (float(first) < 0, long) == (True, "nan")
    assert list(job.report(verbose=False)) == ["line 2: too long to be scored"]
    scored = translator.scorer().score([("Hund " * 200, "dog")] * 9 + [("Hund", "dog")])
    assert len(scored) == 10
    assert None not in scored


def test_samples_and_constraints_are_not_combined(translator: Translator) -> None:
    search = SearchConfig(samples=2, guard=False)
    job = Translating(translator, search, Text(translator), Constraints(prefix="The"))
    assert job.answer([b"Hund"]).count(b"\n") == 1
    with pytest.raises(ValueError, match="they don't go with"):
        translator.translate([Request("Hund", Constraints("The"))], search)
    assert "they don't go with search.samples" in next(job.report(verbose=False))


def test_constraints_that_are_not_met_in_the_end_are_flagged(translator: Translator) -> None:
    for line, must, must_not in (("Hund {x}", [], ["{x}"]), ("{x}", ["dog"], [])):
        request = json.dumps({"text": line, "must": must, "must_not": must_not})
        job = Translating(translator, replace(SHORT, guard=True), Json(translator))
        assert {"constraints", "items"} & set(json.loads(answer(job, request))["flags"])


def test_the_command_knows_all_of_it(
    auto: str, model_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text("Hund\nWiese\n")
    (tmp_path / "glossary").write_text("Wiese\tmeadow\n")
    common = [str(tmp_path / "in"), "--device", "cpu", "--model", str(model_folder)]
    assert main([*common, "--model", str(model_folder), "--format", "jsonl", "--verbose"]) == 0
    output = capfd.readouterr()
    assert all("error" in json.loads(line) for line in output.out.splitlines())
    assert f"{auto} on cpu" in output.err
    assert "2 lines in" in output.err
    constraints = ["--glossary", str(tmp_path / "glossary"), "--must=dog|dogs", "--must-not=men", "--prefix=A"]
    assert main([*common, *constraints, "--alignments", "--no-repeat-ngram=2"]) == 0
    output = capfd.readouterr()
    assert "1 of 1 terms met" in output.err
    for line in output.out.splitlines():
        assert line.startswith("A")
        assert "dog" in line
        assert " ||| 0-0" in line
    assert main([*common, "--samples", "4", "--n-best", "4", "--mbr", "chrf"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 8
    assert main([*common, "--force-decode"]) == 0
    assert [float(line) < 0 for line in capfd.readouterr().out.split()] == [True, True]


@pytest.mark.usefixtures("auto")
def test_pictures_are_drawn_of_each_part_of_each_line(
    model_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text(f"Hund\n\n{PAIRS[0][0]} {PAIRS[0][0]}\n")
    common = [str(tmp_path / "in"), "--model", str(model_folder), "--pictures", str(tmp_path / "a" / "b")]
    assert main([*common, "--split-above", "12"]) == 0
    names = [path.name for path in sorted((tmp_path / "a" / "b").iterdir())]
    assert names[0] == "000001.png"
    assert {"000003.png", "000003-2.png"} <= set(names)
    assert not any(name.startswith("000002") for name in names)
    with Image.open(tmp_path / "a" / "b" / "000001.png") as picture:
        assert min(picture.size) > 26
    assert main([*common, "--force-decode"]) == 2
    assert "--force-decode" in capfd.readouterr().err
