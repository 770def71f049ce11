"""The tokenizer as `tokenizer.json` of the tokenizers library: a joint SentencePiece model in, a JSON object out.

Text is read as a translator reads its source: tidied (`nmt.text.normalise`), then characters without a piece take their
nearest form (`nmt.text.characters`), then the text is divided into pieces. Two things differ: a ▁ in the text is read
as a space, and characters in addresses, tags and numbers take their nearest form too.
"""

import io
import re
import struct
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from nmt.data.tokenizer import Tokenizer
from nmt.text.characters import AFTER_DIGIT, JOINERS, SIMILAR, USES_JOINERS, WORDY, Characters
from nmt.text.characters import INVISIBLE as UNSEEN
from nmt.text.normalise import REPLACEMENTS
from nmt.vocabulary import SPACE, SPECIAL_PIECES, UNK

# SentencePiece's numbers of kinds of pieces, and of algorithms.
NORMAL, USER_DEFINED, BPE = 1, 4, 2
CONTENT = "$A"  # the text in a template
# A literal special piece in the text, such as </s> or <0x41>, up to its last character.
LITERAL = r"<(?:unk|/?s|pad|0x[0-9A-F]{2})(?=>)"
EMOJI = "\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"  # joiners stay between them
# Code points whose nearest forms are looked for, besides those that `nmt.text.characters` lists: Georgian capitals and
# small Cherokee letters; Latin with accents, Greek, Cyrillic, digits, punctuation, symbols, ligatures, wide forms.
RANGES = "1C90-1CBF AB70-ABBF A0-52F 660-66F 966-96F 1E00-218F 2460-2473 3000-303F FB00-FB06 FF01-FF5E"
BOUNDS = [[int(code, 16) for code in part.split("-")] for part in RANGES.split()]
CANDIDATES = [chr(code) for first, last in BOUNDS for code in range(first, last + 1)]


class Piece(NamedTuple):
    """A piece of a SentencePiece model."""

    text: str
    score: float
    kind: int


