"""Keys: only hashes are stored, a wrong key is refused, and each key has its share of a minute."""

import json
from pathlib import Path

import pytest

from nmt import keys as command
from nmt.server.errors import Refused
from nmt.server.keys import NO_KEY, Key, Keys, hash_of, make_key


def test_the_command_makes_lists_and_removes_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys.json"
    assert command.main(["add", str(file), "website", "--requests", "5"]) == 0
    text = capsys.readouterr().out.strip()
    assert len(text) >= 43  # 256 bits in base 64
    assert text not in file.read_text()
    assert json.loads(file.read_text())[0]["hash"] == hash_of(text)
    assert file.stat().st_mode & 0o077 == 0
    assert command.main(["list", str(file)]) == 0
    assert capsys.readouterr().out.startswith("website\t")
    assert command.main(["add", str(file), "website"]) == 2
    assert "choose another name" in capsys.readouterr().err
    assert command.main(["remove", str(file), "website"]) == 0
    assert json.loads(file.read_text()) == []
    assert command.main(["remove", str(file), "website"]) == 2


def test_keys_are_found_by_their_text_alone(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    first, second = make_key(file, "first"), make_key(file, "second")
    assert first != second
    keys = Keys(file)
    found = keys.find(second)
    assert found
    assert found.name == "second"
    for wrong in ("", first[:-1], hash_of(first), "\ud800"):
        assert keys.find(wrong) is None
    assert Keys().find("") == NO_KEY
    file.write_text("{}")
    assert keys.find(second)
    file.unlink()
    assert keys.find(second)
    assert keys.find("") is None
    file.write_text("{}")
    with pytest.raises(ValueError, match="no file of keys"):
        Keys(file)


def test_a_key_has_its_share_of_each_minute() -> None:
    now = 100.0
    keys = Keys(clock=lambda: now)
    few, short = Key(name="few", hash="1", requests=2), Key(name="short", hash="2", characters=10)
    for _ in range(2):
        keys.charge(few, 1000)
    now = 110.0
    with pytest.raises(Refused) as refused:
        keys.charge(few, 0)
    assert (refused.value.status, refused.value.retry_after) == (429, 50)
    keys.charge(short, 25)  # more than a minute allows: alone
    with pytest.raises(Refused, match="10 characters"):
        keys.charge(short, 1)
    now = 170.0
    keys.charge(few, 0)
    keys.charge(short, 9)
    keys.charge(short, 1)
    with pytest.raises(Refused):
        keys.charge(short, 1)
    assert keys.uses["2"].characters == 35
