"""Stored glossaries: whole files, which only their owner sees, and entries that can be used."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from nmt.server.store import glossaries
from nmt.server.store.glossaries import Dictionary, Glossaries, Stored, new, read_entries, write_entries

TERMS = Dictionary("de", "en", {"Hund": "dog|hound"})


def test_glossaries_are_found_again_by_another_process(tmp_path: Path) -> None:
    store = Glossaries(tmp_path / "new")
    assert store.all("me") == []
    made = store.create("me", "Ärzte & Co/../x", [TERMS])
    other = Glossaries(tmp_path / "new")
    assert other.all("me") == [made]
    assert other.get("me", made.id) == other.named("me", made.name) == made
    assert other.get("you", made.id) is other.named("you", made.name) is None
    assert list(tmp_path.iterdir()) == [tmp_path / "new"]
    changed = other.change(lambda: made.with_dictionary(Dictionary("en", "de", {"dog": "Hund"})))
    assert store.get("me", made.id) == changed
    assert changed.find(("en", "de")) != changed.find(("de", "en")) == TERMS
    (tmp_path / "new" / "broken.json").write_text("{")
    assert store.all("me") == [changed]
    store.delete(changed)
    assert other.all("me") == []
    assert not other.known


def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    store = Glossaries(tmp_path / "inside")
    made = store.create("me", "x", [TERMS])
    outside = tmp_path / f"{made.id}.json"
    (tmp_path / "inside" / f"{made.id}.json").rename(outside)
    for identity in (f"../{made.id}", str(outside), "", "..", "\0", made.id):
        assert store.get("me", identity) is None
    assert asdict(made)["name"] == "x"


def test_the_last_glossary_with_a_name_counts(tmp_path: Path) -> None:
    store = Glossaries(tmp_path)
    first = store.create("me", "x", [TERMS])
    second = store.create("me", "x", [TERMS])
    newest = max((first, second), key=lambda one: (one.created, one.id))
    assert store.named("me", "x") == newest
    empty = store.create("me", "x", [])  # as version 3 of DeepL's API may make it
    assert store.named("me", "x") == newest
    store.delete(first)
    store.delete(second)
    assert store.named("me", "x") == empty


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({}, "no entries"),
        *(({source: target}, "no entry") for source, target in [("", "dog"), ("Hund", " "), ("Hund", "a\tb")]),
        *(({source: target}, "line breaks") for source, target in [("a\tb", "c"), ("a\nb", "c"), ("a", "b\nc")]),
    ],
)
def test_glossaries_that_cannot_be_used_are_refused(tmp_path: Path, entries: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Glossaries(tmp_path).create("me", "x", [Dictionary("de", "en", entries)])
    assert not list(tmp_path.glob("*.json"))


def test_entries_are_read_as_they_are_written() -> None:
    entries = {"Hund": "dog", "Wo ist": "Where is"}
    assert read_entries(write_entries(entries), "tsv") == entries
    assert read_entries("Hund\tdog\r\n\r\nWo ist\tWhere is\r\n", "tsv") == entries
    assert read_entries('Hund,dog,de,en\n"Wo ist","Where is"\n', "csv") == entries
    assert read_entries('\ufeff"Ja, gern","Yes, please"\n', "csv") == {"Ja, gern": "Yes, please"}
    for text, form, problem in (("Hund", "tsv", "line 1"), ("a\tb\na\tc", "tsv", "repeats"), ("a", "csv", "source,")):
        with pytest.raises(ValueError, match=problem):
            read_entries(text, form)


def test_parallel_changes_lose_nothing(tmp_path: Path) -> None:
    """Of several threads, and of two stores, as two processes have them."""
    stores = [Glossaries(tmp_path), Glossaries(tmp_path)]
    made = stores[0].create("me", "x", [TERMS])

    def add(n: int) -> None:
        def change() -> Stored:
            stored = stores[n % 2].get("me", made.id)
            assert stored
            return stored.with_dictionary(Dictionary("de", "en", {**stored.dictionaries[0].entries, f"t{n}": "w"}))

        stores[n % 2].change(change)

    def put(n: int) -> None:
        store = stores[n % 2]
        store.change(lambda: store.named("me", "new") or new("me", "new", [TERMS]))

    with ThreadPoolExecutor(6) as pool:
        [*pool.map(add, range(12)), *pool.map(put, range(12))]
    assert len(stores[0].named("me", "x").dictionaries[0].entries) == 13  # type: ignore[union-attr]
    assert [stored.name for stored in stores[1].all("me")] == ["x", "new"]


def test_what_is_deleted_while_it_is_changed_stays_deleted(tmp_path: Path) -> None:
    stores = [Glossaries(tmp_path), Glossaries(tmp_path)]
    made = stores[0].create("me", "x", [TERMS])
    with ThreadPoolExecutor(1) as pool:

        def change() -> Stored:
            pool.submit(stores[1].delete, made)
            time.sleep(0.3)
            return made

        stores[0].change(change)
    assert stores[0].all("me") == []


def test_directions_deleted_at_the_same_time_leave_no_empty_glossary(tmp_path: Path) -> None:
    """A request reads the glossary, and another one changes it before it is deleted."""
    store = Glossaries(tmp_path)
    both = store.create("me", "x", [TERMS, Dictionary("de", "fr", {"Hund": "chien"})])
    store.delete(both, ("de", "fr"))
    store.delete(both, ("de", "en"))
    assert store.all("me") == []
    one = store.create("me", "x", [TERMS])
    changed = store.change(lambda: one.with_dictionary(Dictionary("de", "fr", {"Hund": "chien"})))
    store.delete(one, ("de", "en"))
    assert store.all("me") == [changed.without(("de", "en"))]


@pytest.mark.parametrize(("limit", "most", "n"), [("MAX_TOTAL", 2, "3 entries"), ("MAX_LETTERS", 26, "39 characters")])
def test_an_owner_has_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, n: str) -> None:
    monkeypatch.setattr(glossaries, limit, most)
    store = Glossaries(tmp_path)
    first = store.create("me", "x", [TERMS])
    store.create("me", "y", [TERMS])
    store.create("you", "x", [TERMS])
    with pytest.raises(ValueError, match=f"{n}: at most {most}"):
        store.create("me", "z", [TERMS])
    assert store.change(lambda: first) == first
