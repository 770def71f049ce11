"""Folders are whole or absent, and what was altered or is missing is refused by name."""

import json
import math
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt import files
from nmt.files import check_sums, sha256, whole_folder
from nmt.model.weights import read_tensors, write_tensors
from nmt.translation.model_folder import load_model, require_model
from nmt.upgrade import FORMAT
from tests import forks


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


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "sub/file"])
def test_hashes_of_files_outside_the_folder_are_refused_by_name(tmp_path: Path, name: str) -> None:
    with whole_folder(tmp_path / "whole") as draft:
        (draft / "weights").write_bytes(b"weights")
    with (tmp_path / "whole" / "SHA256SUMS").open("a") as sums:
        sums.write(f"deadbeef  {name}\n")
    with pytest.raises(ValueError, match=r"SHA256SUMS is damaged or was altered: a file name is '.*': it") as error:
        check_sums(tmp_path / "whole", "weights")
    assert repr(name) in str(error.value)


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


def test_a_folder_is_there_after_a_crash_at_any_moment(tmp_path: Path) -> None:
    """The process ends, without a word, before each system call that changes the disk; a next attempt may fail too."""

    def write(arguments: list[str]) -> int:
        target, calls = Path(arguments[0]), [int(arguments[1])]

        def dying(call: Callable[..., Any]) -> Callable[..., Any]:
            def die(*given: Any, **named: Any) -> Any:
                calls[0] -= 1
                return call(*given, **named) if calls[0] else os._exit(9)

            return die

        of_paths = [(Path, name) for name in ("replace", "write_text", "mkdir")]
        for place, name in (*of_paths, (shutil, "rmtree"), (files, "flush_to_disk")):
            setattr(place, name, dying(getattr(place, name)))
        with whole_folder(target) as draft:
            (draft / "file").write_text("new")
        return 0

    for crash in range(1, 100):
        target = tmp_path / str(crash) / "whole"
        with whole_folder(target) as draft:
            (draft / "file").write_text("old")
        ended = forks.start(write, [str(target), str(crash)]).wait(60)
        with pytest.raises(OSError, match="full"), whole_folder(target):
            raise OSError("full")
        check_sums(target, "file")
        assert (target / "file").read_text() in (("new",) if ended == 0 else ("old", "new"))
        if ended == 0:
            break
    assert 8 < crash < 99


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    """A copy of a model folder, to be damaged."""
    return shutil.copytree(model_folder, tmp_path / "model")


def with_sums(folder: Path) -> Path:
    """The folder with the hashes of what is in it now."""
    names = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    (folder / "SHA256SUMS").write_text("".join(f"{sha256(folder / name)}  {name}\n" for name in names))
    return folder


@pytest.mark.parametrize(
    ("section", "name", "value", "problem"),
    [
        ("model", "positions", "x", "positions"),
        ("model", "d_model", "16", "d_model"),
        ("model", "n_heads", True, "n_heads"),
        ("model", "tied", 1, "tied"),
        ("search", "batch_size", 1.5, "batch_size"),
        ("facts", "least_confidence", 1.5, "least_confidence"),
        ("", "format", FORMAT + 1, "format"),
        ("", "format", "2", "format"),
        ("", "tgt_vocab_size", 10**13, "tgt_vocab_size"),
        ("", "source", 5, "source"),
        ("", "model", None, "model is missing"),
        # A model of another size is refused at once.
        ("model", "d_model", 4_000_000, "weights .* don't fit"),
        ("model", "d_ff", 10**13, "weights .* don't fit"),
        ("model", "d_model", 10**12, "no machine can hold"),
        ("model", "decoder_layers", 1000, "weights .* don't fit"),
        ("model", "decoder_layers", 10**9, "model.decoder_layers is 1000000000"),
    ],
)
def test_settings_that_can_t_be_are_named(folder: Path, section: str, name: str, value: Any, problem: str) -> None:
    assert load_model(with_sums(folder))
    config = json.loads((folder / "config.json").read_text())
    (config[section] if section else config)[name] = value
    (folder / "config.json").write_text(json.dumps(config))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=problem) as error:
        load_model(with_sums(folder))
    assert str(folder) in str(error.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


def test_loading_leaves_the_random_numbers_as_they_are(folder: Path) -> None:
    before = torch.get_rng_state()
    load_model(folder)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("name", "contents", "problem"),
    [
        ("config.json", [b"", b"{", b"[]", b"\xff", b'"model"', b"[" * 100_000], "config.json can't be read by nmt"),
        ("SHA256SUMS", [b"", b"\xff"], "SHA256SUMS is damaged: it doesn't list config"),
    ],
)
def test_unreadable_files_are_named(folder: Path, name: str, contents: list[bytes], problem: str) -> None:
    for content in contents:
        (folder / name).write_bytes(content)
        with pytest.raises(ValueError, match=problem):
            load_model(with_sums(folder) if name == "config.json" else folder)


@pytest.mark.parametrize("damage", [lambda w: w * math.nan, lambda w: w * math.inf, lambda w: w.int()])
def test_weights_that_are_no_numbers_are_refused(folder: Path, damage: Callable[[Tensor], Tensor]) -> None:
    weights = read_tensors(folder / "model.safetensors")
    name = min(weights)
    write_tensors(folder / "model.safetensors", weights | {name: damage(weights[name])})
    with pytest.raises(ValueError, match="the weights in"):
        load_model(with_sums(folder))


def test_a_missing_folder_is_answered_with_what_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "fi-sv").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for wrong, advice in (
        ("runs/fi-vs", r"there is no such folder: did you mean runs/fi-sv\?$"),
        ("runs/other", r"there is no such folder$"),
        ("someone/fi-sv", r"there is no such folder; if it is a model on the hub, .* someone/fi-sv OUT$"),
    ):
        with pytest.raises(ValueError, match=advice):
            require_model(Path(wrong))
    Path("runs/fi-sv/config.json").symlink_to("/dev/zero")  # which has no end
    monkeypatch.setattr(Path, "read_text", pytest.fail)
    with pytest.raises(ValueError, match="is not a model folder"):
        require_model(Path("runs/fi-sv"))


def test_what_is_beside_a_missing_folder_may_be_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def iterdir(path: Path) -> list[Path]:
        raise PermissionError(f"{path} may not be listed")

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with pytest.raises(ValueError, match=r"fi-vs: there is no such folder$"):
        require_model(tmp_path / "fi-vs")


@pytest.mark.parametrize("begun", ["config.yaml", "checkpoints"])
def test_a_run_that_has_no_model_yet_is_called_unfinished(tmp_path: Path, begun: str) -> None:
    (tmp_path / begun).mkdir()
    with pytest.raises(ValueError, match=r"is not a model folder: .* \(its training has not finished\)$"):
        require_model(tmp_path)
