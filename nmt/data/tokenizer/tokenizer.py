"""SentencePiece tokenizers: trained on tidied pairs, saved in a folder; from text to ids of pieces, and back.

Encoding never adds bos, eos or pad. SentencePiece does not normalise, since text is tidied before. With byte fallback,
characters without a piece become byte pieces: decoding an encoded target gives the same text. In sources, in training
too, they first take the nearest form that has pieces (see `nmt.text.characters`). SentencePiece marks a space with
U+2581 (▁): a ▁ in the text becomes its three byte pieces, as if it had no piece, and is decoded to ▁ again.
"""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nmt.data.cleaning.cleaner import Pair
from nmt.data.tokenizer.languages import Languages
from nmt.data.tokenizer.mapped import PIECES, MappedModel, load_mapped, save_mapped
from nmt.fields import read_value, require
from nmt.text.characters import Characters
from nmt.text.items import prose
from nmt.text.normalise import tidy
from nmt.text.user_items import NO_USER_ITEMS, UserItems
from nmt.text.words import Words
from nmt.vocabulary import BOS, EOS, ITEMS, PAD, SPACE, UNK

if TYPE_CHECKING:
    from nmt.data.batches import Pairs, Sequences

Part = TypeVar("Part")
Start = tuple[list[int], list[int]]
"""The ids that a source, and a target, begins with."""
WORDS = "words.txt"  # in a model folder
LEAST_WORDS = 3  # of a text: fewer may all be names
LANGUAGES = "languages.json"  # the same, of a model that knows several
SPECIAL_IDS: dict[str, Any] = {"unk_id": UNK, "bos_id": BOS, "eos_id": EOS, "pad_id": PAD}
STAND_IN = "\ufdd0"  # replaces ▁ while a text is encoded: a noncharacter, which never has a piece (see NO_PIECE)
AT_ONCE = 10_000  # pairs that are encoded together


