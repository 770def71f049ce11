"""Kinds of lines that people paste: sentences with right translations flow in, changed lines with theirs flow out.

A change says what the translation must then be:

- Another spelling (no-break blanks, soft hyphens, ligatures, errors of scanned pages …) changes nothing.
- Marks around a sentence or at its end (quotes, brackets, list marks, blanks, line ends …) stand around its
  translation.
- What is put around, after or in the place of a word (tags, addresses, placeholders, amounts …) stands at the
  translation of this word: a name or, in German, a noun, which occurs once in each text (see `lexicon`).
- Of several sentences all are translated, in their order.
- What is no text in the source language comes through unchanged.

Before two translations are compared, `normalised` makes alike what a reader sees as equal.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from nmt.data.cleaning.cleaner import Pair
from nmt.text.characters import unaccented

# By language: "and", and the numbers from 2, which sentences have as words.
WORDS = {
    "de": ["und", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"],
    "en": ["and", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
}
DATES = "24/12/2023 12/24/2023 2023-12-24 24_December_2023 24th_December_2023 December_24,_2023 December_24th,_2023"
URL, MAIL = "https://example.org/a?b=c", "first.last@example.org"
EMOJI = ("😀", "🐶", "🎸", "👍\U0001f3fd", "🇩🇪", "👩\u200d🚀", "❤\ufe0f", "5\ufe0f\u20e3")
# First and last letter: Cyrillic, Greek, Arabic, Devanagari, Han, hiragana.
ALPHABETS = ("\u0430\u044f", "\u03b1\u03c9", "\u0627\u064a", "\u0905\u0939", "\u4e00\u9fff", "\u3041\u3096")
SYLLABLE = re.compile("(?<=[a-zäöü]{2}[aeiouäöülmnr])(?=[bcdfghjklmnprstvwz][aeiouäöü][a-zäöüß])")
MARKS = ".,;:!?\"'"
ALIKE = {
    **dict.fromkeys("„“”«»", '"'),
    **dict.fromkeys("‚‘’‹›", "'"),
    **dict.fromkeys("‐‑‒–—―", "-"),
    **dict.fromkeys("\u00ad\u200b\u2060\ufeff\ufe0f", ""),
    "…": "...",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence whose plain translation is right."""

    source: str
    target: str
    words: tuple[Pair, ...] = ()
    """Names and nouns that occur once, with their translations, which occur once."""


@dataclass(frozen=True)
class Case:
    """A line, and all its right translations."""

    line: str
    right: tuple[str, ...]
    any_case: bool = False
    """Whether upper and lower case are alike."""
    blank: str = " "
    """A text that counts as a space."""

    def accepts(self, translation: str) -> bool:
        forms = [normalised(text.replace(self.blank, " ")) for text in (translation, *self.right)]
        answer, *right = [form.casefold() for form in forms] if self.any_case else forms
        return answer in right


Kind = Callable[[Sequence[Sentence], Random], Case | None]
"""Makes a case of the first of 20 sentences, or of several; None if the first doesn't suit."""
Change = Callable[[str, Random], str]
"""Another spelling of a sentence."""


def normalised(text: str) -> str:
    """The text with one form for all quotes, dashes, ellipses, digits and Unicode forms, with one space for all blanks
    between words, and without invisible characters. Line breaks and blanks at the ends of the text stay."""
    text = "".join(ALIKE.get(character, character) for character in unicodedata.normalize("NFC", text))
    text = "".join(str(unicodedata.decimal(character, character)) for character in text)
    return re.sub(r"(?<=\S)[^\S\r\n]+(?=\S)", " ", text)


def lexicon(pairs: Sequence[Pair]) -> dict[str, str]:
    """Words with one translation: both are in the same pairs (Dice coefficient above 0.9), and no other word of the
    translations is half as often in these pairs."""
    both, sources, targets = Counter[Pair](), Counter[str](), Counter[str]()
    for source, target in pairs:
        source_words, target_words = set(words(source)), set(words(target))
        sources.update(source_words)
        targets.update(target_words)
        both.update((s, t) for s in source_words for t in target_words)
    found = defaultdict[str, list[tuple[float, str]]](list)
    for (s, t), n in both.items():
        if n >= 5:
            found[s].append((2 * n / (sources[s] + targets[t]), t))
    ranked = {s: [*sorted(candidates, reverse=True), (0.0, "")] for s, candidates in found.items()}
    return {s: t for s, ((dice, t), (rival, _), *_) in ranked.items() if dice > 0.9 and rival < dice / 2}


