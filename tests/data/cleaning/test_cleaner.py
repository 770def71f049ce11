"""Promises of the filters and the ledger."""

import json
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from nmt.config import CleaningConfig, DataConfig
from nmt.data.cleaning.cleaner import EXAMPLES, SHOWN, Cleaner, Examples, Ledger, Pair, ledger_table, require_pairs
from nmt.data.cleaning.filters import HeldOut
from nmt.data.corpora import clean_train, load_corpus


def clean(pairs: list[Pair], config: DataConfig, held_out: set[str]) -> tuple[list[Pair], Ledger]:
    """`held_out`: sources of the validation text."""
    return Cleaner(config, CleaningConfig(), HeldOut({"val": [(text, "?") for text in held_out]})).clean(pairs)


words = st.text(st.sampled_from("ab cdé"), max_size=30)


@pytest.mark.parametrize("codes", [("rus", "eng"), ("ru", "en"), ("qaa", "qab")])
def test_a_profile_keeps_good_text_whatever_code_its_language_has(codes: tuple[str, str]) -> None:
    config = DataConfig(source=codes[0], target=codes[1])
    good = [(f"Доброе утро, Иван {n}", f"Good morning, Ivan {n}") for n in range(5)]
    assert Cleaner(config, CleaningConfig(profile="crawled", alike=False), HeldOut({})).clean(good)[0] == good


AT_LIMITS = [("a" * 40, "a" * 40), ("a" * 10, ""), ("Hallo", "Hello"), ("Hallo", "Hi")]
BAD = [("Das ist schÃ¶n", "Das ist schÃ¶n"), ("1 2 3", "7 8 9"), ("ja ja ja ja ja", "no")]


@pytest.mark.parametrize(
    ("pairs", "config"),
    [
        (AT_LIMITS, DataConfig(max_characters=40, max_ratio=2)),
        ([("Ja", "Yes")] * 2, DataConfig(drop_duplicates=False, drop_held_out=False)),
        (BAD, DataConfig()),
    ],
)
def test_what_no_filter_of_the_settings_drops_is_kept(pairs: list[tuple[str, str]], config: DataConfig) -> None:
    assert clean(pairs, config, {"Ja"}) == (pairs, Ledger(read=len(pairs)))


def test_a_text_without_a_translation_is_judged_by_itself() -> None:
    config = DataConfig(text="target", max_characters=40, max_ratio=1.9)
    texts = [("", "a" * 40), ("", "Hello"), ("", "Seen"), ("", "Hello"), ("", "a" * 41)]
    cleaner = Cleaner(config, CleaningConfig(), HeldOut({"test": [("", "Seen")]}))
    kept, ledger = cleaner.clean(texts)
    assert kept == texts[:2]
    assert ledger.dropped == {"occurs in test": 1, "repeated": 1, "longer than 40 characters": 1}
    with pytest.raises(ValueError, match="no training pair is left of 5: 5 occurs in val or test"):
        require_pairs(Ledger(5, dropped=Counter({"occurs in val or test": 5})))


def test_held_out_text_is_counted_by_the_first_set_that_has_it() -> None:
    sets = {"val": [("eins", "one")], "test_a": [("zwei", "two"), ("eins", "one")], "test_b": [("zwei", "two")]}
    pairs = [("eins", "1"), ("zwei", "2"), ("Zwei", "Two"), ("drei", "3")]
    cleaner = Cleaner(DataConfig(), CleaningConfig(contamination=True), HeldOut(sets))
    cleaner.strict = True
    kept, ledger = cleaner.clean([*pairs, ("vier", "zwei")])
    assert kept == [("drei", "3")]
    dropped = {"source occurs in val": 1, "source occurs in test_a": 1, "nearly in test_a": 1}
    assert ledger.dropped == dropped | {"target occurs in test_a": 1}


