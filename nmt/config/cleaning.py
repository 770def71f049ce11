"""Settings of the cleaning of training text: a profile, and what differs from it."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from nmt.fields import Range, check_bounds

Profile = Literal["none", "gentle", "crawled", "strict"]
Copies = Literal["keep", "long", "all"]
Share = Annotated[float | None, Range(0, 1)]
Most = Annotated[int | None, Range(1)]

# What a profile sets; other settings are off. docs/notes/figures.md shows what each profile is worth.
GENTLE = {"unicode": True, "copies": "long", "letters": 0.3, "script": 0.5, "contamination": True}
FOR_CRAWLED = {"letters": 0.5, "language": True, "numbers": 0.5, "addresses": True, "repetition": True, "alike": True}
CRAWLED = GENTLE | FOR_CRAWLED | {"word_characters": 60, "words": 150}
STRICT = {"copies": "all", "letters": 0.6, "script": 0.8, "numbers": 1.0, "word_characters": 40, "words": 100}
PROFILES: dict[Profile, dict[str, Any]] = {"none": {}, "gentle": GENTLE, "crawled": CRAWLED, "strict": CRAWLED | STRICT}


@dataclass(frozen=True, kw_only=True)
class CleaningConfig:
    """Filters of training text, beside those of data.*; what is set replaces what the profile says. Dropped pairs are
    counted by cause; nmt.prepare --explain N shows some of each."""

    profile: Profile = "none"
    """Filters that are on, as docs/cleaning.md shows; gentle suits careful translations."""

    unicode: bool | None = None
    """Whether text is repaired that was decoded wrongly, such as schÃ¶n. Needs the extra nmt[cleaning]."""

    copies: Copies | None = None
    """Which pairs are dropped whose sides have the same letters: none (keep), those of four words and more that are no
    names (long), or all."""

    letters: Share = None
    """Least share of letters among the characters of a side, without blanks."""

    script: Share = None
    """Least share of letters in a script of the language, such as Cyrillic for ru. All other languages but some 60 are
    taken to have the Latin script."""

    language: bool | None = None
    """Whether a side is dropped that is surely in another language. Needs the extra nmt[cleaning]; languages that it
    doesn't know are not checked."""

    numbers: Share = None
    """Least share of the numbers of two digits or more that occur on both sides."""

    addresses: bool | None = None
    """Whether pairs are dropped whose sides have different web or e-mail addresses."""

    repetition: bool | None = None
    """Whether pairs are dropped of which one side repeats words or characters, and the other doesn't."""

    word_characters: Most = None
    """Maximum number of characters in a word, addresses aside, where the script puts blanks between words."""

    words: Most = None
    """Maximum number of words on each side."""

    alike: bool | None = None
    """Whether pairs are dropped that are the same as an earlier one but for case, digits and punctuation."""

    contamination: bool | None = None
    """Whether pairs are dropped of which a side is the same as in val or test text but for case, digits and
    punctuation, or has 13 words in a row of it."""

    def __post_init__(self) -> None:
        check_bounds("cleaning", self)

    @property
    def values(self) -> dict[str, Any]:
        """The value of each filter that is on, by its name: the profile's, or what was set instead."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "profile"}
        merged = PROFILES[self.profile] | {name: value for name, value in given.items() if value is not None}
        return {name: value for name, value in merged.items() if value not in (False, "keep")}
