"""Lines of odd text: a random number generator flows in, bytes without LF flow out.

There are random bytes, characters of all Unicode categories, fragments of mark-up and of JSON, alone, mixed with
sentences or repeated, and JSON objects that are whole, cut or hostile.
"""

import json
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

SENTENCES = (
    "Der kleine Hund läuft über die grüne Wiese.",
    "Zwei Männer sitzen am Tisch und trinken Kaffee.",
    "Wo ist der Bahnhof? Er ist dort drüben!",
    "Dr. Klein zahlt z. B. 1.000,50 € am 24.12.2023.",
    "Das Haus",
)
# With ␣ for a blank.
MARKS = r"""
<b> </b> <p> </p> <br/> <a␣href=" <!-- --> <![CDATA[ ]]> <1> < > &amp; &nbsp; &#160; &#x & </s> <s> <unk> <pad> <0x0A>
{ } {{ }} {name} {0} ${x} $x $ %s %(n)d %1$s % __X__ [ ] ( ) [x]( ](http://a.b) ** * _ ` ``` # > | --- ~~ \n \u \
http:// https://example.org/a?b=c www. a@b.co @ :// first.last@ 1.000,50␣€ 12:30 2024-01-31 1/2 000 , - — nan null NULL
„ “ « » " ' ’ … ... . ! ? 。 ？ ؟ .␣ !!! Dr.␣ z.␣B.␣ ␣-␣ ||| ␣|||␣ 0-0 ⁇ ▁ ﬁ Ａ ３ ٣ ½ ß İ ſ 漢字 かな ไทย 한 א ع 🇩🇪 😀
"""
# Control characters, line separators, blanks, invisible and combining characters, halves of emoji, the last character.
SINGLE = (
    "\t\r\x00\x0b\x0c\x1c\x1f\x7f\x85\u2028\u2029\u00a0\u202f\u2003\u3000\u00ad\u200b\u200c\u200d\u2060\ufeff\ufffd"
    "\u202e\u2066\u0301\u0345\ufe0f\u20e3\U0001f1e9\U0001f3fd\U000e0041\ud83d\udcff\U0010ffff"
)
FRAGMENTS = (*(mark.replace("␣", " ") for mark in MARKS.split()), *SINGLE, "👩\u200d🚀", "a\u0301\u0302\u0303")
JSON_FRAGMENTS = ('{"text": "', '"}', '{"', '": ', *"[]},", "null", "NaN", "1e999", '"\\ud83d"', "\\u00", "9" * 400)
MEMBERS = ("must", "must_not", "prefix", "id", "translation", "score", "flags", "error")
STRINGS = (*MEMBERS, "", "é", "\ud83d", "a\tb", "text ")


def fuzzed_line(rng: Random, length: int) -> bytes:
    """A line of about this many characters."""
    made = rng.choice(MAKERS)(rng, length)
    line = made if isinstance(made, bytes) else as_utf8(made)
    return line.replace(b"\n", b"")


def with_fragments(rng: Random, length: int) -> str:
    """Sentences with some fragments."""
    return joined(rng, [*SENTENCES, *rng.choices(FRAGMENTS, k=rng.randint(1, 5))], length)


def repeated(rng: Random, length: int) -> str:
    """One to three fragments again and again, between two others: this shows patterns that take quadratic time."""
    first, last = rng.choices(FRAGMENTS, k=2)
    middle = "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 3)))
    return f"{first}{(middle * length)[:length]}{last}"


def joined(rng: Random, parts: Sequence[str], length: int) -> str:
    """Parts in random order, with a blank between them or none, of about this length."""
    blank = rng.choice(("", " ", " "))
    text = blank.join(rng.choices(parts, k=min(length, 200)))
    while len(text) < length:
        text += blank + text
    return text[:length]


def as_utf8(text: str) -> bytes:
    """UTF-8; lone surrogates become invalid bytes."""
    return text.encode("utf-8", "surrogatepass")


@cache
def categories() -> list[str]:
    """The characters of each Unicode category."""
    found = defaultdict[str, list[str]](list)
    for code in range(sys.maxunicode + 1):
        found[unicodedata.category(chr(code))].append(chr(code))
    return ["".join(characters) for characters in found.values()]


MAKERS: tuple[Callable[[Random, int], str | bytes], ...] = (
    lambda rng, length: rng.randbytes(length),
    lambda rng, length: "".join(rng.choices(rng.choice(categories()), k=length)),
    lambda rng, length: "".join(rng.choice(rng.choice(categories())) for _ in range(length)),
    lambda rng, length: joined(rng, FRAGMENTS, length),
    with_fragments,
    with_fragments,
    lambda rng, length: joined(rng, SENTENCES, length),
    repeated,
    lambda rng, length: joined(rng, (*JSON_FRAGMENTS, *SENTENCES), length),
)


def json_line(rng: Random, length: int) -> bytes:
    """A JSON line for `nmt.translate`, with other members; some are cut or no JSON."""
    text = fuzzed_line(rng, length).decode("utf-8", "surrogateescape")
    if rng.random() < 0.3:
        middle = rng.randint(0, len(text))
        text = text[:middle] + rng.choice(("\n", "\r\n", "\n\n\n")) + text[middle:]
    value: Any = {"text": text} | {name: member(rng) for name in rng.choices(STRINGS, k=rng.randint(0, 3))}
    kind = rng.random()
    if kind < 0.05:
        value = rng.choice((text, [text], {"text": None}, {"Text": text}, None, 1.5))
    elif kind < 0.06:
        return b"[" * rng.randint(1, 100_000)
    line = as_utf8(json.dumps(value, ensure_ascii=rng.random() < 0.5))
    return line[: rng.randint(0, len(line))] if kind < 0.15 else line


def member(rng: Random) -> Any:
    """The value of a member."""
    numbers = (None, True, -0.0, 1e308, 10**30)
    value: Any = rng.choice((*numbers, "a", "\ud800", [], {}, ["house", ["a", "the dog"]], "The"))
    for _ in range(rng.randint(0, 3)):
        value = rng.choice(([value], {rng.choice(STRINGS): value}))
    return value


def pair_line(rng: Random, length: int) -> bytes:
    """A source and a translation, with a tab between them."""
    return fuzzed_line(rng, length) + b"\t" + fuzzed_line(rng, length)
