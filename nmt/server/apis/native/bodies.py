"""Bodies of our own API, /v1: the dataclasses that requests are read into and that answers are written from.

Their docstrings are the descriptions in the OpenAPI document (`nmt.server.apis.native.schema`).
"""

from dataclasses import dataclass, field, fields, make_dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from nmt.config import SearchConfig
from nmt.fields import Range, annotations

MAX_ALTERNATIVES = 8
LIMITS: dict[str, Range | None] = {  # settings of a search that a request may choose; None: as in SearchConfig
    "beam_size": Range(1, 16),
    "n_best": Range(1, MAX_ALTERNATIVES),
    "length_penalty": None,
    "length_norm": None,
    "min_length": Range(0, 200),
    "max_length": Range(0, 1000),
    "max_length_ratio": Range(0.01, 10),
    "no_repeat_ngram": Range(0, 20),
    "repetition_penalty": None,
    "samples": Range(0, 16),
    "temperature": None,
    "top_k": Range(0, 1_000_000),
    "top_p": None,
    "min_p": None,
    "seed": Range(0, 2**53),
    "split_above": Range(0, 10_000),
    "guard": None,
}


def optional(name: str) -> Any:
    """The annotation of a setting that may be left out."""
    hint, *marks = annotations(SearchConfig)[name]
    marks = [LIMITS[name]] if LIMITS[name] else [mark for mark in marks if isinstance(mark, Range)]
    return (Annotated[hint, marks[0]] if marks else hint) | None


Search: Any = make_dataclass("Search", [(name, optional(name), None) for name in LIMITS], frozen=True, kw_only=True)
Search.__doc__ = "Settings of the search, in place of the model's."


@lru_cache
def make_search(given: Any, model: SearchConfig) -> SearchConfig:
    """The settings of a search: those of the request in place of the model's. ValueError if they don't go together."""
    chosen = {f.name: value for f in fields(given) if (value := getattr(given, f.name)) is not None}
    samples, n_best = chosen.get("samples", model.samples), chosen.get("n_best", 0)
    if samples:
        chosen.setdefault("samples", max(samples, n_best))
        chosen.setdefault("n_best", min(samples, MAX_ALTERNATIVES))
    elif n_best > model.beam_size:
        chosen.setdefault("beam_size", n_best)
    return replace(replace(model, n_best=1), **chosen)


@dataclass(frozen=True)
class Languages:
    """A direction of translation."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What all translations need."""

    source: str = ""
    """Code of the language of the texts. It may be left out if only one language is translated to the target."""
    target: str
    """Code of the language to translate to."""
    model: str = ""
    """Name of a model for these languages, such as an adapter; if it is left out, the model without an adapter."""


@dataclass(frozen=True, kw_only=True)
class Translate(Wanted):
    """Texts to translate, and what to tell of their translations."""

    text: str | list[str]
    """A text, or several. A text may have several lines."""
    format: Literal["text", "html"] = "text"
    """How the texts are read: html keeps tags, entities and what must not be translated."""
    prefix: str = ""
    """Text that each translation begins with; the rest is decoded after it."""
    must: list[str | list[str]] = field(default_factory=list)
    """Phrases that each translation must contain; a list is of alternatives. * stands for any ending or beginning."""
    must_not: list[str] = field(default_factory=list)
    """Phrases that no translation may contain."""
    glossary: str | dict[str, str] = ""
    """Name of a glossary, or the entries of one: terms of the source, each with its translation."""
    search: Search = field(default_factory=Search)
    alignments: bool = False
    """Whether to tell which words translate which."""
    tokens: bool = False
    """Whether to tell the pieces of each translation, and how probable they were."""
    attention: bool = False
    """Whether to tell the cross-attention, as weights of source pieces for each target piece; for short texts."""
    quality: bool = False
    """Whether to estimate the quality of each translation, if the service has a pair scorer for the languages."""
    stream: bool = False
    """Whether to answer with Server-Sent Events: `sentence` for each sentence as it is ready, then `done` with the
    whole answer, or `error`."""


@dataclass(frozen=True)
class Token:
    """A piece of a translation."""

    piece: str
    """As the vocabulary writes it: ▁ is a blank, </s> the end."""
    text: str
    """The characters that it adds, without blanks."""
    log_probability: float
    """Natural logarithm of its probability."""


