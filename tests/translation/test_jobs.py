"""Jobs apply what all lines share, say what there is to remark, and score given translations."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.reading.request import Constraints, Term
from nmt.text.markup import Mode
from nmt.text.user_items import UserItems
from nmt.translate import main
from nmt.translation.formats import Columns, Format, Json, Text
from nmt.translation.glossary import Entry, Glossary
from nmt.translation.jobs import Scoring, Translating
from nmt.translation.pair_scorer import PairScorer
from nmt.translation.translator import Translator
from tests.tiny import PAIRS, SHORT, Stderr, save_scorer


def answer(job: Translating, line: str) -> str:
    """The answer to a single line."""
    (output,) = job.answer([line.encode()]).decode().splitlines()
    return output


def test_remarks_are_printed_as_they_come_and_counted_beyond_a_bound(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmt.translation.jobs.MAX_REMARKS", 3)
    job = Scoring(translator, SHORT, "text")
    remark = "no tab: scored as if its translation were empty"
    job.answer([b"Hund"])
    assert capsys.readouterr().err == f"line 1: {remark}\n"
    assert list(job.report(verbose=False)) == []
    job.remarks.enter("more.de", job.lines)
    job.answer([b"Hund"] * 9)
    *shown, told = capsys.readouterr().err.splitlines()
    assert shown == [f"more.de, line 1: {remark}", f"more.de, line 2: {remark}"]
    assert told == "3 remarks are printed; further ones are only counted"
    assert list(job.report(verbose=False)) == ["and 7 more remarks"]


def test_invalid_utf8_is_told_with_its_line(translator: Translator, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [b"Hund", b"Stra\xdfe", b"Hund\tStra\xdfe", b'{"text": "Hund", "id": "\xdf"}']
    forms: list[tuple[Format, list[int]]] = [(Text(translator), [2, 3, 4]), (Columns(), [2, 4]), (Json(translator), [])]
    for form, told in forms:
        Translating(translator, SHORT, form).answer(lines)
        remarks = [line for line in capsys.readouterr().err.splitlines() if "not valid UTF-8" in line]
        assert [int(remark.split()[1].strip(":")) for remark in remarks] == told
        assert all("iconv -f CP1252 -t UTF-8" in remark for remark in remarks)
    Translating(translator, SHORT, Json(translator)).answer([b'"Stra\xdfe"'])
    assert capsys.readouterr().err.startswith("line 1: not valid UTF-8")
    Translating(translator, SHORT, Text(translator)).answer([b"Hund", b"H\0u\0n\0d\0"])
    assert capsys.readouterr().err.startswith("line 2: NUL characters are left out; if the text is UTF-16")


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
    assert glossary.report().startswith("Glossary: 1 of 1 term met")


def test_lines_with_markup_keep_it_and_terms_are_sought_in_their_text_only(translator: Translator) -> None:
    glossary = Glossary([Entry("Hund Wiese", ("lawn",)), Entry("Tisch", ("table",))])
    job = Translating(translator, SHORT, Text(translator), glossary=glossary, markup="auto")
    line = answer(job, '<p>Der <b data-x="Tisch">Hund</b> Wiese</p><p>Zwei</p>')
    assert re.fullmatch('<p>[^<]*(<b data-x="Tisch">)[^<]+</b>[^<]*</p><p>[^<]+</p>', line)
    assert "lawn" in line
    assert glossary.report().startswith("Glossary: 1 of 1 term met")
    assert answer(job, "x <3 und <y>") == translator.translate(["x <3 und <y>"])[0]


@pytest.mark.parametrize(
    ("source", "target", "line"),
    [
        ("Hund", "dog &amp; cat", "Der Hund"),  # which is no mark-up, as the line has none
        ("Hund", "<b>dog</b>", "Der Hund"),
        ("kleine Hund", "little cat", "Der kleine\xa0Hu\xadnd läuft."),  # as the model reads it
    ],
)
def test_terms_are_met(translator: Translator, source: str, target: str, line: str) -> None:
    glossary = Glossary([Entry(source, (target,))])
    job = Translating(translator, SHORT, Json(translator), glossary=glossary, markup="auto")
    result = json.loads(answer(job, json.dumps(line)))
    assert target in result["translation"]
    assert "constraints" not in result["flags"]
    assert glossary.report().startswith("Glossary: 1 of 1 term met")


@pytest.mark.parametrize(("markup", "lines"), [("auto", 2), ("html", 1)])
def test_a_json_text_is_a_document_if_all_texts_are_markup(translator: Translator, markup: Mode, lines: int) -> None:
    job = Translating(translator, SHORT, Json(translator, True, whole=markup == "html"), markup=markup)
    result = json.loads(answer(job, json.dumps({"text": "<p>Der Hund\nläuft</p>"})))
    assert result["translation"].count("\n") == lines - 1
    assert len(result["alignment"]) == lines
    assert lines == 2 or re.fullmatch("<p>[^<]+</p>", result["translation"])


def test_columns_with_markup_and_own_items(translator: Translator) -> None:
    job = Translating(translator, SHORT, Columns(), user_items=UserItems.parse(["[A-Z]+-[0-9]+"]), markup="auto")
    assert re.match("<i>Hund</i>\tx\t.*<i>[^<]+</i>.*\t-", answer(job, "<i>Hund</i>\tx"))


def test_terms_that_can_t_be_met_don_t_cost_others(translator: Translator, capsys: pytest.CaptureFixture[str]) -> None:
    glossary = Glossary([Entry("Hund", ("dog",)), Entry("Wiese", ("lawn",))])
    job = Translating(translator, SHORT, Text(translator), Constraints(must_not=("dog",)), glossary)
    line = answer(job, "Der Hund auf der Wiese")
    assert re.search(r"(?<![a-z])lawn(?![a-z])", line)
    assert not re.search(r"(?<![a-z])dog(?![a-z])", line)
    (report,) = job.report(verbose=False)
    assert capsys.readouterr().err.startswith("line 1: without some terms of the glossary: must has 'dog'")
    assert "1 of 2 terms met" in report


def test_pairs_too_long_to_be_scored_are_named(translator: Translator, capsys: pytest.CaptureFixture[str]) -> None:
    job = Scoring(translator, SHORT, "text")
    first, long, last = job.answer([b"Hund\tdog", b"Hund " * 5000 + b"\tdog", b"Hund\tdog"]).decode().split()
    assert first == last
    assert (float(first) < 0, long) == (True, "nan")
    assert capsys.readouterr().err == "line 2: too long to be scored\n"
    scored = translator.scorer().score([("Hund " * 200, "dog")] * 9 + [("Hund", "dog")])
    assert len(scored) == 10
    assert None not in scored


def test_samples_are_taken_without_constraints(translator: Translator, capsys: pytest.CaptureFixture[str]) -> None:
    job = Translating(translator, SearchConfig(samples=2, guard=False), Text(translator), Constraints(prefix="The"))
    assert job.answer([b"Hund"]).count(b"\n") == 1
    assert "they don't go with search.samples" in capsys.readouterr().err


def run(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, *options: str) -> tuple[list[str], str]:
    """The lines that `nmt.translate` writes, and what it says on stderr."""
    (tmp_path / "in").write_text(text, encoding="utf8")
    assert main([str(tmp_path / "in"), "--device", "cpu", "--precision", "fp32", *options]) == 0
    output = capfd.readouterr()
    return output.out.splitlines(), output.err


def test_given_translations_are_read_as_mark_up_or_not(
    model_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    common = ["--model", str(model_folder), "--force-decode", "--markup"]
    none, auto = (run(tmp_path, capfd, "a &amp; b\tc &amp; d\n", *common, mode)[0] for mode in ("none", "auto"))
    assert auto == run(tmp_path, capfd, "a & b\tc & d\n", *common, "none")[0] != none


def test_translations_have_their_quality_in_every_format(
    model_folder: Path, scorer_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines, found = ["Hund", "", "Wiese und Tisch"], Translator.load(model_folder, "cpu", precision="fp32")
    n_best = PairScorer.load(scorer_folder, "cpu", "fp32").rate(lines, found.translate_n_best(lines))
    qualities = [best.quality or 0 for best, *_ in n_best]
    common = ["--model", str(model_folder), "--scorer", str(scorer_folder.parent)]
    text = "".join(f"{line}\n" for line in lines)
    shown, _ = run(tmp_path, capfd, text, *common, "--scores")
    assert [row.split("\t")[1:] for row in shown] == [[f"{best.quality:.4f}", best.text] for best, *_ in n_best]
    shown, _ = run(tmp_path, capfd, text, *common, "--n-best", "1")
    assert [row.split(" ||| ")[3] for row in shown] == [f"{quality:.4f}" for quality in qualities]
    shown, _ = run(tmp_path, capfd, text, *common, "--format", "tsv")
    assert [row.split("\t")[4:] for row in shown] == [[f"{quality:.4f}"] for quality in qualities]
    shown, _ = run(tmp_path, capfd, json.dumps("\n".join(lines)), *common, "--format", "jsonl")
    assert json.loads(shown[0])["quality"] == pytest.approx(min(qualities), abs=1e-4)
    plain, _ = run(tmp_path, capfd, text, *common[:2], "--format", "jsonl")
    assert all("quality" not in json.loads(row) for row in plain)


def test_given_pairs_get_their_quality_with_a_translator_and_without_one(
    model_folder: Path, scorer_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pairs = [*PAIRS, ("Hund", ""), ("Hund " * 5000, "dog")]
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    qualities = PairScorer.load(scorer_folder, "cpu", "fp32").score(pairs)
    numbers = ["nan" if quality is None else f"{quality:.4f}" for quality in qualities]
    alone = ["--force-decode", "--scorer", str(scorer_folder)]
    shown, told = run(tmp_path, capfd, text, *alone)
    assert shown == numbers
    assert told == "line 5: too long to be scored\n"
    blank, _ = run(tmp_path, capfd, "\n\t\n", *alone)
    assert blank == ["1.0000", "1.0000"]
    marked, _ = run(tmp_path, capfd, f"<b>{PAIRS[0][0]}</b>\t<b>{PAIRS[0][1]}</b>\n", *alone)
    assert marked == numbers[:1]
    shown, _ = run(tmp_path, capfd, text, *alone, "--format", "tsv")
    assert shown == [f"{line}\t{number}" for line, number in zip(text.splitlines(), numbers, strict=True)]
    objects = "".join(json.dumps({"text": source, "translation": target}) + "\n" for source, target in pairs)
    shown, _ = run(tmp_path, capfd, objects, *alone, "--format", "jsonl")
    assert json.loads(shown[0]) == {"text": PAIRS[0][0], "quality": float(numbers[0]), "translation": PAIRS[0][1]}
    assert json.loads(shown[-1])["error"] == "too long to be scored"
    shown, _ = run(tmp_path, capfd, text, *alone, "--model", str(model_folder))
    scores, both = zip(*(row.split("\t") for row in shown), strict=True)
    assert [*both] == numbers
    assert all(float(score) < 0 for score in scores[:-1])
    shown, _ = run(tmp_path, capfd, objects, *alone, "--model", str(model_folder), "--format", "jsonl")
    assert {"score", "quality"} < json.loads(shown[0]).keys()


def test_a_scorer_that_can_t_be_used_is_told(
    model_folder: Path, scorer_folder: Path, tokenizer: Tokenizer, here: Path, stderr_of: Stderr
) -> None:
    Path("in").write_text("Hund\n")
    other = save_scorer(here / "other", tokenizer, ("en", "de"))
    for scorer, options, told in (
        (model_folder, "--scores", "no pair scorer: it was trained with training.objective translation"),
        (scorer_folder, "", "--scorer with --format text needs --scores or --n-best"),
        (other, "--scores", "knows en as source and de as target, not de and en"),
        (scorer_folder, "--force-decode --must dog", "--must is for lines to translate"),
    ):
        words = ["in", "--model", str(model_folder), "--scorer", str(scorer), *options.split()]
        assert told in stderr_of(main, words)


def test_constraints_that_are_not_met_in_the_end_are_flagged(translator: Translator) -> None:
    for line, must, must_not in (("Hund {x}", [], ["{x}"]), ("{x}", ["dog"], [])):
        request = json.dumps({"text": line, "must": must, "must_not": must_not})
        job = Translating(translator, replace(SHORT, guard=True), Json(translator))
        assert {"constraints", "items"} & set(json.loads(answer(job, request))["flags"])


def test_the_command_has_all(auto: str, model_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
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
    assert "1 of 1 term met" in output.err
    for line in output.out.splitlines():
        assert line.startswith("A")
        assert "dog" in line
        assert " ||| 0-0" in line
    assert main([*common, "--samples", "4", "--n-best", "4"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 8
    assert main([*common, "--force-decode"]) == 0
    assert [float(line) < 0 for line in capfd.readouterr().out.split()] == [True, True]
