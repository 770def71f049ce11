"""English word forms, from spelling rules and short tables of exceptions.

In flow dictionary forms ("drink", "child", "old"), out flow the forms of a sentence ("drank", "children", "older").
"""

import re
from typing import Literal

Agreement = Literal["I", "he", "they"]
"""Which present-tense form a subject takes: "I" (am), "he" (is, drinks) or "they" (are, drink; also "you" and "we")."""

IRREGULAR_VERBS = """
be was been; become became become; begin began begun; break broke broken; bring brought brought; build built built;
buy bought bought; choose chose chosen; come came come; cost cost cost; cut cut cut; do did done; draw drew drawn;
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed fed; feel felt felt; find found found;
fly flew flown; forget forgot forgotten; get got got; give gave given; go went gone; hang hung hung; have had had;
hear heard heard; hurt hurt hurt; keep kept kept; know knew known; leave left left; lend lent lent; lie lay lain;
lose lost lost; make made made; meet met met; pay paid paid; put put put; read read read; ride rode ridden;
run ran run; say said said; see saw seen; sell sold sold; send sent sent; set set set; show showed shown;
sing sang sung; sit sat sat; sleep slept slept; speak spoke spoken; spend spent spent; stand stood stood;
steal stole stolen; swim swam swum; take took taken; teach taught taught; tell told told; think thought thought;
understand understood understood; wake woke woken; wear wore worn; win won won; write wrote written
"""
VERB_FORMS = [forms.split() for forms in IRREGULAR_VERBS.split(";")]
FORMS = {  # of verbs: irregular ones, and the suffix of others
    "third": ({"be": "is", "have": "has", "do": "does", "go": "goes"}, "s"),
    "past": ({verb: past for verb, past, _ in VERB_FORMS}, "ed"),
    "participle": ({verb: participle for verb, _, participle in VERB_FORMS}, "ed"),
    "ing": ({"be": "being", "see": "seeing", "lie": "lying"}, "ing"),
}
DOUBLING = "begin chat cut forget get hop jog plan put run set shop sit skip stop swim win travel cancel"
IRREGULAR_PLURALS = """
child children; foot feet; knife knives; loaf loaves; man men; mouse mice; potato potatoes; scarf scarves; sheep sheep;
shelf shelves; tomato tomatoes; tooth teeth; wife wives; woman women; photo photos
"""
PLURALS = {forms.split()[0]: forms.split()[1] for forms in IRREGULAR_PLURALS.split(";")}
COMPARISON = {
    "good": ("better", "best"),
    "bad": ("worse", "worst"),
    "far": ("further", "furthest"),
    "quiet": ("quieter", "quietest"),
    "clever": ("cleverer", "cleverest"),
    "well-known": ("better known", "best-known"),
    "shy": ("shyer", "shyest"),
}
VOWELS = "aeiou"
SILENT_H = ("hour", "honest")
YOU_SOUND = ("uni", "use", "euro", "one")
NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety
"""
ONES, TENS = NUMBERS.split()[:20], NUMBERS.split()[20:]
ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
ORDINALS["twelve"] = "twelfth"


def inflected(verb: str, form: Literal["third", "past", "participle", "ing"]) -> str:
    """Inflects the head of a verb phrase: "get up" → "got up"."""
    irregular, suffix = FORMS[form]
    head, space, rest = verb.partition(" ")
    return (irregular.get(head) or suffixed(head, suffix)) + space + rest


def plural(noun: str) -> str:
    """The plural of a noun; of "glass of water" it is "glasses of water"."""
    if " of " in noun:
        head, _, rest = noun.partition(" of ")
        return f"{plural(head)} of {rest}"
    first, space, last = noun.rpartition(" ")
    return first + space + (PLURALS.get(last) or suffixed(last, "s"))


def with_article(words: str) -> str:
    """Puts "a" or "an" before the words, by the sound of the first."""
    vowel_sound = words[0].lower() in VOWELS and not words.lower().startswith(YOU_SOUND)
    return f"an {words}" if vowel_sound or words.lower().startswith(SILENT_H) else f"a {words}"


def comparison(adjective: str) -> tuple[str, str]:
    """Comparative and superlative."""
    regular = suffixed(adjective, "er"), suffixed(adjective, "est")
    regular = regular if is_short(adjective) else (f"more {adjective}", f"most {adjective}")
    return COMPARISON.get(adjective, regular)


def possessive(owner: str, plural: bool) -> str:
    return f"{owner}'" if plural and owner.endswith("s") else f"{owner}'s"


def number(value: int) -> str:
    """A number from 0 to 999 in words: 142 → "one hundred and forty-two"."""
    if value < 20:
        return ONES[value]
    if value < 100:
        tens = TENS[value // 10 - 2]
        return f"{tens}-{ONES[value % 10]}" if value % 10 else tens
    hundreds = f"{ONES[value // 100]} hundred"
    return f"{hundreds} and {number(value % 100)}" if value % 100 else hundreds


def ordinal(value: int) -> str:
    """An ordinal from 1 to 99 in words: 21 → "twenty-first"."""
    first, hyphen, last = number(value).rpartition("-")
    if last in ORDINALS:
        return first + hyphen + ORDINALS[last]
    return first + hyphen + (last[:-1] + "ieth" if last.endswith("y") else last + "th")


def be(agreement: Agreement, is_past: bool = False) -> str:
    if is_past:
        return "were" if agreement == "they" else "was"
    return {"I": "am", "he": "is", "they": "are"}[agreement]


def negated(auxiliary: str) -> str:
    """An auxiliary with its negation: "can" → "can't"; "am" alone takes a whole "not"."""
    return {"am": "am not", "can": "can't", "will": "won't"}.get(auxiliary, f"{auxiliary}n't")


def suffixed(word: str, suffix: str) -> str:
    """Adds -s, -ed, -ing, -er or -est with the spelling changes that it brings."""
    consonant_y = word.endswith("y") and word[-2] not in VOWELS
    if suffix == "s":
        if consonant_y:
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "go")) else "s")
    if consonant_y and suffix != "ing":
        return word[:-1] + "i" + suffix
    if word.endswith("e") and not word.endswith("ee"):
        return word[:-1] + suffix
    is_closed = len(word) >= 3 and word[-1] not in "aeiouwxy" and word[-2] in VOWELS and word[-3] not in VOWELS
    if word in DOUBLING.split() or (suffix in ("er", "est") and is_closed):  # big, hot, thin
        return word + word[-1] + suffix
    return word + suffix


def is_short(adjective: str) -> bool:
    """True of adjectives that take -er and -est: one syllable, or two with a final -y."""
    silent_e = adjective.endswith("e") and not adjective.endswith("le")
    syllables = len(re.findall("[aeiouy]+", adjective)) - silent_e
    return syllables <= 1 or (syllables == 2 and adjective.endswith("y"))
