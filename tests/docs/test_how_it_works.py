"""The lesson: its page shows the code and the output of its program, which runs."""

import importlib.util
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAM, PAGE = ROOT / "docs" / "how_it_works.py", ROOT / "docs" / "how-it-works.md"
BEFORE_TRAINING = 6  # outputs that don't depend on training


def blocks(kind: str) -> list[str]:
    return re.findall(f"^```{kind}\n(.*?)\n```$", PAGE.read_text("utf8"), re.MULTILINE | re.DOTALL)


def test_the_page_shows_the_whole_program() -> None:
    spec = importlib.util.spec_from_file_location("lesson", ROOT / ".ci" / "lesson.py")
    assert spec
    assert spec.loader
    lesson = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lesson)
    codes, page = lesson.parts(PROGRAM.read_text("utf8")), PAGE.read_text("utf8")
    assert blocks("python") == codes
    assert lesson.fill(page, codes, ["", *blocks("text")]) == page


@pytest.mark.slow
def test_the_program_prints_what_the_page_shows(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Small: 2 steps; what needs no training is printed as it stands on the page, and the rest runs. Whole: the model
    has learned, and what the page builds by hand gives what nmt gives."""
    whole = bool(request.config.getoption("--whole"))
    monkeypatch.setattr(sys, "argv", [str(PROGRAM), *([] if whole else ["2"])])
    runpy.run_path(str(PROGRAM))
    printed = capsys.readouterr().out
    for output in blocks("text")[:BEFORE_TRAINING]:
        assert output in printed
    assert not whole or "the same as nmt's beam search: True" in printed
    hand, library = (float(found) for found in re.findall("^(?:BLEU by hand|by sacreBLEU) +([0-9.]+)", printed, re.M))
    assert not whole or (hand > 30 and abs(hand - library) < 0.2)
    assert "guesses:" in printed
