"""Which language is a text in? A text flows in; languages with confidences flow out, the most probable first.

If a package that tells languages is installed (see `nmt.text.languages`), it tells. Else only the scripts are
looked at: Cyrillic text isn't German, but German can't be told from English: all languages of the models with the
text's script are equally probable.
"""

from collections import Counter
from collections.abc import Sequence

from nmt.server.codes import find_code
from nmt.text.languages import LATIN, Guess, identifier, script_of, scripts_of, short_code

MOST_CHARACTERS = 2_000  # that are looked at


def detect(text: str, languages: Sequence[str]) -> list[Guess]:
    """The probable languages of a text among those of the models, best first; empty if it is none of them, or has no
    letters."""
    text = text[:MOST_CHARACTERS]
    if not any(character.isalpha() for character in text):
        return []
    found: dict[str, float] = {}
    found_by = identifier()
    for code, probability in found_by.rank(text) if found_by else by_script(text, languages):
        known = find_code(code, languages)
        if known and known not in found:
            found[known] = probability
    return sorted(found.items(), key=lambda guess: -guess[1])[:5]


def likeliest(text: str, languages: Sequence[str]) -> Guess:
    """The most probable language of a text; the first one, with no confidence, if nothing is known of it."""
    return (detect(text, languages) or [(languages[0], 0.0)])[0]


def by_script(text: str, languages: Sequence[str]) -> list[Guess]:
    """Guesses by the script alone."""
    counts = Counter(script_of(character) for character in text if character.isalpha())
    [(script, count)] = counts.most_common(1)
    if counts["HIRAGANA"] + counts["KATAKANA"]:  # Japanese has both kana and characters of Chinese
        script, count = "HIRAGANA", counts["HIRAGANA"] + counts["KATAKANA"] + counts["CJK"]
    fitting = [language for language in languages if script in (scripts_of(language) or LATIN)]
    if script == "CJK":  # Korean has no text of Chinese characters alone
        fitting = [language for language in fitting if short_code(language) != "ko"]
    return [(language, count / counts.total() / len(fitting)) for language in fitting]