def read_proto(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message in the wire format of Protocol Buffers, as (number, value): an integer, or bytes."""
    stream = io.BytesIO(data)

    def varint() -> int:
        value = shift = 0
        while True:
            [byte] = stream.read(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while stream.tell() < len(data):
        key = varint()
        kind = key & 7
        size = varint() if kind in (0, 2) else {1: 8, 5: 4}[kind]
        yield key >> 3, size if kind == 0 else stream.read(size)


def read_pieces(proto: bytes) -> tuple[list[Piece], bool]:
    """The pieces of a SentencePiece model, and whether its algorithm is BPE."""
    pieces, is_bpe = list[Piece](), False
    for number, value in read_proto(proto):
        if number == 1:
            parts = dict(read_proto(value))
            score = struct.unpack("<f", parts.get(2, bytes(4)))[0]
            pieces.append(Piece(parts[1].decode(), score, parts.get(3, NORMAL)))
        elif number == 2:  # the settings of its training
            is_bpe = dict(read_proto(value)).get(3) == BPE
    return pieces, is_bpe


def tokenizer_json(tokenizer: Tokenizer, template: str) -> dict[str, Any]:
    """The contents of tokenizer.json. `template`: what a model reads, such as "<s> $A </s>", where $A is the text."""
    pieces, is_bpe = read_pieces(tokenizer.source.serialized_model_proto())
    special = [{"id": i, "content": name, "special": True, **PLAIN} for i, name in enumerate(SPECIAL_PIECES)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {"type": "Sequence", "normalizers": normalizers(tokenizer.characters[0])},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre_tokenizers(pieces)},
        "post_processor": post_processor(*(words.split() for words in template.split(CONTENT))),
        "decoder": {"type": "Sequence", "decoders": DECODERS},
        "model": (bpe if is_bpe else unigram)(pieces),
    }


PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
DECODERS = [
    {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
]
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}


def has_bytes(pieces: list[Piece]) -> bool:
    return any(piece.text == "<0x00>" for piece in pieces)


def unigram(pieces: list[Piece]) -> dict[str, Any]:
    # A character without a piece costs the lowest score less 10, in both libraries: special pieces must not lower it.
    least = min(piece.score for piece in pieces if piece.kind == NORMAL)
    vocab = [[p.text, p.score if p.kind in (NORMAL, USER_DEFINED) else least] for p in pieces]
    return {"type": "Unigram", "unk_id": UNK, "vocab": vocab, "byte_fallback": has_bytes(pieces)}


def bpe(pieces: list[Piece]) -> dict[str, Any]:
    """The merges are all pairs of pieces that make a piece, the piece with the highest score first."""
    ids = {piece.text: i for i, piece in enumerate(pieces)}
    ranked = sorted((p for p in pieces if p.kind == NORMAL and len(p.text) > 1), key=lambda p: -p.score)
    normal = {piece.text for piece in pieces if piece.kind == NORMAL}
    merges = [
        [piece.text[:place], piece.text[place:]]
        for piece in ranked
        for place in sorted(range(1, len(piece.text)), key=lambda n: (ids.get(piece.text[:n], 0), n))
        if piece.text[:place] in normal and piece.text[place:] in normal
    ]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": SPECIAL_PIECES[UNK],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": has_bytes(pieces),
        "ignore_merges": any(piece.kind == USER_DEFINED for piece in pieces),  # these have no merges
        "vocab": ids,
        "merges": merges,
    }


def replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def normalizers(characters: Characters) -> list[dict[str, Any]]:
    """The rules of `tidy`, then the nearest forms, then runs of spaces made one, as SentencePiece reads them."""
    # The first rule, of a final CR, follows from the last one and the removal of outer blanks; and no text has
    # surrogates.
    tidy = [replace(pattern.pattern, content) for pattern, content, _ in REPLACEMENTS[2:]]
    return [*tidy, {"type": "NFC"}, STRIP, *nearest(characters), STRIP, replace(" {2,}", " ")]


def nearest(characters: Characters) -> list[dict[str, Any]]:
    """Replacements of characters without a piece: joiners and marks, then a rule for each form of others."""
    known = re.escape("".join(sorted(characters.known - {" "})))
    unseen = [
        replace(rf"(?![{known}\ufe0f]){UNSEEN.pattern}", ""),
        replace(f"(?<![{USES_JOINERS.pattern[1:-1]}{EMOJI}])[{JOINERS}]", ""),
    ]
    forms: dict[tuple[bool, str], str] = {}
    for character in sorted({*SIMILAR, *WORDY, *CANDIDATES} - characters.known):
        if not UNSEEN.match(character) and unicodedata.category(character)[0] not in "MC":
            form = characters.find_form(character)
            if form is not None:
                group = unicodedata.decomposition(character).startswith(AFTER_DIGIT), form
                forms[group] = forms.get(group, "") + character
    # Superscripts and fractions stay after a digit. They come last, when other digits have become ASCII digits.
    rules = [
        replace(rf"{'(?<![0-9⁰-₉²³¹])' if after else ''}[{re.escape(group)}]", form)
        for (after, form), group in sorted(forms.items())
    ]
    mark = rf"(?![{known}\ufe0f])"
    marks = [replace(rf"(?<![^ ])(?:{mark}\p{{M}})+", ""), replace(rf"(?<=[{known}])(?:{mark}[\p{{Mn}}\p{{Me}}])+", "")]
    return [*unseen, *rules, *marks]


def pre_tokenizers(pieces: list[Piece]) -> list[dict[str, Any]]:
    """Spaces become ▁, one more ▁ is put before the text, and text that looks like a special piece is cut in two."""
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": False}
    steps = [space, split(LITERAL, "MergedWithPrevious")]
    symbols = sorted((p.text for p in pieces if p.kind == USER_DEFINED), key=len, reverse=True)
    return [*steps, split("|".join(map(re.escape, symbols)), "Isolated")] if symbols else steps


def split(pattern: str, behavior: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def post_processor(before: list[str], after: list[str]) -> dict[str, Any]:
    """Puts special pieces around a text. Those after it are one entry: llama.cpp's converter takes the first piece of
    the last entry for EOS."""
    ids = {name: i for i, name in enumerate(SPECIAL_PIECES)}
    entries = [*([word] for word in before), *([after] if after else [])]
    known = {names[0]: {"id": names[0], "ids": [ids[name] for name in names], "tokens": names} for names in entries}
    first = [{"SpecialToken": {"id": word, "type_id": 0}} for word in before]
    last = [{"SpecialToken": {"id": word, "type_id": 0}} for word in after[:1]]
    single = [*first, {"Sequence": {"id": "A", "type_id": 0}}, *last]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}, *last]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known}