@dataclass(frozen=True)
class Attention:
    """Cross-attention. A text of several sentences may be read in parts; between parts the weights are 0."""

    source: list[str]
    """Pieces of the source."""
    target: list[str]
    """Pieces of the translation."""
    weights: list[list[float]]
    """For each target piece the weight of each source piece."""


@dataclass(frozen=True)
class Alternative:
    """A further translation: of the beam, or a sample."""

    text: str
    score: float
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Translated:
    """A translation. Members that were not asked for are left out."""

    text: str
    score: float
    """Length-normalised log-probability."""
    confidence: float
    """Geometric mean of the probabilities of the pieces, from 0 to 1."""
    flags: list[str]
    """What looks wrong with it."""
    flag_texts: list[str]
    """The same in words."""
    alternatives: list[Alternative]
    """Further translations, if search.n_best is above 1."""
    note: str | None = None
    """Which terms of the glossary were left out, and why, if some were."""
    quality: float | None = None
    """The probability that source and translation belong together; left out too for a text that is too long."""
    alignments: list[list[int]] | None = None
    """Pairs of a number of a source word and one of a target word, from 0; blanks separate words."""
    tokens: list[Token] | None = None
    attention: Attention | None = None


@dataclass(frozen=True)
class Translations:
    """The translations of all texts, in their order."""

    translations: list[Translated]
    model: Languages
    seconds: float


@dataclass(frozen=True)
class Sentence:
    """Data of the event `sentence`."""

    index: int
    """Number of the text, from 0."""
    line: int
    """Number of the line, or of the cell between tabs, in the text, from 0."""
    sentence: int
    """Number of the sentence in the line, from 0."""
    text: str
    """Its translation."""


@dataclass(frozen=True, kw_only=True)
class WordAlternatives(Wanted):
    """A word of a translation, for which others are wanted."""

    text: str
    """The source."""
    translation: str
    """A translation of the source, also one that was edited."""
    word: Annotated[int, Range(0, 100_000)]
    """Number of the word in the translation, from 0; blanks separate words."""


@dataclass(frozen=True)
class Word:
    """A word that could stand there."""

    word: str
    probability: float
    """Of the word, after the words before it."""
    text: str
    """The whole translation, decoded anew from this word on."""


@dataclass(frozen=True)
class Words:
    """The most probable words, the best first."""

    alternatives: list[Word]


@dataclass(frozen=True)
class Features:
    """What a model can do."""

    alignments: bool
    scorer: bool
    """Whether there is a pair scorer for quality."""
    html: bool
    word_alternatives: bool


@dataclass(frozen=True)
class Model(Languages):
    """A direction that can be translated."""

    name: str
    loaded: bool
    features: Features
    parameters: int | None = None
    """Left out until the model is loaded."""


@dataclass(frozen=True)
class ModelList:
    """All directions."""

    models: list[Model]


@dataclass(frozen=True)
class PutGlossary(Languages):
    """The entries of a glossary for one direction."""

    entries: dict[str, str]
    """Terms of the source, each with its translation; | separates alternative translations."""


@dataclass(frozen=True)
class GlossaryInfo(Languages):
    """A glossary for one direction, without its entries."""

    name: str
    count: int
    """Number of entries."""


@dataclass(frozen=True)
class GlossaryList:
    """The glossaries of this key."""

    glossaries: list[GlossaryInfo]


@dataclass(frozen=True)
class GlossaryEntries(PutGlossary):
    """A glossary for one direction."""

    name: str


@dataclass(frozen=True)
class Uploaded:
    """A document that is being translated."""

    id: str
    token: str
    """What must be sent to ask for it."""


@dataclass(frozen=True)
class DocumentState:
    """How far the translation of a document is."""

    state: Literal["waiting", "translating", "done", "error"]
    done: int
    """Texts of the document that are translated."""
    of: int
    """Texts of the document; 0 until it is read."""
    message: str
    """What went wrong."""
    notes: list[str]
    """Remarks on the translated file, such as characters that its encoding lacks."""


@dataclass(frozen=True)
class Problem:
    """Why a request was refused."""

    code: str
    """For programs."""
    message: str
    """What is wrong, the value, and what to do."""


@dataclass(frozen=True)
class Failure:
    """Body of every answer whose status is 400 or above."""

    error: Problem
