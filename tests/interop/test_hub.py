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

CODE = "import sys; from nmt.convert import main; [print(main(words.split())) for words in sys.argv[1:]]"


def run(home: Path, address: str, *commands: str, **variables: str) -> tuple[list[str], str]:
    """The status of calls of nmt.convert, and all that they say: in a new process, as huggingface_hub reads variables
    when it is imported."""
    usual = {"HF_ENDPOINT": address, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    environment = {**os.environ, **usual, **variables}
    done = subprocess.run([sys.executable, "-c", CODE, *commands], env=environment, capture_output=True, text=True)
    return done.stdout.split(), done.stderr


@pytest.mark.slow
def test_a_model_is_downloaded_once_with_its_commit_and_used_offline(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    marian(tmp_path / "tiny")
    (tmp_path / "tiny" / "tf_model.h5").write_bytes(b"needed by others only")
    with hub(tmp_path / "tiny", SAFE) as (address, asked):
        home, tiny, none = tmp_path / "home", f"owner/tiny {tmp_path}/out", f"owner/none {tmp_path}/none"
        (*_, last), said = run(home, address, tiny, tiny, none)  # if the first call is interrupted, the second goes on
        assert last == "2"
        assert "Traceback" not in said
        assert "nmt.convert: owner/none: the hub has no such model, or it is not public" in said.splitlines()
        weights = [line for line in asked if line.startswith("GET") and SAFE in line]
        assert len(weights) == 2  # the interrupted one, and the rest or (a file below 10 MB) the whole again
        assert not any("tf_model.h5" in line for line in asked)
    assert read_info(tmp_path / "out" / "config.json")[0].origin == f"owner/tiny (commit {COMMIT})"
    assert COMMIT in (tmp_path / "out" / "README.md").read_text()
    assert run(home, address, f"owner/tiny {tmp_path}/again", HF_HUB_OFFLINE="1")[0] == ["0"]
    status, said = run(home, address, f"owner/other {tmp_path}/other")
    assert status == ["2"]
    assert "the hub can't be reached (" in said
    assert "owner/other was not downloaded before" in said


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
