"""Settings of the data: the corpus and its cleaning, and the tokenizer."""

import re
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal

from nmt.fields import MAY_CHANGE, Folder, Language, Metavar, Probability, Range, Size, check_bounds, check_use, require
from nmt.vocabulary import FIRST_PIECE, SPECIAL_PIECES

Text = Literal["auto", "pairs", "source", "target", "both"]
# Not of nmt.augment and nmt.tokenizer:
ONLY_OF_RUNS = {"data.many_to_many", "data.more", "data.licence", "data.max_pieces"}
ONLY_OF_RUNS |= {"data.scorer", "data.least_quality", "data.typos", "data.placeholders"}

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
    """Filters of training text, beside those of data.*. What is set replaces what the profile says."""

    profile: Profile = "none"
    """Filters that are on, as docs/cleaning.md shows; gentle suits careful translations."""

    unicode: bool | None = None
    """Whether text is repaired that was decoded wrongly, such as schÃ¶n. Needs the extra nmt[cleaning]."""

    copies: Copies | None = None
    """Which pairs with the same letters on both sides are dropped: none (keep), those of four words and more that are
    no names (long), or all."""

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


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """More text to train on: an entry of data.more."""

    corpus: str
    """Name or place of the text, as for data.corpus. Its test text is not used."""

    text: Literal["pairs", "source", "target", "both"] = "pairs"
    """What is read: pairs, or sentences of one language or of both, each by itself, as for data.text. Sentences are
    restored from noise in the first steps of training alone: see training.denoise_steps."""

    name: str = ""
    """Name in ledgers; without one, the last part of the place."""

    weight: Annotated[float, Range(0, 1000, open="least"), MAY_CHANGE] = 1.0
    """How often each pair is seen in an epoch: 2 is twice, and 0.5 is every other epoch."""

    tag: str = ""
    """Tag that tells the model, by a piece before the source, that a pair is of this corpus: bt becomes <bt>."""

    licence: Annotated[str, MAY_CHANGE] = ""
    """Note about the licence, for the model card."""

    languages: tuple[str, ...] = ()
    """The languages of data.many_to_many that the corpus has; empty if it has all."""

    cleaning: CleaningConfig | None = None
    """Filters of the corpus, in place of the whole section cleaning: {profile: crawled, words: 80}."""

    validate: bool = False
    """Whether the val text of the corpus is measured too, by itself."""

    def __post_init__(self) -> None:
        check_bounds("data.more", self)
        require(self.corpus not in ("", "auto"), "an entry of data.more has no corpus: name one, such as a folder")
        is_tag = re.fullmatch(r"[a-z][a-z_-]+|", self.tag) and f"<{self.tag}>" not in SPECIAL_PIECES
        problem = f"an entry of data.more has the tag {self.tag!r}: it must be a word of two or more small letters, "
        problem += "such as bt, and not pad or unk"
        require(bool(is_tag), problem)
        for name in ("tag", "validate"):
            fits = self.text == "pairs" or not getattr(self, name)
            require(fits, f"an entry of data.more has text {self.text}, and {name} is for pairs: leave one of them out")

    @property
    def shown_name(self) -> str:
        return self.name or last_part(self.corpus)


