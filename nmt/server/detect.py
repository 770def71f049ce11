"""Which language is a text in? A text flows in; languages with confidences flow out, the most probable first.

If a package that tells languages is installed (see `nmt.text.identification`), it tells. Else only the scripts are
looked at: Cyrillic text isn't German, but German can't be told from English: all languages of the models with the
text's script are equally probable.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from nmt.server.codes import find_code, plain
from nmt.text.identification import Guess, identifier

SCRIPTS = {  # of languages that aren't written in Latin script: as the names of Unicode's characters begin
    "ARABIC": "ar fa ur ps sd ug ku",
    "ARMENIAN": "hy",
    "BENGALI": "bn as",
    "CJK": "zh ja",
    "CYRILLIC": "ru uk bg sr mk be kk ky mn tg tt ba",
    "DEVANAGARI": "hi mr ne sa",
    "ETHIOPIC": "am ti",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he iw yi",
    "HIRAGANA": "ja",
    "KANNADA": "kn",
    "KATAKANA": "ja",
    "KHMER": "km",
    "LAO": "lo",
    "MALAYALAM": "ml",
    "MYANMAR": "my",
    "ORIYA": "or",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAANA": "dv",
    "THAI": "th",
    "TIBETAN": "bo",
}
OTHERS = {language for languages in SCRIPTS.values() for language in languages.split()}
MOST_CHARACTERS = 2_000  # that are looked at


def detect(text: str, languages: Sequence[str]) -> list[Guess]:
    """The probable languages of a text among those of the models, best first; empty if it is none of them, or has no
    letters."""
    text = text[:MOST_CHARACTERS]
    if not any(character.isalpha() for character in text):
        return []
    found: dict[str, float] = {}
    found_by = identifier()
    for code, probability in (found_by.rank if found_by else by_script(languages))(text):
        known = find_code(code, languages)
        if known and known not in found:
            found[known] = probability
    return sorted(found.items(), key=lambda guess: -guess[1])[:5]


def by_script(languages: Sequence[str]) -> Callable[[str], list[Guess]]:
    """Guesses by the script alone."""

    def guess(text: str) -> list[Guess]:
        names = (unicodedata.name(c, "").partition(" ")[0] for c in text if c.isalpha())
        counts = Counter(names)
        [(script, count)] = counts.most_common(1)
        if counts["HIRAGANA"] + counts["KATAKANA"]:  # Japanese has both kana and characters of Chinese
            script, count = "HIRAGANA", counts["HIRAGANA"] + counts["KATAKANA"] + counts["CJK"]
        written = set(SCRIPTS.get(script, "").split())
        bases = {language: plain(language).partition("-")[0] for language in languages}
        fitting = [one for one, base in bases.items() if (base in written if written else base not in OTHERS)]
        return [(one, count / counts.total() / len(fitting)) for one in fitting]

    return guess
