"""The benchmarks run, and print what they measured; what the figures are is for a quiet machine to say."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOUNS = [("Haus", "house"), ("Boot", "boat"), ("Kind", "child"), ("Tier", "animal"), ("Brot", "bread")]
PEER = "print('loading …'); print('peer bf16: 20 target tokens/s, 2.0 sentences/s')"


def test_train_speed_sets_nmt_beside_a_peer(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for split, sizes in (("train", range(20)), ("val", range(20, 22)), ("test", range(22, 24))):
        for side, language in enumerate(("de", "en")):
            (corpus / f"{split}.{language}").write_text(
                "".join(f"{noun[side]} {size}\n" for noun in NOUNS for size in sizes), encoding="utf8")
    result = subprocess.run(
        [sys.executable, "benchmarks/train_speed.py", "--corpus", str(corpus), "--steps", "2", "--warmup", "1",
         "--batch-tokens", "64", "--threads", "1", "--rounds", "2", "--json", str(tmp_path / "rows.json"),
         "--peer", f'{sys.executable} -c "{PEER}"'], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["system"] for row in rows] == ["nmt", "peer"] * 2, "in turn"
    ours, peer = rows[:2]
    assert (peer["dtype"], peer["target_tokens_per_second"], peer["peak_share"]) == ("bf16", 20, None)
    assert 0 < ours["peak_share"] < 1
    assert 0 <= ours["data_share"] < 1
    assert ours["peak_memory_mib"] > peer["peak_memory_mib"] > 1
    assert ours["target_tokens_per_second"] > ours["sentences_per_second"] > 0
    assert " to " in result.stdout, "the ratio's range"
