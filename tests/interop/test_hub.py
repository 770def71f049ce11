"""Models are downloaded from the hub: what is needed, with the commit, also after an interruption, and used offline."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.interop.foreign import PICKLED, SAFE
from nmt.interop.hub import fetch, needed
from nmt.translation.model_folder import read_info
from tests.interop.foreign import marian
from tests.interop.hub_server import COMMIT, hub

CODE = "import sys; from nmt.convert import main; sys.exit(main(sys.argv[1:]))"


def run(home: Path, address: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """nmt.convert in a process of its own: huggingface_hub reads its variables when it is imported."""
    usual = {"HF_ENDPOINT": address, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    environment = {**os.environ, **usual, **variables}
    return subprocess.run([sys.executable, "-c", CODE, *words], env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_a_model_is_downloaded_once_with_its_commit_and_used_offline(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    marian(tmp_path / "tiny")
    (tmp_path / "tiny" / "tf_model.h5").write_bytes(b"needed by others only")
    with hub(tmp_path / "tiny", SAFE) as (address, asked):
        first = run(tmp_path / "home", address, "owner/tiny", str(tmp_path / "out"))
        if first.returncode:  # interrupted; the next call goes on
            assert "can't be" in first.stderr
            assert "Traceback" not in first.stderr
            first = run(tmp_path / "home", address, "owner/tiny", str(tmp_path / "out"))
        assert first.returncode == 0, first.stderr
        weights = [line for line in asked if line.startswith("GET") and SAFE in line]
        assert len(weights) == 2  # the interrupted one, and the rest or (a file below 10 MB) the whole again
        assert not any("tf_model.h5" in line for line in asked)
        none = run(tmp_path / "home", address, "owner/none", str(tmp_path / "none"))
        assert none.returncode == 2
        assert none.stderr.strip() == "nmt.convert: owner/none: the hub has no such model, or it is not public"
    assert read_info(tmp_path / "out" / "config.json")[0].origin == f"owner/tiny (commit {COMMIT})"
    assert COMMIT in (tmp_path / "out" / "README.md").read_text()
    again = run(tmp_path / "home", address, "owner/tiny", str(tmp_path / "again"), HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    other = run(tmp_path / "home", address, "owner/other", str(tmp_path / "other"))
    assert other.returncode == 2
    assert "the hub can't be reached (" in other.stderr
    assert "owner/other was not downloaded before" in other.stderr


def test_weights_are_taken_in_one_form() -> None:
    assert SAFE in needed({SAFE, PICKLED, "config.json"})
    assert PICKLED not in needed({SAFE, PICKLED, "config.json"})
    assert PICKLED in needed({PICKLED})
    assert needed({"rust_model.ot"}) == []


def test_a_name_that_is_neither_a_folder_nor_an_id_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no such folder, and an id on the hub has the form OWNER/NAME"):
        fetch("no/such/folder")
    with pytest.raises(ValueError, match="--revision is for models on the hub"):
        fetch(str(tmp_path), "main")
