"""Promises of the page about a corpus."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nmt.data.store.corpus_report import scripts
from nmt.prepare import main
from tests.data.corpus_files import write_corpus


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("corpus")
    names = [chr(97 + n % 26) * 3 for n in range(60)]
    pairs = [(f"das Haus <b>{n}</b> ist {name} groß", f"the house {n} is {name}") for n, name in enumerate(names)]
    pairs += [("<script>alert(1)</script> Haus", "дом дом дом")] * 2 + [(pairs[0][0].upper(), "THE HOUSE")]
    write_corpus(folder, train=pairs, val=pairs[:1], test=pairs[1:2])
    options = ["--data.corpus", str(folder), "--runs", str(folder / "runs"), "--name", "run", "--report"]
    options += ["--cleaning.script", "0.5", "--tokenizer.vocab_size", "330", "--explain", "2"]
    assert main(options) == 0
    return (folder / "runs" / "run" / "report.html").read_text(encoding="utf8")


def test_text_of_the_corpus_never_becomes_mark_up(report: str) -> None:
    assert "<script" not in report
    assert "&lt;script&gt;alert(1)&lt;/script&gt; Haus" in report


def test_the_page_needs_nothing_from_elsewhere(report: str) -> None:
    assert not re.search(r"(?:src|href)=|url\(|https?:", report)


def test_what_was_dropped_is_counted_and_shown(report: str) -> None:
    assert re.search(r"dropped: another script</summary>.*?дом.*?<td class=\"n\">2</td>", report, re.DOTALL)
    assert re.search(r"nearly in val</td><td class=\"n\">[1-9]", report)


def test_scripts_of_a_few_letters_are_left_out() -> None:
    pairs = [("Haus" * 1000, "house 中")] * 100 + [("µº", "Ωх")]
    names = re.findall("<tr><td>(.*?)</td>", "".join(scripts(pairs)))
    assert names == ["Latin", "CJK", "Greek", "Cyrillic"], "one letter in 400,000 is left out, and one in 602 is shown"


def test_one_corpus_is_not_compared(report: str) -> None:
    assert "corpora" not in report


@pytest.fixture(scope="module")
def report_of_three(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a main corpus, a like one, and one of which half of the pairs are copies, and the other half lacks text."""
    folder = tmp_path_factory.mktemp("corpora")
    letters = [a + b for a in "abcdefghijkl" for b in "mnopqrstuvwxyz"]
    for name, size in (("main", 168), ("like", 120), ("<bad>", 160)):
        german = [f"Das {name.strip('<>')} Haus von Herrn {word} ist sehr groß" for word in letters[:size]]
        english = [f"The {name.strip('<>')} house of Mister {word} is very big" for word in letters[:size]]
        if name == "<bad>":
            english = [german[n] if n % 2 else english[n][:22] for n in range(size)]
        held_out = {split: [(f"{split} de", f"{split} en")] for split in ("val", "test")}
        write_corpus(folder / name, train=[*zip(german, english, strict=True)], **held_out)
    more = f"[{{corpus: {folder / 'like'}}}, {{corpus: {folder / '<bad>'}}}]"
    options = ["--data.corpus", str(folder / "main"), "--data.more", more, "--cleaning.copies", "all"]
    options += ["--runs", str(folder / "runs"), "--name", "run", "--report", "--tokenizer.vocab_size", "330"]
    assert main(options) == 0
    return (folder / "runs" / "run" / "report.html").read_text(encoding="utf8")


def test_each_corpus_has_its_row(report_of_three: str) -> None:
    causes = re.escape("the sides have the same letters (80)")
    assert re.search(r"<td>main</td><td></td>(<td class=\"n\">(168|100.0%|\d\.\d\d)</td>){4}</tr>", report_of_three)
    assert re.search(rf"<td>&lt;bad&gt;</td><td>{causes}</td>.*>160</td>.*>80</td>.*>50.0%</td>", report_of_three)


def test_corpora_that_look_bad_are_told(report_of_three: str) -> None:
    told = re.findall(r"<li><b>(.*?)</b>: (.*?)\.</li>", report_of_three)
    assert told == [
        ("&lt;bad&gt;", "50% of its pairs were dropped; of the others, 0%"),
        ("&lt;bad&gt;", "50% of its pairs were dropped: the sides have the same letters"),
    ]


@pytest.mark.parametrize("name", ["report", "report_of_three"])
def test_elements_are_closed(name: str, request: pytest.FixtureRequest) -> None:
    report: str = request.getfixturevalue(name)
    opened: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag != "meta":
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Checker().feed(report)
    assert not opened


def test_examples_are_told(report: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("21", "-1", "abc"):
        assert main(["--explain", wrong]) != 0
        assert f"--explain is {wrong}: it must be a whole number from 0 to 20" in capsys.readouterr().err


@pytest.fixture
def faulty(tmp_path: Path) -> list[str]:
    """The command that prepares a corpus of TSV with one of JSON beside it, which reading drops rows of."""
    pairs = [(f"Satz {n}", f"sentence {n}") for n in range(30)]
    (tmp_path / "mine").mkdir()
    for split in ("train", "val", "test"):
        good = "".join(f"{split} {source}\t{split} {target}\n" for source, target in pairs)
        bad = b"no column \x1b\nblank\t\n\tblank\nfunf\xfc\tfive\n" + 30 * b"none\n"
        (tmp_path / "mine" / f"{split}.tsv").write_bytes(good.encode() + bad)
    objects = [json.dumps({"de": f"Web-{source}", "en": f"web {target}"}) for source, target in pairs]
    objects += ['{"de": "nein", "eng": "no"}', '{"de":']
    (tmp_path / "web.jsonl").write_text("".join(f"{line}\n" for line in objects))
    (tmp_path / "recipe.yaml").write_text(
        f"data: {{corpus: {tmp_path}/mine, more: [{{corpus: {tmp_path}/web.jsonl}}]}}"
    )
    recipe = ["--config", str(tmp_path / "recipe.yaml"), "--tokenizer.vocab_size", "320"]
    return [*recipe, "--runs", str(tmp_path), "--name", "run", "--explain"]


def test_rows_that_reading_dropped_are_shown_with_their_lines(
    faulty: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*faulty, "20", "--report"]) == 0
    shown = capsys.readouterr().out
    causes = dict(part.split("\n", 1) for part in shown.split("\nDropped: ")[1:])
    assert all(line.startswith("  mine train:") for line in causes["too few columns"].splitlines())
    assert causes["too few columns"].count("\n") == 20, "no more are kept"
    assert sorted(causes["a side is blank"].splitlines()) == ["  mine train:32: blank", "  mine train:33: \tblank"]
    assert causes["invalid UTF-8"] == "  mine train:34: funf\ufffd\tfive\n"
    assert causes["no text in one or both languages"] == '  web.jsonl train:31: {"de": "nein", "eng": "no"}\n'
    assert causes["not JSON"].startswith('  web.jsonl train:32: {"de":')
    assert "web.jsonl train:32: " in (tmp_path / "run" / "report.html").read_text(encoding="utf8")


def test_as_many_are_shown_as_were_asked_for(faulty: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*faulty, "1"]) == 0
    assert capsys.readouterr().out.count("train:") == 5
