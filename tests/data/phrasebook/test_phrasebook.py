"""The phrasebook is the same everywhere, and keeps its splits apart.

These tests look at the corpus as a whole: its sentences, its sizes, its splits. Its German and English are those of the
corpus that was read and found correct: each word of it is in a hash.
"""

import hashlib
import re
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from nmt.data.phrasebook import MOST_SENTENCES, phrasebook
from nmt.data.phrasebook.actions import frames
from nmt.data.phrasebook.lemmas import adjective_forms, content_words, verb_forms
from nmt.data.phrasebook.lexicon import ADJECTIVES, LISTS, NOUNS, VERBS, adjectives, nouns, verb
from nmt.data.phrasebook.patterns import PATTERNS, Pattern, Sentence
from nmt.data.phrasebook.splits import word_pairs, words_of

SAVED = Path(__file__).parents[2] / "saved" / "phrasebook.tsv"
HASH = "bf1491cdc965697a83a91d25b181447a201a34914b1ff9ead51fc122d841dbd2"


@pytest.fixture(scope="module")
def book() -> SimpleNamespace:
    """The phrasebook with what each sentence is made of."""
    made = phrasebook()
    splits = {
        name: [Sentence(german, english, content_words(german)) for german, english in getattr(made, name)]
        for name in ("train", "val", "test")
    }
    return SimpleNamespace(**splits, held_out=made.held_out)


def test_the_corpus_is_the_one_that_was_read_and_whose_figures_are_published(
    book: SimpleNamespace, tmp_path: Path
) -> None:
    """Whatever the order of hashes. `saved/phrasebook.tsv` has a sentence of each pattern: if one changes on purpose,
    read what changed, keep the new file in its place, and the new hash of the whole corpus."""
    said = [pattern.make(Random(number)) for number, pattern in enumerate(PATTERNS)]
    new = tmp_path / "phrasebook.tsv"
    new.write_text("".join(f"{sentence.german}\t{sentence.english}\n" for sentence in said), "utf8")
    assert new.read_text("utf8") == SAVED.read_text("utf8"), f"the new one is {new}"
    splits = [[(sentence.german, sentence.english) for sentence in s] for s in (book.train, book.val, book.test)]
    assert hashlib.sha256(repr(splits).encode()).hexdigest() == HASH


def test_another_seed_gives_another_corpus() -> None:
    assert phrasebook(7, 300, 20) != phrasebook(8, 300, 20)


def test_no_sentence_of_either_language_stands_in_two_splits(book: SimpleNamespace) -> None:
    splits = [book.train, book.val, book.test]
    for side in ("german", "english"):
        train, val, test = ({getattr(sentence, side) for sentence in split} for split in splits)
        assert not train & val
        assert not train & test
        assert not val & test


def test_a_german_sentence_has_one_english_translation() -> None:
    rng = Random(5)
    translations: dict[str, str] = {}
    for pattern in PATTERNS * 80:
        sentence = pattern.make(rng)
        assert translations.setdefault(sentence.german, sentence.english) == sentence.english, sentence.german


def test_no_training_text_has_the_two_words_of_a_held_out_pair_in_any_form_or_order(book: SimpleNamespace) -> None:
    """The claim of the splits, checked on the text itself: with the word forms, not with the analysed sentences."""
    forms: dict[str, set[str]] = {}
    for action in map(verb, VERBS):
        forms.setdefault(action.verb.infinitive, set()).update(verb_forms(action.verb))
    for adjective in ADJECTIVES:
        forms.setdefault(adjective.german[0], set()).update(adjective_forms(adjective))
    for noun in NOUNS:
        singular_and_plural = [*noun.forms(False), *noun.forms(bool(noun.plural))]
        forms.setdefault(noun.german.split()[0], set()).update(form.split()[0] for form in singular_and_plural)
    places: dict[str, set[int]] = {}
    for place, sentence in enumerate(book.train):
        first, *others = re.findall(r"[\w-]+", re.sub(TITLE, "", sentence.german))
        for word in (first.lower() if first.lower() in KNOWN_VERBS else first, *others):
            places.setdefault(word, set()).add(place)
    where = {
        word: set().union(*(places.get(form, set()) for form in forms.get(word, {word})))
        for word in set().union(*book.held_out)
    }
    together = {tuple(sorted(pair)): set.intersection(*(where[word] for word in pair)) for pair in book.held_out}
    assert not {pair: book.train[min(found)].german for pair, found in together.items() if found}


TITLE = rf"\bFrau (?={'|'.join(name for name, _ in LISTS['surname'])})"
KNOWN_VERBS = frozenset(form for name in VERBS for form in verb_forms(verb(name).verb))


def test_a_held_out_pair_is_held_out_though_both_its_words_are_trained_on(book: SimpleNamespace) -> None:
    trained = {word for sentence in book.train for word in sentence.words}
    said = {pair for sentence in book.test for pair in book.held_out & word_pairs(sentence)}
    known = [pair for pair in said if trained.issuperset(pair)]
    assert len(known) > 0.9 * len(said)


def test_every_word_form_of_the_held_out_splits_occurs_in_training(book: SimpleNamespace) -> None:
    for side in ("german", "english"):
        trained = {word for sentence in book.train for word in words_of(getattr(sentence, side))}
        assert all(trained.issuperset(words_of(getattr(sentence, side))) for sentence in book.val + book.test)


def test_a_mistake_in_a_table_is_an_error_that_names_it() -> None:
    for ask, name in ((nouns, "drinkable"), (adjectives, "colourful"), (frames, "sometimes")):
        with pytest.raises(ValueError, match=name):
            ask(name)
    mistakes = {
        "drinkable": "",
        "sometimes": "c=do plan you sometimes",
        "shall": "c=do plan +shall",
        "c=say x": "c=say x",
    }
    for name, where in mistakes.items():
        with pytest.raises(ValueError, match=rf"patterns.tsv.*{name}"):
            Pattern(1, where, "{c}" if where else "{drinkable}", "").make(Random(1))
    with pytest.raises(ValueError, match="repeats a word"):
        Pattern(1, "", "{male} und {female} oder Anna und Peter und {city} und {city}", "x").make(Random(1))


def test_sizes_that_cannot_be_given_are_errors_that_say_so() -> None:
    with pytest.raises(ValueError, match=f"gives only {MOST_SENTENCES:,}"):
        phrasebook(train_pairs=10_000_000)
    with pytest.raises(ValueError, match=r"only .* can be said"):
        phrasebook(train_pairs=20, held_out_pairs=300)
    with pytest.raises(ValueError, match="negative"):
        phrasebook(train_pairs=-1)
