"""SentencePiece models of other libraries, whose pieces have ids by a list of their own: text in, ids out, and back.

The lists begin with our special pieces (see `nmt.vocabulary`); piece i of the list has id i, whatever number it has in
the SentencePiece model. A folder has the models, source.spm and target.spm; pieces.json has the lists and languages.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt.data.tokenizer.languages import Languages
from nmt.fields import read_value, require
from nmt.vocabulary import FIRST_PIECE, SPECIAL_PIECES, UNK

PIECES, SOURCE, TARGET = "pieces.json", "source.spm", "target.spm"
FORMAT = 1
BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))


def unique_names(pieces: Sequence[str]) -> list[str]:
    """The pieces, each with a name of its own. A converted model may have a second <s> or <pad>, which no text has."""
    first = {piece: i for i, piece in reversed(list(enumerate(pieces)))}
    return [piece if first[piece] == i else f"<unused{i}>" for i, piece in enumerate(pieces)]


class MappedModel:
    """A SentencePiece model with other ids: the methods of a SentencePieceProcessor that we call."""

    def __init__(self, proto: bytes, pieces: Sequence[str], hidden: Sequence[str]) -> None:
        """`hidden`: pieces that stand for no text, such as those of languages."""
        from sentencepiece import SentencePieceProcessor

        self.proto, self.pieces = proto, list(pieces)
        self.model = SentencePieceProcessor()
        self.model.load_from_serialized_proto(proto)  # which refuses an empty one
        self.ids = {piece: i for i, piece in reversed(list(enumerate(pieces)))}
        silent = {*SPECIAL_PIECES, *hidden}
        self.silent = {i for i, piece in enumerate(pieces) if piece in silent}

    def vocab_size(self) -> int:
        return len(self.pieces)

    def id_to_piece(self, i: int) -> str:
        return self.pieces[i]

    def piece_to_id(self, piece: str) -> int:
        return self.ids.get(piece, UNK)

    def is_byte(self, i: int) -> bool:
        return self.pieces[i] in BYTES

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        found = self.model.encode(list(texts), out_type=str)
        return [[self.piece_to_id(piece) for piece in pieces] for pieces in found]

    def decode(self, ids: Sequence[Any]) -> Any:
        """The text of ids, or the texts of several sequences. Special pieces are left out."""
        if ids and not isinstance(ids[0], int):
            return [self.decode(sentence) for sentence in ids]
        pieces = [self.pieces[i] for i in ids if i not in self.silent]
        return str(self.model.decode_pieces(pieces)).replace("\u2581", " ").strip()

    def serialized_model_proto(self) -> bytes:
        """What makes this model differ from others."""
        return b"\0".join([self.proto, *(piece.encode() for piece in self.pieces)])


def mapped_models(
    protos: tuple[bytes, bytes], pieces: tuple[list[str], list[str]], languages: Languages
) -> tuple[MappedModel, MappedModel, Languages]:
    """The models of both sides, and the languages that they know, as a `Tokenizer` takes them. ValueError if a list
    doesn't begin with our special pieces, or lacks a piece of a language."""
    sides = list[MappedModel]()
    both = {*languages.before_source.values(), *languages.before_target.values()}
    for name, proto, listed in zip((SOURCE, TARGET), protos, pieces, strict=True):
        require(listed[:FIRST_PIECE] == list(SPECIAL_PIECES), f"the pieces begin with {listed[:FIRST_PIECE]}")
        try:
            sides.append(MappedModel(proto, listed, [*both, "<mask>"]))
        except RuntimeError as error:
            raise ValueError(f"{name} is damaged, or no SentencePiece model: copy it again") from error
    for start, model in zip(languages.starts(), sides, strict=True):
        require(all(piece in model.ids for piece in start), f"there is no piece {' or '.join(start)}")
    return sides[0], sides[1], languages


def load_mapped(folder: Path) -> tuple[MappedModel, MappedModel, Languages]:
    """Read what `save_mapped` wrote; ValueError names the file that is wrong."""
    try:
        raw = json.loads((folder / PIECES).read_text(encoding="utf8"))
        require(raw["format"] == FORMAT, f"its format is {raw['format']!r}, of a newer nmt")
        languages = read_value(raw["languages"], Languages)
        for name in (SOURCE, TARGET):
            require((folder / name).is_file(), f"{name} is missing")
        protos = (folder / SOURCE).read_bytes(), (folder / TARGET).read_bytes()
        return mapped_models(protos, (raw["source"], raw["target"] or raw["source"]), languages)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise ValueError(f"the tokenizer in {folder} ({PIECES}) can't be read: {error}") from error


def save_mapped(folder: Path, source: MappedModel, target: MappedModel, languages: Languages) -> None:
    others = None if source.pieces == target.pieces else target.pieces
    values = {"format": FORMAT, "languages": asdict(languages), "source": source.pieces, "target": others}
    (folder / PIECES).write_text(json.dumps(values, ensure_ascii=False), encoding="utf8")
    for name, model in ((SOURCE, source), (TARGET, target)):
        (folder / name).write_bytes(model.proto)
