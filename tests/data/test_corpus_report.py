"""Promises of the page about a corpus."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nmt.prepare import main


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("corpus")
    names = [chr(97 + n % 26) * 3 for n in range(60)]
    pairs = [(f"das Haus <b>{n}</b> ist {name} groß", f"the house {n} is {name}") for n, name in enumerate(names)]
    pairs += [("<script>alert(1)</script> Haus", "дом дом дом")] * 2 + [(pairs[0][0].upper(), "THE HOUSE")]
    for n, language in enumerate(("de", "en")):
        (folder / f"train.{language}").write_text("".join(f"{pair[n]}\n" for pair in pairs), encoding="utf8")
        (folder / f"val.{language}").write_text(f"{pairs[0][n]}\n", encoding="utf8")
        (folder / f"test.{language}").write_text(f"{pairs[1][n]}\n", encoding="utf8")
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


def test_elements_are_closed(report: str) -> None:
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
    assert main(["--explain", "21"]) != 0
    assert "--explain is 21: it must be at most 20" in capsys.readouterr().err
