"""What older versions wrote still loads: a model folder prints its exact text, and a run goes on as it would have.

`saved/format-1/` was written by nmt 0.1.0, and `saved/format-2/` by nmt 0.2.0: a model folder, and a run that was
stopped after step 40 (since format 2: with rotary positions, RMSNorm, SwiGLU, Muon and a moving average).
`saved/format-3/` was written by commit 150fb92, with changed copies of the pairs: placeholders, and
hints, which were removed.
"""

import json
import shutil
from pathlib import Path

import pytest

from nmt.train import main
from nmt.translation.model_folder import Facts
from nmt.translation.translator import Translator

SAVED = Path(__file__).parent / "saved"
LINES = ["Ich habe drei Pferde.", "", "Jan fährt im Herbst nach London, um seine Nichte abzuholen."]
TEXTS = {
    1: ["e   a  l  t", "", "e  l  a"],
    2: ["sstssseeess", "", "sstsss  aaasseeess"],
    3: ["ooo  eee   The  at  a  l   you", "", "ooo  eee  at  g   The  a"],
}
SCORES = {1: [-2.299, 0.0, -2.28637], 2: [-3.015536, 0.0, -3.019375], 3: [-2.757264, 0.0, -2.686767]}
FORCED = {1: -3.6229048, 2: -4.5039964, 3: -4.3374088}
FACTS = {
    1: Facts(59, 0.1426),
    2: Facts(59, 0.0792),
    3: Facts(73, 0.1297, usual_sentences=1, final_mark=".", least_spelling=0.7499),
}
TRAINED = {1: [4.024934, 4.042802], 2: [4.039785, 4.000710], 3: [3.898605, 3.870103]}
VALIDATED = {1: 3.983926, 2: 3.948017, 3: 3.809872}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_model_folder_of_an_older_format_translates_as_it_did(number: int) -> None:
    translator = Translator.load(SAVED / f"format-{number}" / "model", "cpu", precision="fp32", backend="pytorch")
    assert translator.facts == FACTS[number]
    found = [best for best, *_ in translator.translate_n_best(LINES)]
    assert [best.text for best in found] == TEXTS[number]
    assert [best.score for best in found] == pytest.approx(SCORES[number], abs=1e-4)
    assert [best.flags for best in found] == [("unsure",), (), ("unsure",) if number > 2 else ("too_short", "unsure")]
    (scored,) = translator.scorer().score([("Ich habe drei Pferde.", "I have three horses.")])
    assert scored is not None
    assert scored.score == pytest.approx(FORCED[number], abs=1e-4)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_of_an_old_format_goes_on_as_before(number: int, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if number < 3:  # those versions sorted pairs by the target, then by the source
        monkeypatch.setattr("nmt.data.batches.sort_key", lambda lengths, _: (lengths[-1] << 32) + lengths[0])
    shutil.copytree(SAVED / f"format-{number}" / "run", here / "runs" / "run")
    assert main(["--config", "runs/run/config.yaml", "--resume", "--training.max_steps", "60"]) == 0
    records = [json.loads(line) for line in (here / "runs" / "run" / "metrics.jsonl").read_text().splitlines()]
    nll = {record["step"]: record["train/nll"] for record in records if "train/nll" in record}
    validated = {record["step"]: record["validation/nll"] for record in records if "validation/nll" in record}
    assert [nll[step] for step in (50, 60)] == pytest.approx(TRAINED[number], abs=1e-3)
    assert validated[60] == pytest.approx(VALIDATED[number], abs=1e-3)
    settings = here / "runs" / "run" / "config.yaml"
    assert "\n  text: pairs\n" in settings.read_text()
    settings.write_text(settings.read_text().replace("  text: pairs\n", ""))  # as an older nmt wrote it
    assert main(["--config", "runs/run/config.yaml", "--resume"]) == 0
    assert (here / "runs" / "run" / "model" / "config.json").is_file()