def last_part(place: str) -> str:
    return place.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Text to read, and what of it to keep; the rest is dropped and counted."""

    corpus: Annotated[str, Metavar("CORPUS")] = "auto"
    """Text to read: phrasebook (built in), multi30k, hub:NAME[@REVISION][:CONFIGURATION], a folder with train.*, val.*
    and test*.* files, a TSV, JSONL or TMX file, the common prefix of two plain files, or a plain file of one language.
    auto is multi30k or, without the hub, phrasebook."""

    source: Language = "de"
    """Language to translate from: ending of its files, or name of its column or key."""

    target: Language = "en"
    """Language to translate into: ending of its files, or name of its column or key."""

    many_to_many: tuple[str, ...] = ()
    """Languages of a model that translates each of them into each other one, such as '[de, en, fr, cs]', in place of
    data.source and data.target. A piece before each source, such as <2fr>, tells the target language."""

    text: Text = "auto"
    """What is read: pairs, or sentences of source, target or both, each alone. auto: as training.objective needs."""

    more: tuple[CorpusConfig, ...] = ()
    """More corpora to train on, besides data.corpus, which gives the val and test text: '[{corpus: FOLDER, weight: 0.5,
    tag: bt}]'. A weight and a licence may change on resume."""

    licence: Annotated[str, MAY_CHANGE] = ""
    """Note about the licence of data.corpus, for the model card."""

    max_characters: Size = 2000
    """Most characters on each side of a training pair."""

    max_pieces: Size = 256
    """Most pieces on each side of a training pair."""

    max_ratio: Annotated[float, Range(1)] = 5.0
    """Highest ratio of the lengths of the sides, in characters with 10 added to each."""

    drop_duplicates: bool = True
    """Whether repeated training pairs are dropped."""

    drop_held_out: bool = True
    """Whether training pairs are dropped whose source is in val or test text."""

    scorer: Folder = ""
    """Folder of a pair scorer, which drops pairs that are probably no translations."""

    least_quality: Probability = 0.5
    """Lowest probability of being a true pair, by data.scorer."""

    typos: Probability = 0.0
    """Share of training pairs with a copy that has typos in its source."""

    placeholders: Probability = 0.0
    """Share of training pairs with a copy that has placeholders (U+E000 to U+E005). Without a recipe, a translator of
    one pair of languages takes 0.1."""

    def __post_init__(self) -> None:
        if self.text in ("pairs", "both") and not self.many_to_many:  # what auto stands for, `Config` knows
            same = f"data.source and data.target are both {self.source!r}: they must differ"
            require(self.source != self.target, f"{same}, unless data.text is source or target")
        several = [("many_to_many", code) for code in self.many_to_many]
        for name, code in (("source", self.source), ("target", self.target), *several):
            is_code = re.fullmatch(r"[\w-]+", code) is not None
            require(is_code, f"data.{name} is {code!r}: it must be a language code such as de, pt-BR or zh_Hans")
        codes = self.many_to_many
        listed = f"data.many_to_many is [{', '.join(codes)}]"
        require(len({*codes}) == len(codes) != 1, f"{listed}: name at least two languages, each once")
        for name in ("scorer", "placeholders"):
            used = bool(codes) and bool(getattr(self, name))
            require(not used, f"{listed}, and data.{name} is for one pair of languages: leave it out")
        require(self.unit == "pair" or not codes, f"{listed}, which needs pairs, but data.text is {self.text}")
        names = self.corpus_names
        require(len({*names}) == len(names), f"the corpora are called {', '.join(names)}: give each a name of its own")
        for name, verb in (("more", "needs"), ("typos", "changes"), ("placeholders", "changes"), ("scorer", "scores")):
            fits = self.unit == "pair" or not getattr(self, name)
            require(fits, f"data.{name} {verb} pairs, but data.text is {self.text}: leave data.{name} out")
        for entry in self.more:
            problem = f"the corpus {entry.shown_name} of data.more has the languages {', '.join(entry.languages)}"
            known = len({*entry.languages} & {*self.many_to_many}) == len(entry.languages) != 1
            advice = "name at least two of data.many_to_many, each once" if codes else "they are for data.many_to_many"
            require(known, f"{problem}: {advice}")
            problem = f"{listed}, and the corpus {entry.shown_name} of data.more has text {entry.text}"
            require(entry.text == "pairs" or not codes, f"{problem}: take pairs alone")
        require(self.corpus != "", "data.corpus is empty: name a corpus, such as phrasebook or a folder")
        check_bounds("data", self)
        check_use("data", self, self.scorer != "", "data.scorer", ["least_quality"])

    def of(self, entry: CorpusConfig) -> "DataConfig":
        """The settings with which a corpus of data.more is read by itself."""
        codes = entry.languages or self.many_to_many
        return replace(self, corpus=entry.corpus, more=(), many_to_many=codes).reading(entry.text)

    def reading(self, text: Text) -> "DataConfig":
        """The settings with which text of this kind is read; those that need pairs are left out for sentences."""
        of_pairs = ("scorer", "least_quality", "typos", "placeholders")
        return self if text == "pairs" else replace(self, text=text, **{n: getattr(DataConfig, n) for n in of_pairs})

    @property
    def texts(self) -> str:
        """The corpora of data.more that have no translations, for messages; empty if there are none."""
        names = ", ".join(entry.shown_name for entry in self.more if entry.text != "pairs")
        return names and f"{names} of data.more has no translations"

    @property
    def corpus_names(self) -> list[str]:
        return [last_part(self.corpus), *(entry.shown_name for entry in self.more)]

    @property
    def directions(self) -> list[tuple[str, str]]:
        """The source and target language of each direction that is learned."""
        codes = self.many_to_many
        return [(a, b) for a in codes for b in codes if a != b] or [(self.source, self.target)]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages whose sentences are read."""
        if self.many_to_many:
            return self.many_to_many
        return {"source": (self.source,), "target": (self.target,)}.get(self.text, (self.source, self.target))

    @property
    def unit(self) -> Literal["pair", "text"]:
        """What the corpus consists of: pairs, or texts without translations. auto, outside of runs, means pairs."""
        return "pair" if self.text in ("auto", "pairs") else "text"


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """The SentencePiece tokenizer, which divides text into pieces. Ids 0 to 3 are always unk, bos, eos and pad."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """Algorithm: unigram (Kudo 2018) or bpe (Sennrich et al. 2016)."""

    vocab_size: int | Literal["auto"] = "auto"
    """Number of pieces in the vocabulary; fewer, with a message, if the text is too small. With auto, it grows with the
    number of sentence pairs, from 4,000 to 32,000."""

    joint: bool = True
    """Whether both languages share one vocabulary, and don't have a tokenizer each."""

    character_coverage: Annotated[float, Range(0.98, 1)] = 1.0
    """Share of the characters that the pieces cover: 0.9995 suits Chinese and Japanese."""

    byte_fallback: bool = True
    """Whether other characters are spelled as bytes, so that no text is unknown."""

    user_defined_symbols: tuple[str, ...] = ()
    """Strings that are never divided: '[<br>, <name>]'."""

    sample_characters: Annotated[int, Range(10_000), MAY_CHANGE] = 30_000_000
    """Most characters that the tokenizer is trained on; 30 million take 0.6 GB, and 1.7 GB in Japanese."""

    folder: Folder = ""
    """Folder of a tokenizer, model or run, whose tokenizer is used instead of training one."""

    def __post_init__(self) -> None:
        symbols, setting = self.user_defined_symbols, "tokenizer.user_defined_symbols"
        floor = FIRST_PIECE + 256 * self.byte_fallback + len(symbols) + 1
        size = self.vocab_size
        fits = size == "auto" or size >= floor
        require(fits, f"tokenizer.vocab_size is {size}: the special pieces alone need {floor}")
        check_bounds("tokenizer", self)
        for symbol in symbols:
            is_word = re.fullmatch(r"[^\s\u2581\ud800-\udfff]+", symbol) is not None
            require(is_word, f"{setting} has {symbol!r}: a symbol is valid text without blanks, and without \u2581")
            is_new = symbol not in SPECIAL_PIECES and not re.fullmatch("<0x[0-9A-F]{2}>", symbol)
            require(is_new, f"{setting} has {symbol}, which is a special piece already")
        require(len(set(symbols)) == len(symbols), f"{setting} are {', '.join(symbols)}: name each symbol once")
