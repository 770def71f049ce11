"""What older versions wrote still loads: a model folder prints its exact text, and a run goes on as it would have.

`saved/format-1/` was written by nmt 0.1.0: a model folder, and a run that was stopped after step 40.
"""

import json
import shutil
from pathlib import Path

import pytest

from nmt.train import main
from nmt.translation.translator import Translator

SAVED = Path(__file__).parent / "saved"


def test_a_model_folder_of_format_1_translates_as_it_did() -> None:
    translator = Translator.load(SAVED / "format-1" / "model", "cpu", precision="fp32")
    assert (translator.facts.longest_source, translator.facts.least_confidence) == (59, 0.1426)
    lines = ["Ich habe drei Pferde.", "", "Jan fährt im Herbst nach London, um seine Nichte abzuholen."]
    found = [best for best, *_ in translator.translate_n_best(lines)]
    assert [best.text for best in found] == ["e   a  l  t", "", "e   a  l  t e   a  l  t e  l  a"]
    assert [best.score for best in found] == pytest.approx([-2.299, 0.0, -2.29272], abs=1e-4)
    assert [best.flags for best in found] == [("unsure",), (), ("unsure",)]
    (scored,) = translator.scorer().score([("Ich habe drei Pferde.", "I have three horses.")])
    assert scored is not None
    assert scored.score == pytest.approx(-3.6229048, abs=1e-4)


def test_a_run_of_format_1_goes_on_as_it_would_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAVED / "format-1" / "run", tmp_path / "runs" / "run")
    assert main(["--config", "runs/run/config.yaml", "--resume", "--training.max_steps", "60"]) == 0
    records = [json.loads(line) for line in (tmp_path / "runs" / "run" / "metrics.jsonl").read_text().splitlines()]
    nll = {record["step"]: record["train/nll"] for record in records if "train/nll" in record}
    validated = {record["step"]: record["validation/nll"] for record in records if "validation/nll" in record}
    assert [nll[step] for step in (50, 60)] == pytest.approx([4.024934, 4.042802], abs=1e-3)
    assert validated[60] == pytest.approx(3.983926, abs=1e-3)
    settings = tmp_path / "runs" / "run" / "config.yaml"
    assert "\n  text: pairs\n" in settings.read_text()
    settings.write_text(settings.read_text().replace("  text: pairs\n", ""))  # as an older nmt wrote it
    assert main(["--config", "runs/run/config.yaml", "--resume"]) == 0
    assert (tmp_path / "runs" / "run" / "model" / "config.json").is_file()
