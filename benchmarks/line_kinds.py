"""How often each kind of line occurs in text that people wrote: files of lines flow in, counts per 1,000 flow out.

    python -m benchmarks.line_kinds texts/de.po.txt texts/de.help.txt texts/ja.po.txt

A file is named LANGUAGE.GENRE.txt and has a text on each line. The kinds are those of `benchmarks.text_kinds` that
`benchmarks.steps` weighs, by the same names. A line may be of several.
"""

import html
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, cached_property, partial
from pathlib import Path
from random import Random
from typing import Literal

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from nmt.text.items import find_items
from nmt.text.markup import is_markup
from nmt.text.scripts import UNSPACED, WORD
from nmt.text.sentences import split_clauses, split_sentences

LETTERS_OF_WORD = 2  # in scripts without spaces
RARE = 10_000  # lines: a letter is rare if fewer than one of so many lines has it
UMLAUTS = {"ae": "ä", "oe": "ö", "ue": "ü", "Ae": "Ä", "Oe": "Ö", "Ue": "Ü"}
OPENS, CLOSES = "\"'„“‚‘«»‹›「『`", "\"'”“’‘»«›‹」』`"
AROUND = ("„“", "„”", "“”", "””", "«»", "»«", "‹›", "‚‘", "‘’", '""', "''", "「」", "『』", "《》")
EAST_ASIAN = ("IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "HALFWIDTH", "FULLWIDTH")
FORMS = {"placeholder {name}": "{", "placeholder %s": "%", "placeholder ${x}": "$"}
PATTERNS = {
    "word in quotes „…“": "„[^„“”]{1,200}[“”]",
    "word in quotes «…»": "«[^«»]{1,200}»|»[^«»]{1,200}«",
    "word in quotes “…”": "(?<!„)“[^„“”]{1,200}”",
    'word in quotes "…"': r'(?<![\w="])"[^"<>]{1,200}"(?!\w)',
    "word in quotes '…'": r"(?<![\w='])'[^\s'](?:[^']{0,80}[^\s'])?'(?![\w'])",
    "tab between sentences": r"\S\t+\S",
    "list item -": r"^\s*[-–—]\s+\w",
    "list item •": r"^\s*[*•·‣▪●○◦■□◆◇➤►▶→✓✔]\s*[^\W_]",
    "list item 1.": r"^\s*\d{1,3}\.\s+[^\W\d]",
    "section number 5.2": r"^\s*\d{1,3}(?:\.\d{1,3})+\.?\s+[^\W\d]",
    "list item 1) or a)": r"^\s*\(?(?:\d{1,3}|[a-zA-Z])\)\s+\w",
    "Markdown heading": r"^#{1,6} \w",
    "quoted reply >": r"^\s*>+\s?\w",
    "speaker Anna:": r"^[^\s:：_\d()<>{}\[\]=/.\\\"'*%&|-]{1,20}(?:: |： ?)[^\W\d_]",
    "footnote [1]": r"(?:[.,;:!?)»”\"]\s?|[^\W\d_] )\[\d{1,3}\](?![\w\[(])|[^\W_]\[\d{1,3}\][.,]?\s*\Z",
    "indented": r"^[ \t]+\S",
    "!!!": r"[!?！？؟]{2}",
    "ellipsis": r"(?:\.{3}|…)\W*\Z",
    "smiley": r"(?<!\S)(?:[:;=]['^o-]?[)(\]\[DPp|/\\]+|\^_?\^|<3)(?!\S)",
    "sentence in brackets": r"^\s*(?:\([^()]+\)|\[[^\[\]]+\]|（[^（）]+）|【[^【】]+】)\W?\s*\Z",
    "no-break space": "\u00a0",
    "narrow no-break space": "[\u202f\u2009]",
    "double blank": r"\S  +\S",
    "soft hyphen": "\u00ad",
    "zero-width space": "[\u200b\u2060]",
    "byte-order mark": "\ufeff",
    "ligature": "[\ufb00-\ufb06]",
    "U+FFFD for an umlaut": "\ufffd",
    "scan: stray mark": r"[^\W\d_] [|¦] [^\W\d_]",
    "full-width figures": "[\uff10-\uff19]",
    "digits of another script": r"(?![0-9\uff10-\uff19])\d",
    "figures": r"\d",
    "Markdown bold": r"\*\*[^\s*][^*]*(?<!\s)\*\*",
    "Markdown link": r"\[[^\[\]]+\]\([^()\s]+\)",
    "Markdown code": r"(?<!`)`[^`'\s][^`']*`",
}
MARKUP = {
    "inline tags": r"</(?!p|div|li|td|h[1-6])[a-z]|<(?:img|media|br|emph|span)\b",
    "paragraph tags": "(?i)</?(?:p|div|li|td|h[1-6])[ >]",
    "line break tag": "(?i)<br ?/?>",
    "entity amp": "&amp;",
    "entity nbsp": "&(?:nbsp|#160|#xA0);",
}
UNSPACED_LETTER = re.compile(rf"(?=[{UNSPACED}])[^\W\d_]")
DIVIDED = re.compile(r"(?<![\w-])([^\W\d_]{2,})[-\u00ac\u2010] ([^\W\d_]{2,})(?![\w-])")
MISREAD = re.compile(r"(?<![\w./-])[^\W\d_]+[015]+[^\W\d_]+(?![\w./-])")
FINAL = re.compile(r"[.!?…。！？।۔؟:：;；,、،–—-][\s\"'”’“»›)\]」』）】`*]*\Z")
TAG, BLOCK = re.compile("<[^<>]*>"), re.compile("(?i)</?(?:p|br|li|ul|ol|td|tr|div|para|h[1-6])[ />][^<>]*>?")
AMID = re.compile(r"(?<=[^\W\d_] )[^\W\d_]+|(?<=[^\W\d_], )[^\W\d_]+")  # words after a word
Suits = Callable[[str, str, str], object]


class Corpus:
    """What the files of a language have in common."""

    def __init__(self, language: str, lines: Sequence[str]) -> None:
        self.language = language
        self.words = Counter(word for line in lines for word in WORD.findall(line))
        self.amid = Counter(word for line in lines for word in AMID.findall(line))
        self.lines_with = Counter(letter for line in lines for letter in set(line) if letter.isalpha())
        self.rare = frozenset(letter for letter, n in self.lines_with.items() if n * RARE < len(lines))
        scripts = Counter[str]()
        for letter, n in self.lines_with.items():
            scripts[script(letter)] += n if script(letter) != "LATIN" else n // 4  # names, commands and English
        self.script = scripts.most_common(1)[0][0]
        self.has_capitals = self.script in ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN", "CHEROKEE")

    def prefers(self, other: str, word: str, *, amid: bool = False) -> bool:
        """Whether the corpus has the other spelling of a word more often, and at least twice; `amid`: in sentences."""
        counts = self.amid if amid else self.words
        return other != word and counts[other] > max(1, counts[word])


@cache
def script(letter: str) -> str:
    """The script of a letter, by its name; one for Han, kana and Hangul."""
    first = unicodedata.name(letter, "?").split()[0]
    return "CJK" if first in EAST_ASIAN else first


class Line:
    """A line, and what kinds ask of it."""

    def __init__(self, raw: str, corpus: Corpus) -> None:
        """`text`: what is seen of the line, if it is mark-up."""
        self.raw, self.corpus = raw, corpus
        self.is_markup = is_markup(raw, "auto")
        self.text = text = html.unescape(TAG.sub("", BLOCK.sub("\n", raw))) if self.is_markup else raw
        self.items = find_items(text)
        self.sentences = split_sentences(text.strip())
        ends = [0, *(item.end for item in self.items)]
        starts = [*(item.start for item in self.items), len(text)]
        self.prose = " ".join(text[end:start] for end, start in zip(ends, starts, strict=True))
        self.words = [word for word in WORD.findall(self.prose) if any(map(str.isalpha, word))]
        self.bare = [word for word in (part.strip(".,;:!?()") for part in self.prose.split()) if word.isalpha()]
        self.cased = [word for word in self.words if word.upper() != word.lower()]
        self.scripts = {script(letter) for letter in self.prose if letter.isalpha()} - {"MODIFIER", "FEMININE", "MICRO"}
        unspaced = len(UNSPACED_LETTER.findall(self.prose))
        self.n_words = sum(not UNSPACED_LETTER.match(word) for word in self.words) + unspaced / LETTERS_OF_WORD

    @property
    def is_quoted(self) -> bool:
        """Whether one pair of quotes stands around the line, whose final stop may follow."""
        bare = self.text.strip(" .")
        marks, inside = bare[:1] + bare[-1:], bare[1:-1]
        return marks in AROUND and not set(marks) & set(inside)

    @cached_property
    def joints(self) -> str:
        """Marks and blanks between clauses that are translated alone."""
        return "".join(blank for _, blank in split_clauses(self.text.strip()))

    def has_item(self, kind: str, suits: Suits = lambda *_: True) -> bool:
        """Whether the line has an item of a kind that suits: given the text before it, the item, and the text after."""
        found = (item for item in self.items if item.kind == kind)
        return any(suits(self.text[: item.start], item.text, self.text[item.end :]) for item in found)


Detector = Callable[[Line], object]


def sentences() -> dict[str, Detector]:
    """How many sentences, and what ends them."""
    return {
        "two sentences": lambda line: len(line.sentences) == 2,
        "five sentences": lambda line: 5 <= len(line.sentences) < 20,
        "twenty sentences": lambda line: len(line.sentences) >= 20,
        "no blank after the stop": lambda line: any(not blank and s[-1] in ".!?" for s, blank in line.sentences[:-1]),
        "dash between sentences": lambda line: not set(line.joints).isdisjoint("-–—"),
        "semicolon between sentences": lambda line: ";" in line.joints,
        "no final stop": lambda line: line.n_words >= 4 and not FINAL.search(line.text),
        "lone word": lambda line: 0 < line.n_words <= 1 and not line.items,
        "sentence in quotes": lambda line: line.n_words > 1 and line.is_quoted and "_" not in line.text,
    }


def cases() -> dict[str, Detector]:
    """Kinds of scripts that have capitals. Words are in an unusual case where the corpus mostly has another."""

    def unusual(line: Line, change: Callable[[str], str], words: Sequence[str]) -> bool:
        return any(line.corpus.prefers(change(word), word, amid=True) for word in words)

    def in_capitals(line: Line) -> bool:
        is_upper = line.prose.isupper() and sum(len(word) > 2 for word in line.bare) > 1
        return is_upper and any(unusual(line, change, line.bare) for change in (str.lower, str.capitalize))

    def in_title_case(line: Line) -> bool:
        is_title = len(line.cased) > 2 and all(word[0].isupper() and word[1:].islower() for word in line.cased)
        is_path = re.search("[-–—→▸>:/(]", line.text)  # "File > Save As" and "Figure 1: Save As" are in no unusual case
        return is_title and not is_path and unusual(line, str.lower, line.cased[1:])

    def lacks_capitals(line: Line) -> bool:
        return line.prose.islower() and len(line.bare) > 2 and unusual(line, str.capitalize, line.bare)

    return {"in capitals": in_capitals, "Title Case": in_title_case, "all lower case": lacks_capitals}


def spellings() -> dict[str, Detector]:
    """Damaged text, and letters that a vocabulary may lack."""
    tables = ({"1": "l", "0": "o", "5": "s"}, {"1": "i", "0": "O", "5": "S"})

    def is_misread(line: Line) -> bool:
        found = (
            (word, word.translate(str.maketrans(table))) for word in MISREAD.findall(line.prose) for table in tables
        )
        return any(line.corpus.prefers(other, word) for word, other in found)

    def lacks_umlauts(line: Line) -> bool:
        pairs = ((word, re.sub("[aouAOU]e", lambda match: UMLAUTS[match[0]], word)) for word in line.words)
        return any(line.corpus.prefers(other, word) for word, other in pairs)

    def is_decoded_wrongly(line: Line) -> bool:
        try:
            return not line.text.isascii() and line.text.encode("cp1252").decode() != line.text
        except UnicodeError:
            return False

    return {
        "decomposed accents": lambda line: len(unicodedata.normalize("NFC", line.text)) < len(line.text),
        "UTF-8 read as Latin-1": is_decoded_wrongly,
        "scan: hyphen and blank": lambda line: any(line.corpus.words[a + b] > 1 for a, b in DIVIDED.findall(line.text)),
        "scan: 1 for l": is_misread,
        "ae, oe, ue": lacks_umlauts,
        "rare letter": lambda line: not line.corpus.rare.isdisjoint(line.prose),
        "target language": lambda line: line.scripts == {"LATIN"} != {line.corpus.script},
        "other alphabets": lambda line: line.scripts - {"LATIN", line.corpus.script},
        "digits and marks": lambda line: not line.scripts,
    }


def items() -> dict[str, Detector]:
    """What comes through unchanged."""

    def begins(signs: str, before: str, item: str, after: str) -> bool:
        return item[0] in signs

    def in_quotes(before: str, item: str, after: str) -> bool:
        return before[-1:] in OPENS and after[:1] in CLOSES if before and after else False

    def in_brackets(before: str, item: str, after: str) -> bool:
        return before[-1:] + after[:1] in ("()", "[]", "（）")

    def holder(suits: Suits) -> Detector:
        return lambda line: line.has_item("placeholder", suits)

    return {
        "emoji": lambda line: line.has_item("emoji"),
        "emoji only": lambda line: line.has_item("emoji") and not line.prose.strip(),
        **{name: holder(partial(begins, signs)) for name, signs in FORMS.items()},
        "placeholder in quotes": holder(in_quotes),
        "placeholder in brackets": holder(in_brackets),
        "URL in brackets": lambda line: line.has_item("url", in_brackets),
        "URL alone": lambda line: line.has_item("url") and not any(map(str.isalnum, line.prose)),
        "e-mail in brackets": lambda line: line.has_item("email", in_brackets),
    }


def kinds() -> dict[str, Detector]:
    """All kinds, by name."""
    seen = {name: finds(pattern) for name, pattern in PATTERNS.items()}
    tags = {name: finds(pattern, "raw") for name, pattern in MARKUP.items()}
    return sentences() | cases() | seen | spellings() | tags | items()


def finds(pattern: str, part: Literal["text", "raw"] = "text") -> Detector:
    search = re.compile(pattern).search
    return lambda line: search(getattr(line, part))


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="LANGUAGE.GENRE.txt")
    parser.add_argument("--lines", type=int, default=20_000, help="of each file, by chance")
    parser.add_argument("--jobs", type=int, help="languages at once; otherwise one for each core")
    args = parser.parse_args()
    by_language = defaultdict[str, list[Path]](list)
    for file in args.files:
        by_language[file.name.split(".")[0]].append(file)
    with ProcessPoolExecutor(args.jobs) as pool:
        measured = list(pool.map(partial(measure, n_lines=args.lines), by_language, by_language.values()))
    keep((row for part in measured for row in part), args)
    return 0


