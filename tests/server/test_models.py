"""Models of the service: several directions, loaded when they are needed, and again when their folder is replaced."""

import asyncio
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.serve import read_adapters
from nmt.server.apis.asking import find_direction
from nmt.server.errors import Draining, Refused
from nmt.server.models import Models, Served, read_folder
from tests.server.conftest import load
from tests.tiny import make_model, save_tiny

pytestmark = pytest.mark.anyio

DIRECTION = ("de", "en")


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "run" / "model"))


def test_folders_make_directions(folder: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    other = save_tiny(tmp_path / "other", make_model(tokenizer), tokenizer, languages=("en", "de"))
    models = Models([folder.parent, other], load, lazy=True)
    assert models.languages == {"de": ["en"], "en": ["de"]}
    assert [served.name for served in models.all] == ["run", "other"]
    assert Served(Path("model"), []).name == Path.cwd().name
    with pytest.raises(Refused, match="no model translates 'de to fi': there is de to en, en to de"):
        find_direction(models, "de", "fi")
    assert find_direction(models, "", "DE") == ("en", "de")
    with pytest.raises(ValueError, match=r"translates de to en, as .* does: give one of them"):
        Models([folder, folder], load)


def test_adapters_that_can_t_be_chosen_are_refused(folder: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    (folder / "adapter_config.json").touch()
    assert read_adapters([f"law={folder}"]) == {"law": folder}
    for given, problem in [
        (["law"], "--adapter law has no name or no folder: give NAME=DIR"),
        ([f"law={folder}"] * 2, "--adapter law is given twice"),
        ([f"law={tmp_path}"], "is not an adapter folder"),
    ]:
        with pytest.raises(ValueError, match=problem):
            read_adapters(given)
    other = save_tiny(tmp_path / "other", make_model(tokenizer), tokenizer, languages=("en", "de"))
    with pytest.raises(ValueError, match="2 models are given with adapters"):
        Models([folder, other], load, adapters={"law": folder})
    with pytest.raises(ValueError, match="an adapter is called 'run', as the model is"):
        Models([folder], load, adapters={"run": folder})


async def test_a_lazy_model_is_loaded_once_by_the_first_requests(folder: Path) -> None:
    note = Mock(side_effect=load)
    models = Models([folder], note, lazy=True)
    assert models.ready
    first, second = await asyncio.gather(models.wait_for(DIRECTION), models.wait_for(DIRECTION))
    assert first is second
    note.assert_called_once_with(folder)


async def test_requests_are_refused_until_a_model_is_loaded(folder: Path) -> None:
    models = Models([folder], load)
    tasks = models.start()
    assert not models.ready
    with pytest.raises(Draining, match="being loaded"):
        await models.wait_for(DIRECTION)
    await asyncio.gather(*tasks)
    assert models.ready
    await models.wait_for(DIRECTION)


async def test_a_replaced_folder_is_loaded_and_the_old_translator_works_on(folder: Path, tokenizer: Tokenizer) -> None:
    models = Models([folder], load, lazy=True)
    old = await models.wait_for(DIRECTION)
    before = old.translate(["Der kleine Hund"])
    save_tiny(folder, make_model(tokenizer, seed=2), tokenizer)
    assert models.translator(DIRECTION) is old
    loading = models.by_direction[DIRECTION].loading
    assert loading is not None
    await loading
    new = models.translator(DIRECTION)
    assert new is not old
    assert old.translate(["Der kleine Hund"]) == before
    (folder / "model.safetensors").write_bytes(b"broken")
    (folder / "SHA256SUMS").touch()
    assert models.translator(DIRECTION) is new
    await models.begin(models.by_direction[DIRECTION])
    assert models.translator(DIRECTION) is new
    assert "model.safetensors" in models.by_direction[DIRECTION].problem


async def test_a_folder_of_other_languages_does_not_replace_the_old_model(folder: Path, tokenizer: Tokenizer) -> None:
    models = Models([folder], load, lazy=True)
    old = await models.wait_for(DIRECTION)
    save_tiny(folder, make_model(tokenizer), tokenizer, languages=("en", "de"))
    await models.begin(models.all[0])
    assert models.translator(DIRECTION) is old
    assert models.all[0].problem == f"{folder} no longer translates de to en: start the service again"


@pytest.mark.parametrize(
    ("error", "problem"),
    [(ValueError("it is damaged"), "it is damaged"), (RuntimeError("out of memory"), "RuntimeError: out of memory")],
)
async def test_why_a_model_can_t_load_is_told_and_is_not_retried(folder: Path, error: Exception, problem: str) -> None:
    fail = Mock(side_effect=error)
    models = Models([folder], fail, lazy=True)
    for _ in range(2):
        with pytest.raises(Draining, match="could not be loaded, and the log says why"):
            await models.wait_for(DIRECTION)
    assert models.all[0].problem == problem
    fail.assert_called_once_with(folder)


def test_a_folder_must_fit_what_runs_it(model_folder: Path, scorer_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no translator"):
        Models([scorer_folder], load)
    with pytest.raises(ValueError, match="wasn't exported"):
        read_folder(model_folder, "ctranslate2")
    exported = tmp_path / "exported"
    shutil.copytree(model_folder, exported)
    (exported / "config.json").rename(exported / "nmt.json")
    assert read_folder(exported, "ctranslate2").directions == read_folder(model_folder).directions
    with pytest.raises(ValueError, match="take it with --backend ctranslate2"):
        read_folder(exported)
    with pytest.raises(ValueError, match="CTranslate2 adds no adapters"):
        Models([exported], load, adapters={"law": model_folder}, backend="ctranslate2")