def words(text: str) -> list[str]:
    return [word.strip(MARKS) for word in text.split()]


def sentence_of(pair: Pair, meanings: Mapping[str, str]) -> Sentence:
    """The pair with its names and nouns: capitalised words; at the beginning only those that stay the same."""
    source, target = map(words, pair)
    nouns = {s: meanings[s] for s in source if s in meanings and s[:1].isupper() and s in (meanings[s], *source[1:])}
    return Sentence(*pair, tuple((s, t) for s, t in nouns.items() if source.count(s) == target.count(t) == 1))


def replaced(text: str, old: str, new: str) -> str:
    """The text with another word in the place of the first one that is `old`."""
    return re.sub(rf"(?<!\S)(\W*){re.escape(old)}(?=\W*(?!\S))", lambda match: match[1] + new, text, count=1)


def spelled(change: Change, *, any_case: bool = False, blank: str = " ") -> Kind:
    def make(sentences: Sequence[Sentence], rng: Random) -> Case | None:
        first = sentences[0]
        line = change(first.source, rng)
        return Case(line, (first.target,), any_case, blank) if line != first.source else None

    return make


def around(before: str, after: str = "", *, also: Sequence[str] = ()) -> Kind:
    """A sentence with marks before and after it; `also`: right forms, in a translation, of the mark before it."""

    def make(sentences: Sequence[Sentence], rng: Random) -> Case:
        first = sentences[0]
        return Case(before + first.source + after, tuple(form + first.target + after for form in (before, *also)))

    return make


def at_word(form: str, *also: str) -> Kind:
    """Something around or after a WORD of the form; without it, in the place of a name. `also`: right forms, in a
    translation, of the form."""

    def make(sentences: Sequence[Sentence], rng: Random) -> Case | None:
        first = sentences[0]
        suitable = [(s, t) for s, t in first.words if "WORD" in form or s == t]
        if not suitable:
            return None
        word, meaning = rng.choice(suitable)
        right = tuple(replaced(first.target, meaning, one.replace("WORD", meaning)) for one in (form, *also))
        return Case(replaced(first.source, word, form.replace("WORD", word)), right)

    return make


def several(count: int, joint: str = " ", outside: tuple[str, str] = ("", ""), *, shortest: bool = False) -> Kind:
    """Several sentences with something between them; `shortest`: the shortest of 20 sentences."""

    def make(sentences: Sequence[Sentence], rng: Random) -> Case:
        ranked = sorted(sentences, key=lambda sentence: len(sentence.source)) if shortest else sentences
        sources, targets = zip(*((sentence.source, sentence.target) for sentence in ranked[:count]), strict=True)
        right = tuple(outside[0] + between.join(targets) + outside[1] for between in (joint, joint or " "))
        return Case(outside[0] + joint.join(sources) + outside[1], right)

    return make


def instead_of_stop(mark: str) -> Kind:
    """Two sentences with a mark in the place of the full stop; another mark will do in the translation."""

    def make(sentences: Sequence[Sentence], rng: Random) -> Case | None:
        first, second = sentences[:2]
        if not first.source.endswith("."):
            return None
        right = tuple(first.target[:-1] + mark + second.target for mark in (" — ", ", ", "; ", ". "))
        return Case(first.source[:-1] + mark + second.source, right, any_case=True)

    return make


def ending(mark: str, *also: str) -> Kind:
    """A sentence with something in the place of its full stop; `also`: other right ends of the translation."""

    def make(sentences: Sequence[Sentence], rng: Random) -> Case | None:
        first = sentences[0]
        right = tuple(first.target[:-1] + end for end in (mark, *also))
        return Case(first.source[:-1] + mark, right) if first.source[-1] == first.target[-1] == "." else None

    return make


def quoted(before: str, after: str) -> Kind:
    """A sentence in quotes; the full stop of the translation may be outside of them."""

    def make(sentences: Sequence[Sentence], rng: Random) -> Case:
        source, target = sentences[0].source, sentences[0].target
        return Case(before + source + after, (f'"{target}"', f'"{target[:-1]}"{target[-1]}'))

    return make


