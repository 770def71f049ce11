"""Folders are whole or absent, and what was altered or is missing is refused by name."""

from pathlib import Path

import pytest

from nmt.decode.folder import load_model
from nmt.files import check_sums, whole_folder


def test_a_folder_with_an_altered_or_missing_file_is_refused(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "whole") as draft:
        (draft / "weights").write_bytes(b"weights")
        (draft / "card").write_bytes(b"card")
    check_sums(tmp_path / "whole")
    file = tmp_path / "whole" / "weights"
    file.write_bytes(b"weighty")
    with pytest.raises(ValueError, match="weights is damaged or was altered"):
        check_sums(tmp_path / "whole")
    file.unlink()
    with pytest.raises(ValueError, match="weights is missing"):
        check_sums(tmp_path / "whole")


def test_another_folder_is_no_model_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a model folder"):
        load_model(tmp_path)


def test_a_draft_that_fails_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "whole"

    def fill(content: str) -> None:
        with whole_folder(target) as draft:
            (draft / "file").write_text(content)
            if content == "bad":
                raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fill("bad")
    assert list(tmp_path.iterdir()) == []
    for content in ("first", "second"):
        fill(content)
        assert (target / "file").read_text() == content
    with pytest.raises(OSError, match="full"):
        fill("bad")
    assert (target / "file").read_text() == "second"
    assert list(tmp_path.iterdir()) == [target]
    check_sums(target)