def measure(language: str, files: Sequence[Path], n_lines: int) -> list[Row]:
    """A row for each file of a language."""
    texts = [file.read_text(encoding="utf8", errors="replace").removesuffix("\n").split("\n") for file in files]
    corpus = Corpus(language, [line for lines in texts for line in lines])
    rows = list[Row]()
    for file, lines in zip(files, texts, strict=True):
        chosen = Random(1).sample(lines, min(n_lines, len(lines)))
        names = {"benchmark": "line_kinds", "language": language, "genre": file.name.split(".")[1]}
        counts = {kind: round(1000 * n / len(chosen), 2) for kind, n in hits(chosen, corpus).items()}
        rows.append(names | {"lines": len(chosen), "per_1000": counts})
    return rows


def hits(lines: Sequence[str], corpus: Corpus) -> dict[str, int]:
    """How many lines are of each kind that this language can have."""
    left_out = {
        *(() if corpus.has_capitals else cases()),
        *(() if corpus.script != "LATIN" else ("target language",)),
        *(() if corpus.language == "de" else ("ae, oe, ue",)),
    }
    made = [Line(line, corpus) for line in lines]
    return {kind: sum(map(bool, map(suits, made))) for kind, suits in kinds().items() if kind not in left_out}


if __name__ == "__main__":
    run_script(main)
