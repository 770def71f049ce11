"""What tests of other libraries share: a folder with a corpus, and short translations."""

from pathlib import Path

import pytest

from nmt.interop import huggingface
from tests.interop.foreign import sides
from tests.tiny import PAIRS


@pytest.fixture(autouse=True)
def few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models never end a sentence."""
    monkeypatch.setattr(huggingface, "MOST_PIECES", 12)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A file of lines that exports are checked with."""
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(source for source, _ in PAIRS), encoding="utf8")
    return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus, in which commands are run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    for split, start, end in (("train", 0, 200), ("val", 200, 220), ("test", 220, 230)):
        for language, lines in zip(("de", "en"), sides(), strict=True):
            (tmp_path / "corpus" / f"{split}.{language}").write_text("\n".join(lines[start:end]) + "\n")
    return tmp_path