def lone_word(sentences: Sequence[Sentence], rng: Random) -> Case | None:
    """A word alone; an article, a full stop and case don't count."""
    if not sentences[0].words:
        return None
    word, meaning = rng.choice(sentences[0].words)
    right = tuple(article + meaning + end for article in ("", "the ", "a ", "an ") for end in ("", "."))
    return Case(word, right, any_case=True)


def figures(source: str, target: str, zero: str) -> Kind:
    """A number in figures in the place of a word, which will do in the translation; `zero`: the first figure."""
    numbers = {
        s: (n, t)
        for n, (s, t) in enumerate(zip(WORDS.get(source, []), WORDS.get(target, []), strict=False), 1)
        if n > 1
    }

    def make(sentences: Sequence[Sentence], rng: Random) -> Case | None:
        first = sentences[0]
        found = [word for word in words(first.source) if word in numbers]
        if len(found) != 1 or words(first.target).count(numbers[found[0]][1]) != 1:
            return None
        n, meaning = numbers[found[0]]
        digits = "".join(chr(ord(zero) + int(digit)) for digit in str(n))
        right = first.target, replaced(first.target, meaning, str(n))
        return Case(replaced(first.source, found[0], digits), right)

    return make


def ampersand(source: str, target: str) -> Kind:
    """&amp; in the place of "and" between two names or nouns; "and" will do in the translation."""
    source_and, target_and = (WORDS.get(language, ["&"])[0] for language in (source, target))

    def make(sentences: Sequence[Sentence], rng: Random) -> Case | None:
        first = sentences[0]
        joins_names = re.search(rf"[A-ZÄÖÜ]\w+ {source_and} [A-ZÄÖÜ]", first.source)
        if not joins_names or [words(first.source).count(source_and), words(first.target).count(target_and)] != [1, 1]:
            return None
        right = replaced(first.target, target_and, "&amp;"), first.target
        return Case(replaced(first.source, source_and, "&amp;"), right)

    return make


def unchanged(make_line: Callable[[Sequence[Sentence], Random], str]) -> Kind:
    """A line that is no text in the source language."""

    def make(sentences: Sequence[Sentence], rng: Random) -> Case:
        line = make_line(sentences, rng)
        return Case(line, (line,))

    return make


def gap(mark: str) -> Change:
    """Something else in the place of a space between two words."""

    def change(text: str, rng: Random) -> str:
        spaces = [match.start() for match in re.finditer(" ", text)]
        place = rng.choice(spaces) if spaces else len(text)
        return text[:place] + mark + text[place + 1 :]

    return change


def syllable(mark: str) -> Change:
    """A mark between two syllables of a word of 8 letters or more."""

    def change(text: str, rng: Random) -> str:
        long_words = re.finditer(r"\w{8,}", text)
        places = [place.start() for word in long_words for place in SYLLABLE.finditer(text, *word.span())]
        place = rng.choice(places) if places else len(text)
        return text[:place] + mark + text[place:] if places else text

    return change


def ligatures(text: str, rng: Random) -> str:
    return text.replace("ff", "ﬀ").replace("fi", "ﬁ").replace("fl", "ﬂ")


def without_umlauts(text: str, rng: Random) -> str:
    return text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")


def random_letters(sentences: Sequence[Sentence], rng: Random) -> str:
    """Up to 12 words of random letters of one alphabet."""
    first, last = map(ord, rng.choice(ALPHABETS))
    lengths = [rng.randint(1, 10) for _ in range(rng.randint(1, 12))]
    return " ".join("".join(chr(rng.randint(first, last)) for _ in range(length)) for length in lengths)


def make_kinds(source: str, target: str) -> dict[str, Kind]:
    """The kinds by name, for two languages."""
    return lines_and_sentences() | characters() | items(source, target)


