"""What a translator learns of its training text, beside its weights."""

import json
from pathlib import Path

from nmt.data.store.facts import FACTS, write_facts
from nmt.text.words import WordCounts


def test_no_shard_of_text_without_sources_is_read(tmp_path: Path) -> None:
    write_facts([tmp_path / "missing.parquet"], 0, WordCounts.of(()), tmp_path)
    assert json.loads((tmp_path / FACTS).read_text()) == {"longest_source": 0}