class Tokenizer:
    """The SentencePiece models of both sides; a joint model is `source` and `target`, the same object."""

    words: Words | None = None
    """Those of the sources of training, if they are known."""

    def __init__(self, source: Any, target: Any, languages: Languages | None = None, notes: Sequence[str] = ()) -> None:
        """`languages`: those that a model must be told, if there are several; `notes`: for the user, about training."""
        self.source, self.target, self.languages = source, target, languages or Languages()
        self.mapped = isinstance(source, MappedModel)
        self.joint = source is target or (self.mapped and source.pieces == target.pieces)
        """Whether both sides have the same ids."""
        self.notes = list(notes)
        self.src_vocab_size: int = source.vocab_size()
        self.tgt_vocab_size: int = target.vocab_size()
        self.has_placeholders = all(model.piece_to_id(mark) != UNK for model in (source, target) for mark in ITEMS)

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """Read `joint.model`, or `source.model` and `target.model`; ValueError names the file that is wrong. Pipes and
        devices, which a folder from others may have, never end: they are taken for missing."""
        if (folder / PIECES).is_file():
            return cls(*load_mapped(folder))
        joint, separate = folder / "joint.model", [folder / "source.model", folder / "target.model"]
        is_joint, one_side = joint.is_file(), any(path.is_file() for path in separate)
        mixed = f"{folder} holds joint.model and a model of one side: remove what doesn't belong"
        require(not (is_joint and one_side), mixed)
        missing = f"{folder} holds no tokenizer: neither joint.model nor source.model and target.model"
        require(is_joint or one_side, missing)
        models = [load_model(joint)] * 2 if is_joint else map(load_model, separate)
        languages = read_part(folder / LANGUAGES, lambda text: read_value(json.loads(text), Languages))
        return cls(*models).with_words(load_words(folder)).with_languages(languages or Languages())

    def with_words(self, words: Words | None) -> "Tokenizer":
        """This tokenizer with the words that a model has learned."""
        other = copy.copy(self)
        other.words = words
        return other

    def with_languages(self, languages: Languages) -> "Tokenizer":
        """This tokenizer for a model that is told these languages."""
        starts = () if self.mapped else (*languages.before_source.values(), *languages.before_target.values())
        missing = [piece for piece in starts if piece and self.source.piece_to_id(piece) == UNK]
        require(not missing, f"the tokenizer has no piece {', '.join(missing)}: take another")
        other = copy.copy(self)
        other.languages = languages
        return other

    def between(self, source: str, target: str) -> "Tokenizer":
        """This tokenizer for other languages, by their codes; ValueError if there are none such."""
        known, given = self.languages.several, " and ".join(filter(None, (source, target)))
        require(known or not given, f"the model has one pair of languages: don't choose {given}")
        return self.with_languages(self.languages.between(source, target)) if known else self

    def for_corpus(self, source: str, target: str = "") -> "Tokenizer":
        """This tokenizer for the languages of a corpus, as far as the model must be told them and knows their codes;
        otherwise for those that are chosen already. ValueError if none is."""
        known = self.languages
        codes = source if source in known.before_source else "", target if target in known.before_target else ""
        chosen = self.between(*codes) if any(codes) else self
        chosen.languages.require_chosen(("--data.source", "--data.target"))
        return chosen

    def starts(self) -> Start:
        """The ids that each source, and each target, begins with: they tell the model the languages."""
        source, target = self.languages.starts()
        return [self.source.piece_to_id(p) for p in source], [self.target.piece_to_id(p) for p in target]

    def save(self, folder: Path) -> None:
        """Write the files that `load` reads."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.mapped:
            save_mapped(folder, self.source, self.target, self.languages)
            return
        models = {"joint": self.source} if self.joint else {"source": self.source, "target": self.target}
        for name, model in models.items():
            (folder / f"{name}.model").write_bytes(model.serialized_model_proto())
        if self.words:
            (folder / WORDS).write_text(self.words.dump(), encoding="utf8", newline="")
        if self.languages.before_target:
            (folder / LANGUAGES).write_text(json.dumps(asdict(self.languages), ensure_ascii=False), encoding="utf8")

    def side(self, name: str | None) -> Any:
        """The model of `source` or `target`; the name may be None if both sides have the same model."""
        require(name in (None, "source", "target"), f"--side is {name}: it must be source or target")
        require(self.joint or name is not None, "each language has its own tokenizer: take --side source or target")
        return self.target if name == "target" else self.source

    def same_as(self, other: "Tokenizer") -> bool:
        """Whether both encode every text to the same ids."""
        sides = (self.source, other.source), (self.target, other.target)
        return all(first.serialized_model_proto() == second.serialized_model_proto() for first, second in sides)

    @cached_property
    def characters(self) -> tuple[Characters, Characters]:
        """The characters that the source and the target model have pieces for."""
        source = characters_of(self.source)
        return source, source if self.joint else characters_of(self.target)

    def readable(self, text: str, user_items: UserItems = NO_USER_ITEMS) -> str:
        """The source text as `encode_source` reads it: outside of items, if possible, in characters with pieces. Models
        of other libraries have rules of their own."""
        text = join_surrogates(text)
        return text if self.mapped else self.characters[0].nearest(text, user_items)

    def knows(self, text: str) -> bool:
        """Whether the source model has a piece for a text, alone or at the start of a word."""
        return any(self.source.piece_to_id(piece) != UNK for piece in (text, SPACE + text))

    def lacks(self, text: str, user_items: UserItems = NO_USER_ITEMS) -> bool:
        """Whether a readable text has letters, and outside of its items characters without a piece."""
        if not self.mapped:
            return self.characters[0].lacks(text, user_items)
        rest = prose(text, user_items)  # these models have rules for characters: what they make of it counts
        (ids,) = self.source.encode([rest])
        return any(map(str.isalpha, rest)) and any(i == UNK or self.source.is_byte(i) for i in ids)

    def familiar(self, text: str, translation: str, user_items: UserItems = NO_USER_ITEMS) -> tuple[float, float]:
        """How well training knew a text. Words that it lacked, outside of items, and the translation too, are lost.

        Returns:
            The fewest letters a piece of a lost word, infinite if there are none; and the share of the words that
            aren't lost, 1 for fewer than LEAST_WORDS words.
        """
        unknown, count = self.words.unknown(prose(text, user_items)) if self.words else ([], 0)
        copied = translation.casefold() if unknown else ""
        lost = [word for word in unknown if word.casefold() not in copied]
        lengths = (len(w) / max(1, len(ids)) for w, ids in zip(lost, encode(self.source, lost), strict=True))
        return min(lengths, default=inf), 1 - len(lost) / count if count >= LEAST_WORDS else 1.0

    def encode_source(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without bos and eos."""
        return encode(self.source, [self.readable(text) for text in texts])

    def encode_target(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without bos and eos."""
        return encode(self.target, texts)

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of each id sequence: bos, eos and pad are skipped, unk becomes ⁇, invalid UTF-8 U+FFFD."""
        return [str(self.target.decode(list(sentence))) for sentence in ids]

    def decode_source(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [str(self.source.decode(list(sentence))) for sentence in ids]

    def source_pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(self.source.id_to_piece(i)) for i in ids]

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(self.target.id_to_piece(i)) for i in ids]


