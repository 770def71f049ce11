"""From the words of a German sentence to their dictionary forms, as far as they are content words.

In flow sentences, out flow words such as ("Mutter", "Suppe", "kochen"), by which the splits tell combinations apart.
"""

from functools import cache

from nmt.data.phrasebook import german
from nmt.data.phrasebook.lexicon import ADJECTIVES, LISTS, NOUNS, VERBS, Adjective, verb

FUNCTION_VERBS = ("sein", "haben", "werden")
ENDINGS = ("", "e", "en", "em", "er", "es")
NAMES = ("female", "male", "surname", "city", "country", "month", "weekday", "weekend")
SURNAMES = frozenset(form for name, _ in LISTS["surname"] for form in (name, f"{name}s"))
NOT_CONTENT = ("Sie", "Ihnen", "Ihr", "Ihre", "Ihren", "Ihrem", "Ihrer", "Ihres", "Herr", "Herrn", "Uhr")
NUMBERS = {german.number(value): german.number(value) for value in range(2, 1000)} | {
    german.ordinal(value) + ending: german.ordinal(value) for value in range(1, 32) for ending in ("e", "en")
}


@cache
def lemmas() -> dict[str, str]:
    """The dictionary form of every word form that the tables can make; "" for times of day and the like."""
    found = dict(NUMBERS)
    for action in map(verb, VERBS):
        lemma = "" if action.verb.infinitive in FUNCTION_VERBS else action.verb.infinitive
        found.update(dict.fromkeys(verb_forms(action.verb), lemma))
    for adjective in ADJECTIVES:
        found.update(dict.fromkeys(adjective_forms(adjective), adjective.german[0]))
    for noun in NOUNS:
        forms = [*noun.forms(False), *(noun.forms(True) if noun.plural else ())]
        lemma = "" if "time" in noun.classes else noun.german.split()[0]
        found.update(dict.fromkeys((form.split()[0] for form in forms), lemma))
    for name in NAMES:
        found.update({form: word for word, _ in LISTS[name] for form in (word, f"{word}s")})
    return found | dict.fromkeys(NOT_CONTENT, "")


def verb_forms(verb: german.Verb) -> list[str]:
    forms = [verb.infinitive, verb.imperative(), *(german.present(verb, person) for person in range(6))]
    joined = [verb.prefix.split()[-1] + form for form in forms] if verb.prefix else []
    return [*forms, *joined, *verb.participle.split()[-1:], *verb.with_zu().split()[-1:]]


def adjective_forms(adjective: Adjective) -> list[str]:
    stems = [*adjective.german, german.ATTRIBUTIVE_STEMS.get(adjective.german[0], adjective.german[0])]
    return [*adjective.german, *(stem.removesuffix("e") + ending for stem in stems for ending in ENDINGS)]


def content_words(sentence: str) -> tuple[str, ...]:
    """The dictionary forms of the content words of a sentence, in its order.

    Verbs, adjectives, names and numbers are those of the tables; any other word with a capital is a noun.
    """
    words = [word.strip(".,?!:") for word in sentence.split()]
    known = lemmas()
    found = [known.get(word, word if word[:1].isupper() else "") for word in words]
    first = words[0][0].lower() + words[0][1:]
    found[0] = known.get(first) or known.get(words[0], "")  # "Spielen Sie …" is the verb, not the dative of Spiele
    titles = [word == "Frau" and following in SURNAMES for word, following in zip(words, [*words[1:], ""], strict=True)]
    return tuple(word for word, is_title in zip(found, titles, strict=True) if word and not is_title)
