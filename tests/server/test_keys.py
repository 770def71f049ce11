"""Keys: only hashes are stored, a wrong key is refused, and each key has its share of a minute."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nmt import keys as command
from nmt.server.errors import Refused
from nmt.server.store.keys import MOST_OWNERS, NO_KEY, Key, Keys, hash_of, make_key


def test_the_command_makes_lists_and_removes_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys.json"
    assert command.main(["add", str(file), "website", "--requests", "5"]) == 0
    text = capsys.readouterr().out.strip()
    assert len(text) >= 43  # 256 bits in base 64
    assert text not in file.read_text()
    assert json.loads(file.read_text())[0]["hash"] == hash_of(text)
    assert file.stat().st_mode & 0o077 == 0
    assert command.main(["list", str(file)]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("website\t")
    assert listed.endswith("\t5 requests a minute\tno limit of characters\n")
    for name, message in (("website", "choose another name"), (" ", "no name for"), ("a\nb", "no name for")):
        assert command.main(["add", str(file), name]) == 2
        assert message in capsys.readouterr().err
    (link := tmp_path / "link.json").symlink_to(file)
    assert command.main(["remove", str(link), "website"]) == 0
    assert json.loads(file.read_text()) == []
    assert command.main(["remove", str(file), "website"]) == 2


def test_who_may_read_the_keys_may_do_so_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service may run as another user than who makes the keys."""
    file, owners = tmp_path / "keys.json", list[tuple[int, int]]()
    make_key(file, "first")
    file.chmod(0o640)
    monkeypatch.setattr("os.chown", lambda _, *owner: owners.append(owner))
    make_key(file, "second")
    assert file.stat().st_mode & 0o777 == 0o640
    assert owners == [(file.stat().st_uid, file.stat().st_gid)]


def test_keys_that_are_made_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = [*pool.map(lambda n: make_key(tmp_path / "keys.json", f"k{n}"), range(8))]
    assert all(map(Keys(tmp_path / "keys.json").find, texts))


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
    shape = "it is an object: it must be a list such as [a, b], each item an object such as {name: ..., hash: ...}"
    with pytest.raises(ValueError, match=f"no file of keys: {re.escape(shape)};"):
        Keys(file)


def test_a_key_has_its_share_of_each_minute() -> None:
    now = 100.0
    keys = Keys(clock=lambda: now)
    few, short = Key(name="few", hash="1", requests=2), Key(name="short", hash="2", characters=10)
    for _ in range(2):
        keys.admit("1", few)
        keys.charge("1", few, 1000)
    with pytest.raises(Refused, match="2 requests") as refused:
        keys.admit("1", few)
    assert (refused.value.status, refused.value.retry_after) == (429, 30)
    now = 130.0
    keys.admit("1", few)
    with pytest.raises(Refused):
        keys.admit("1", few)
    keys.admit("2", short)
    keys.charge("2", short, 25)  # more than a minute allows, and the rest is owed
    with pytest.raises(Refused, match="10 characters") as refused:
        keys.charge("2", short, 25)
    assert refused.value.retry_after == 90
    now = 219.0
    keys.admit("2", short)  # a request without texts
    with pytest.raises(Refused):
        keys.charge("2", short, 25)
    now = 221.0
    assert keys.use("2", short).used == 25
    keys.charge("2", short, 25)
    assert keys.use("2", short).used == 50


def test_a_limit_that_a_key_gets_later_counts_from_then_on() -> None:
    now = 0.0
    keys = Keys(clock=lambda: now)
    for _ in range(1000):
        keys.admit("1", Key(name="a", hash="1"))
    now = 60.0
    for _ in range(5):
        keys.admit("1", Key(name="a", hash="1", requests=5))
    with pytest.raises(Refused):
        keys.admit("1", Key(name="a", hash="1", requests=5))


@pytest.mark.parametrize("requests", [0, 1])
def test_addresses_have_limits_in_a_service_without_keys_and_are_forgotten(requests: int) -> None:
    now = 0.0
    keys = Keys(None, Key(name="", hash="", requests=requests), clock=lambda: now)
    assert keys.find("anything") == keys.anyone
    for n in range(MOST_OWNERS):
        keys.admit(f"a{n}", keys.anyone)
        keys.charge(f"a{n}", keys.anyone, 5)
    if requests:
        with pytest.raises(Refused, match="your address may have 1 requests"):
            keys.admit("a7", keys.anyone)
    now = 61.0
    keys.admit("new", keys.anyone)
    assert [*keys.uses] == ["new"]


def test_many_addresses_are_not_looked_through_for_each_new_one() -> None:
    keys = Keys(None, NO_KEY, clock=lambda: 0.0)
    for n in range(MOST_OWNERS + 1):
        keys.admit(f"a{n}", keys.anyone)
    known = keys.uses
    for n in range(MOST_OWNERS - 1):
        keys.admit(f"b{n}", keys.anyone)
    assert keys.uses is known  # no new table
