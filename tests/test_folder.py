"""The model folder: what was altered or is missing is refused by name."""

from pathlib import Path

import pytest

from nmt.decode.folder import SUMS, check_sums, sha256


def test_a_model_folder_with_an_altered_or_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a model folder"):
        check_sums(tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"weights")
    (tmp_path / SUMS).write_text(f"{sha256(file)}  {file.name}\n")
    check_sums(tmp_path)
    file.write_bytes(b"weighty")
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged or was altered"):
        check_sums(tmp_path)
    file.unlink()
    with pytest.raises(ValueError, match=r"model\.safetensors is missing"):
        check_sums(tmp_path)