class LineCodec:
    """Turns lines of text into lines of pieces, or of ids, of one model, and back."""

    def __init__(self, model: Any, *, ids: bool) -> None:
        self.model = model
        size = model.vocab_size()
        self.words = [str(i) if ids else str(model.id_to_piece(i)) for i in range(size)]
        self.known = {word: i for i, word in enumerate(self.words)}
        self.kind = f"an id of the tokenizer, from 0 to {size - 1}" if ids else "a piece of the tokenizer"

    def encode(self, lines: Sequence[bytes]) -> list[str]:
        """Divide lines of text, tidied like training text."""
        texts = [tidy(line.decode("utf-8", "surrogateescape")) for line in lines]
        return [" ".join(self.words[i] for i in ids) for ids in encode(self.model, texts)]

    def decode(self, lines: Sequence[bytes], file: str = "-", before: int = 0) -> list[str]:
        """Join the pieces of each line. ValueError for the first word that is no piece or id, with its line in the
        file; `before`: the number of the file's lines that came before these."""
        ids = [list[int]() for _ in lines]
        for n, line in enumerate(lines):
            for word in line.decode("utf-8", "surrogateescape").removesuffix("\r").split(" "):
                place = f"{'standard input' if file == '-' else file}, line {before + n + 1}"
                require(word in self.known or word == "", f"{place} has {word!r}, which is not {self.kind}")
                ids[n] += [self.known[word]] if word else []
        return [tidy(str(text)) for text in self.model.decode(ids)]


def encode_side(tokenizer: Tokenizer, side: int, texts: Sequence[str], starts: Sequence[Start]) -> list[list[int]]:
    """The ids of sources (side 0) or targets (side 1). `starts`: what each pair begins with, to tell the language."""
    ids = tokenizer.encode_target(texts) if side else tokenizer.encode_source(texts)
    return [start[side] + text if text and start[side] else text for start, text in zip(starts, ids, strict=True)]


def encode_pairs(tokenizer: Tokenizer, pairs: Sequence[Pair], starts: Sequence[Start] = ()) -> "Pairs":
    """Encode text pairs, AT_ONCE together, for memory. `starts`: as for `encode_side`; empty: the tokenizer's."""
    from nmt.data.batches import Pairs, Sequences  # only now: it imports PyTorch, which nmt.tokenizer doesn't need

    starts = starts or [tokenizer.starts()] * len(pairs)

    def encoded(side: int) -> "Sequences":
        parts = (slice(start, start + AT_ONCE) for start in range(0, len(pairs), AT_ONCE))
        chunks = (([pair[side] for pair in pairs[part]], starts[part]) for part in parts)
        return Sequences.of(ids for texts, first in chunks for ids in encode_side(tokenizer, side, texts, first))

    return Pairs(encoded(0), encoded(1))


def characters_of(model: Any) -> Characters:
    pieces = (str(model.id_to_piece(i)) for i in range(PAD + 1, model.vocab_size()))
    return Characters(piece for piece in pieces if len(piece) == 1 and piece != SPACE)


def join_surrogates(text: str) -> str:
    """The text with surrogate pairs joined, and U+FFFD for lone surrogates."""
    try:
        text.encode()  # takes a third of the time in which a pattern looks for surrogates
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def encode(model: Any, texts: Sequence[str]) -> list[list[int]]:
    texts = list(map(join_surrogates, texts))
    if isinstance(model, MappedModel):
        return model.encode(texts)
    marked = [n for n, text in enumerate(texts) if SPACE in text]
    for n in marked:
        texts[n] = texts[n].replace(STAND_IN, "\ufffd").replace(SPACE, STAND_IN)
    few = len(texts) < 32  # a batch of texts starts threads, which takes 0.1 ms
    ids: list[list[int]] = [model.encode(t, out_type=int) for t in texts] if few else model.encode(texts, out_type=int)
    for n in marked:
        ids[n] = respell(ids[n], byte_ids(model, STAND_IN), byte_ids(model, SPACE))
    return ids


def byte_ids(model: Any, character: str) -> list[int]:
    return [model.piece_to_id(f"<0x{byte:02X}>") for byte in character.encode()]


def respell(ids: list[int], old: list[int], new: list[int]) -> list[int]:
    """Replace each run `old` by `new`, of equal length. Without byte fallback both are unk: nothing changes."""
    ids = list(ids)
    for start in range(len(ids) - len(old) + 1):
        if ids[start : start + len(old)] == old:
            ids[start : start + len(old)] = new
    return ids


def load_model(path: Path) -> Any:
    from sentencepiece import SentencePieceProcessor

    require(path.is_file(), f"{path} is missing")
    proto = path.read_bytes()
    require(len(proto) > 0, f"{path} is empty: copy or train the tokenizer again")
    try:
        model = SentencePieceProcessor(model_proto=proto)
    except RuntimeError as error:
        raise ValueError(f"{path} is damaged or not a SentencePiece model: copy or train it again") from error
    ids = {name: getattr(model, name)() for name in SPECIAL_IDS}
    require(ids == SPECIAL_IDS, f"{path} has the special ids {ids}, not {SPECIAL_IDS}: train it with nmt.prepare")
    return model


def load_words(folder: Path) -> Words | None:
    return read_part(folder / WORDS, Words.parse)


def read_part(file: Path, parse: Callable[[str], Part]) -> Part | None:
    """What a file beside the models has; None without the file."""
    try:
        return parse(file.read_text(encoding="utf8")) if file.is_file() else None
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}") from error
