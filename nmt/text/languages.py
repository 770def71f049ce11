"""The scripts in which languages are written."""

import unicodedata
from functools import lru_cache

# By the codes of ISO 639; a code may be followed by a script or region (zh_Hant, sr-Latn). Other languages: Latin.
SCRIPTS = {
    "ARABIC": "ar arz ary apc ckb fa ps sd ug ur ks pnb",
    "ARMENIAN": "hy hyw",
    "BENGALI": "as bn bpy mni",
    "CYRILLIC": "ab ba be bg ce cv kk ky mk mn os ru sah tg tt tyv udm uk",
    "CYRILLIC LATIN": "az crh kaa sr sh tk uz",
    "DEVANAGARI": "awa bho brx doi gom hi mai mr ne new sa",
    "ETHIOPIC": "am ti",
    "GEORGIAN": "ka xmf",
    "GREEK": "el grc",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL CJK": "ko",
    "HEBREW": "he iw yi",
    "HIRAGANA KATAKANA CJK": "ja",
    "CJK BOPOMOFO": "zh yue wuu nan lzh",
    "KANNADA": "kn tcy",
    "KHMER": "km",
    "LAO": "lo",
    "MALAYALAM": "ml",
    "MYANMAR": "my shn",
    "ORIYA": "or ory",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAANA": "dv",
    "THAI": "th",
    "TIBETAN": "bo dz",
}
BY_LANGUAGE = {code: frozenset(scripts.split()) for scripts, codes in SCRIPTS.items() for code in codes.split()}
BY_TAG = {"Latn": "LATIN", "Cyrl": "CYRILLIC", "Arab": "ARABIC", "Deva": "DEVANAGARI", "Hans": "CJK", "Hant": "CJK"}


def scripts_of(code: str) -> frozenset[str]:
    """The scripts of a language, by the first words of the names of their letters in Unicode. `code`: of the language,
    perhaps with its script (sr-Latn)."""
    language, *tags = code.replace("_", "-").split("-")
    named = {BY_TAG[tag] for tag in tags if tag in BY_TAG}
    return frozenset(named) or BY_LANGUAGE.get(language.lower(), frozenset(("LATIN",)))


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """The first word of the name of a letter in Unicode, such as LATIN; empty for other characters."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    return name.split(" ")[0].split("-")[0]


def share_in(text: str, scripts: frozenset[str]) -> float:
    """The share of the letters of a text that are of these scripts; 1 for a text without letters."""
    if text.isascii():
        return 1.0 if "LATIN" in scripts or not any(map(str.isalpha, text)) else 0.0
    found = [script for script in map(script_of, text) if script]
    return sum(script in scripts for script in found) / len(found) if found else 1.0