def lines_and_sentences() -> dict[str, Kind]:
    """Several sentences, and what stands before, around or after one."""
    return {
        "plain": around(""),
        "two sentences": several(2),
        "three short sentences": several(3, shortest=True),
        "five sentences": several(5),
        "twenty sentences": several(20),
        "two paragraphs, CRLF": several(2, "\r\n\r\n", ("", "\r\n")),
        "no blank after the stop": several(2, ""),
        "tab between sentences": several(2, "\t"),
        "dash between sentences": instead_of_stop(" — "),
        "semicolon between sentences": instead_of_stop("; "),
        "list item -": around("- "),
        "list item 1.": around("1. "),
        "list item •": around("• "),
        "list item 1) or a)": around("a) "),
        "section number 5.2": around("5.2 "),
        "Markdown heading": around("## "),
        "quoted reply >": around("> "),
        "speaker Anna:": around("Anna: "),
        "footnote [1]": around("", "[1]"),
        "indented": around("    "),
        "blanks at both ends": around("  ", " \t"),
        "in capitals": spelled(lambda text, _: text.upper(), any_case=True),
        "Title Case": spelled(lambda text, _: re.sub(r"(?<!\S)\w", lambda m: m[0].upper(), text), any_case=True),
        "all lower case": spelled(lambda text, _: text.lower(), any_case=True),
        "lone word": lone_word,
        "no final stop": ending("", "."),
        "ellipsis": ending("…"),
        "!!!": ending("!!!", "!"),
        "smiley": around("", " :-)"),
        "emoji": around("", " 😀"),
        "sentence in quotes": quoted("„", "“"),
        "sentence in brackets": around("(", ")"),
        "word in quotes „…“": at_word("„WORD“"),
        "word in quotes «…»": at_word("«WORD»"),
        "word in quotes '…'": at_word("'WORD'"),
    }


def characters() -> dict[str, Kind]:
    """Other spellings, and damaged text."""
    return {
        "no-break space": spelled(gap("\u00a0")),
        "narrow no-break space": spelled(gap("\u202f")),
        "double blank": spelled(gap("  ")),
        "soft hyphen": spelled(syllable("\u00ad")),
        "zero-width space": spelled(syllable("\u200b")),
        "byte-order mark": around("\ufeff"),
        "decomposed accents": spelled(lambda text, _: unicodedata.normalize("NFD", text)),
        "ligature": spelled(ligatures),
        "U+FFFD for an umlaut": spelled(lambda text, _: re.sub("[äöüß]", "\ufffd", text, count=1)),
        "UTF-8 read as Latin-1": spelled(lambda text, _: text.encode().decode("cp1252", "replace")),
        "scan: hyphen and blank": spelled(syllable("- ")),
        "scan: 1 for l": spelled(lambda text, _: re.sub(r"(\w)l(?=\w)", r"\g<1>1", text, count=1)),
        "scan: stray mark": spelled(gap(" | "), blank="|"),
        "ae, oe, ue": spelled(without_umlauts),
        "without accents": spelled(lambda text, _: unaccented(text)),
        "unknown name": at_word("Nguyễn"),
    }


def items(source: str, target: str) -> dict[str, Kind]:
    """Numbers, mark-up, placeholders and addresses, and text that isn't in the source language."""
    return {
        "figures": figures(source, target, "0"),
        "full-width figures": figures(source, target, "０"),
        "digits of another script": figures(source, target, "٠"),
        "amount (12,50 €)": at_word(*(f"WORD ({sum_})" for sum_ in ("12,50 €", "12.50 €", "€12.50", "€ 12.50"))),
        "date 24.12.2023:": around("24.12.2023: ", also=[f"{date.replace('_', ' ')}: " for date in DATES.split()]),
        "inline tags": at_word("<b>WORD</b>"),
        "paragraph tags": several(2, "</p><p>", ("<p>", "</p>")),
        "line break tag": several(2, "<br>"),
        "entity amp": ampersand(source, target),
        "entity nbsp": spelled(gap("&nbsp;"), blank="&nbsp;"),
        "Markdown bold": at_word("**WORD**"),
        "Markdown link": at_word(f"[WORD]({URL})"),
        "Markdown code": at_word("`get_name()`"),
        "placeholder {name}": at_word("{name}"),
        "placeholder %s": at_word("%s"),
        "placeholder ${x}": at_word("${x}"),
        "placeholder in quotes": at_word('"%s"'),
        "placeholder in brackets": at_word("WORD ({name})"),
        "URL in brackets": at_word(f"WORD ({URL})"),
        "e-mail in brackets": at_word(f"WORD ({MAIL})"),
        "URL alone": unchanged(lambda _, rng: f"{URL}{rng.randrange(1000)}"),
        "target language": unchanged(lambda sentences, _: sentences[0].target),
        "other alphabets": unchanged(random_letters),
        "digits and marks": unchanged(
            lambda _, rng: "".join(rng.choices("0123456789.,:;-+/%()!?", k=rng.randint(1, 40)))
        ),
        "emoji only": unchanged(lambda _, rng: "".join(rng.choices(EMOJI, k=rng.randint(1, 6)))),
    }
