"""The command shows every family as tables and as JSON, and tells a mistake in one line."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from nmt.inspect import main
from nmt.translation.model_folder import Facts
from tests.tiny import Stderr

ROOT = Path(__file__).parent.parent


def test_a_folder_is_shown_as_tables_and_as_json(model_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model_folder)]) == 0
    words = ["vocabulary", "encoder, block 1", "decoder, blocks 1 to 2", "2 blocks", "<unk> 0, <s> 1", "model.d_model"]
    words += ["cache bytes of a position", "self_attention.qkv", "48 × 16 + 48"]
    output = capsys.readouterr().out
    assert [word for word in words if word not in output] == []
    assert main([str(model_folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["facts"] == asdict(Facts())
    assert report["parts"][0]["weights"][0]["name"] == "tgt_embedding.weight"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("no-such", "no-such: there is no such model folder or recipe"),
        ("..", "is not a model folder: it has no config.json"),
        ("wrong.yaml", "did you mean model.d_model?"),
        ("empty.yaml", "empty.yaml has no settings: it is no recipe"),
        ("large.yaml", "large.yaml has a model that this machine can't hold"),
        ("adapter", "adapter is an adapter: nmt.translate, nmt.evaluate and nmt.serve take it with"),
    ],
)
def test_a_mistake_is_one_line(given: str, message: str, here: Path, stderr_of: Stderr) -> None:
    (here / "wrong.yaml").write_text("model: {d_modl: 3}\n")
    (here / "large.yaml").write_text(f"model: {{d_model: {1 << 40}}}\n")
    (here / "empty.yaml").touch()
    (here / "adapter").mkdir()
    (here / "adapter" / "adapter_config.json").write_text("{}")
    said = stderr_of(main, [given])
    assert message in said
    assert len(said.strip().splitlines()) == 1