@given(
    st.lists(st.tuples(words, words), max_size=30),
    st.sets(words),
    st.integers(1, 20),
    st.floats(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_every_pair_is_kept_in_order_or_dropped_for_one_cause(
    pairs: list[tuple[str, str]], held_out: set[str], most: int, ratio: float, unique: bool, unseen: bool
) -> None:
    config = DataConfig(max_characters=most, max_ratio=ratio, drop_duplicates=unique, drop_held_out=unseen)
    kept, ledger = clean(pairs, config, held_out)
    assert ledger.read == len(pairs) == len(kept) + sum(ledger.dropped.values())
    assert ledger.kept == len(kept)
    rest = iter(pairs)
    assert all(pair in rest for pair in kept)
    assert all(max(map(len, pair)) <= most for pair in kept)
    assert not unique or max(Counter(kept).values(), default=1) == 1
    assert not unseen or not held_out & {source or target for source, target in kept if source}


causes = st.dictionaries(st.sampled_from(["blank", "repeated", "too long"]), st.integers(1, 9))


@given(st.integers(27, 99), causes, causes, causes, st.sampled_from(["pair", "text"]))
def test_ledgers_of_two_stages_add_up(
    read: int, repaired: dict[str, int], first: dict[str, int], second: dict[str, int], unit: str
) -> None:
    reading = Ledger(read, unit=unit)
    for cause, count in first.items():
        reading.drop(cause, count, line=7)
    cleaning = Ledger(reading.kept, unit=unit)
    for cause, count in repaired.items():
        cleaning.repaired[cause] += count
    if sum(second.values()) <= cleaning.read:
        for cause, count in second.items():
            cleaning.drop(cause, count)
    whole = reading.then(cleaning)
    assert whole.read == read == whole.kept + sum(whole.dropped.values())
    assert whole.kept == cleaning.kept
    assert whole.unit == unit
    assert Counter(whole.dropped) == Counter(first) + Counter(cleaning.dropped)
    assert whole.first == dict.fromkeys(first, 7)
    assert Ledger.from_dict(json.loads(json.dumps(whole.as_dict()))) == whole


def test_a_ledger_adds_up_and_lists_what_struck() -> None:
    ledger = Ledger(read=1)
    ledger.drop("longer than 256 pieces", 0)
    assert ledger.dropped == {}
    with pytest.raises(AssertionError, match="more pairs dropped"):
        ledger.drop("blank", 2)
    saved = Ledger(read=3).as_dict()
    with pytest.raises(ValueError, match="doesn't add up"):
        Ledger.from_dict(saved | {"kept": 2})
    del saved["unit"]
    assert Ledger.from_dict(saved) == Ledger(read=3, unit="pair"), "an older ledger counts pairs"


def test_the_table_says_what_it_counts() -> None:
    for units, title in ((["text"], "Texts"), (["pair"], "Pairs"), (["pair", "text", "text"], "Pairs and texts")):
        table = ledger_table({str(n): Ledger(unit=unit) for n, unit in enumerate(units)})
        assert table.title == f"{title} read, repaired, dropped and kept"
    mixed = Ledger.total({"main": Ledger(read=3), "more": Ledger(read=2, unit="text")})
    assert ledger_table({"train": mixed}).title == "Pairs and texts read, repaired, dropped and kept"
    assert mixed.amount() == "3 pairs and 2 texts"


def test_the_table_shows_every_count_and_the_first_line() -> None:
    train, val = Ledger(read=12_345), Ledger(read=7)
    for line in range(17, 48):
        train.repair("composed to NFC", line)
    train.drop("repeated", 45)
    val.drop("a side is blank", 2, line=3)
    console = Console(width=100, record=True, file=StringIO())
    console.print(ledger_table({"train": train, "val": val}))
    rows = [line.replace("│", " ").split() for line in console.export_text().splitlines()]
    assert ["read", "12,345", "7"] in rows
    assert ["repaired:", "composed", "to", "NFC", "31", "train:17"] in rows
    assert ["dropped:", "repeated", "45"] in rows
    assert ["dropped:", "a", "side", "is", "blank", "2", "val:3"] in rows
    assert ["kept", "12,300", "5"] in rows


def test_examples_are_the_same_in_any_order() -> None:
    pairs = [(f"Nummer {n}", f"Number {n}") for n in range(30)] * 2
    shown = []
    for order in (pairs, pairs[::-1]):
        examples = Examples()
        for pair in order:
            examples.add("repeated", pair)
        shown.append(examples.by_cause()["repeated"])
    assert shown[0] == shown[1]
    assert len(set(shown[0])) == EXAMPLES


def test_of_long_texts_examples_keep_the_beginnings() -> None:
    """A file whose line breaks are lost is one text of megabytes, which the record of a run would have."""
    examples = Examples()
    examples.add("longer than 2,000 characters", ("x" * 10_000_000, "y" * 10))
    assert examples.by_cause() == {"longer than 2,000 characters": [("x" * SHOWN, "y" * 10)]}


def test_a_profile_drops_each_kind_of_bad_pair_by_its_cause() -> None:
    test = [("Er geht jeden Tag mit dem alten Hund durch den großen Park bei uns", "He walks")]
    bad = {
        "another script": ("Guten Morgen, meine Freunde", "Доброе утро, друзья мои"),
        "other numbers": ("Es kostet 1200 Euro", "It costs 1300 euros"),
        "other addresses": ("Siehe www.example.org/a", "See www.example.org/b"),
        "repetition": ("Das ist gut", "That is is is is is good"),
        "a copy": ("Der Hund geht nach Hause", "der Hund geht nach Hause"),
        "letters below 0.5": ("+++ 1 +++ 2 +++", "+++ 1 +++ 2 +++"),
        "a word of more than 60 characters": ("Ja " + "a" * 61, "Yes, this is a long word"),
        "nearly in test": ("er geht jeden tag mit dem alten hund durch den grossen Park", "He  walks!"),
        "13 words of test": (
            "Ja, er geht jeden Tag mit dem alten Hund durch den großen Park bei uns",
            "Yes, he walks with the old dog in the park every day",
        ),
        "alike an earlier one": ("GUTEN MORGEN 2", "Good morning, 2!"),
    }
    settings = CleaningConfig(profile="crawled", unicode=False, language=False)
    cleaner = Cleaner(DataConfig(), settings, HeldOut({"test": test}))
    assert [cleaner.cause(pair) for pair in (("Guten Morgen 1", "Good morning 1"), *bad.values())] == ["", *bad]


# Text that nmt has held out


@pytest.mark.parametrize(
    ("pair", "found"),
    [
        (("Morgen allerseits", "Good morning"), True),
        (("guten morgen!", "Hello"), True),
        (("Guten Abend", "Good evening"), False),
        (("Seite 7", "Page 7"), False),
    ],
)
def test_no_training_pair_repeats_text_that_nmt_held_out(pair: Pair, found: bool) -> None:
    """In every profile; text in the user's own files is dropped by its source only."""
    splits = {"val": [("Guten Morgen", "Good morning"), ("Seite 6", "Page 6")]}
    for chosen, data, cleaning, dropped in (
        (["val"], DataConfig(), CleaningConfig(), found),
        ([], DataConfig(), CleaningConfig(), False),
        (["val"], DataConfig(), CleaningConfig(contamination=False), False),
        (["val"], DataConfig(drop_held_out=False), CleaningConfig(), False),
    ):
        cleaner = Cleaner(data, cleaning, HeldOut(splits, chosen))
        assert cleaner.cause(pair) == ("nearly in val" if dropped else "")


def test_what_is_held_out_is_known_as_such(tmp_path: Path) -> None:
    rows = [(f"Satz {n} von {n}", f"sentence {n} of {n}") for n in range(100)]
    copies = [(a.upper(), b.upper()) for a, b in rows]
    (tmp_path / "mine.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows + copies))
    config = DataConfig(corpus=str(tmp_path / "mine.tsv"))
    corpus = load_corpus(config)
    assert corpus.chosen == ["val", "test"]
    kept, ledger = clean_train(corpus, config)
    held_out = {a.casefold() for a, _ in [*corpus.val, *corpus.tests["test"]]}
    assert not held_out & {source.casefold() for source, _ in kept}
    assert ledger.dropped["nearly in val"] > 0 < ledger.dropped["nearly in test"]
