"""Text to ids and back, with SentencePiece: tidied pairs flow in, a folder with one model (joint) or two flows out.

Every id below 4 is special: unk 0, bos 1, eos 2, pad 3; the encoders add none of them. Normalisation is the identity,
since text is tidied before (see `nmt.data.cleaning.tidy`). With byte fallback, what has no piece is spelled in bytes:
decoding an encoded text gives it back, but for outer blanks and runs of spaces.

SentencePiece marks a space with U+2581 (▁), and so would read a ▁ of the text as a space. Here a ▁ is spelled by its
three bytes, as if it had no piece, and comes back as itself; without byte fallback it is unknown.
"""

import io
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from nmt.config import TokenizerConfig
from nmt.data.batches import Pairs, Sequences
from nmt.data.cleaning import Pair
from nmt.vocabulary import BOS, EOS, PAD, SPACE, UNK

MAX_SENTENCES = 5_000_000
"""Most sentences that a model is trained on; of a larger corpus, a fixed sample."""

_STAND_IN = "\ufdd0"  # a noncharacter: Unicode keeps it out of exchanged text, so no training text gives it a piece
_SURROGATE = re.compile("[\ud800-\udfff]")
# Not to be learned: the two above, and U+2585, SentencePiece's mark for the unknown: it would skip a sentence with one.
_NO_PIECE = re.compile(f"[{SPACE}{_STAND_IN}\u2585]")
_MAX_BYTES = 1 << 16  # of a training sentence; SentencePiece's own limit of 4,192 would skip longer ones unsaid


class Tokenizer:
    """The model of each side; one object twice when they share it.

    Attributes:
        joint: whether source and target share one model, and so their ids.
        notes: sentences for the user about how training went; empty when loaded.
    """

    def __init__(self, source: Any, target: Any, notes: Sequence[str] = ()) -> None:
        self.source, self.target = source, target
        self.joint = source is target
        self.notes = list(notes)
        self.src_vocab_size: int = source.vocab_size()
        self.tgt_vocab_size: int = target.vocab_size()

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """Read `joint.model`, or `source.model` and `target.model`; ValueError names the file that is no good."""
        joint, separate = folder / "joint.model", [folder / "source.model", folder / "target.model"]
        if joint.exists() and any(path.exists() for path in separate):
            raise ValueError(f"{folder} holds joint.model and a model of one side: remove what doesn't belong to it")
        if joint.exists():
            model = _load_model(joint)
            return cls(model, model)
        if not any(path.exists() for path in separate):
            raise ValueError(f"{folder} holds no tokenizer: neither joint.model nor source.model and target.model")
        return cls(*(_load_model(path) for path in separate))

    def save(self, folder: Path) -> None:
        """Write the model file(s) that `load` reads."""
        folder.mkdir(parents=True, exist_ok=True)
        models = {"joint": self.source} if self.joint else {"source": self.source, "target": self.target}
        for name, model in models.items():
            (folder / f"{name}.model").write_bytes(model.serialized_model_proto())

    def same_as(self, other: "Tokenizer") -> bool:
        """Whether both give the same ids."""
        return all(
            one.serialized_model_proto() == two.serialized_model_proto()
            for one, two in ((self.source, other.source), (self.target, other.target))
        )

    def encode_source(self, texts: Sequence[str]) -> list[list[int]]:
        return _encode(self.source, texts)

    def encode_target(self, texts: Sequence[str]) -> list[list[int]]:
        return _encode(self.target, texts)

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of any ids of the vocabulary: bos, eos and pad are skipped, unk reads ⁇, broken UTF-8 reads U+FFFD."""
        return [str(self.target.decode(list(sentence))) for sentence in ids]

    def decode_source(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [str(self.source.decode(list(sentence))) for sentence in ids]

    def source_pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(self.source.id_to_piece(i)) for i in ids]

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(self.target.id_to_piece(i)) for i in ids]


def encode_pairs(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], chunk: int = 10_000) -> Pairs:
    """Text pairs as ids, some at a time, so that the lists of a large corpus are never all in memory."""

    def encoded(side: int, encode: Callable[[list[str]], list[list[int]]]) -> Sequences:
        return Sequences.of(
            ids
            for start in range(0, len(pairs), chunk)
            for ids in encode([pair[side] for pair in pairs[start : start + chunk]])
        )

    return Pairs(encoded(0, tokenizer.encode_source), encoded(1, tokenizer.encode_target))


def segmentations(model: Any, words: Sequence[str], most: int) -> list[list[list[int]]]:
    """The likeliest segmentations of each word (a text without spaces), its usual one first.

    `model` is `Tokenizer.source` or `.target`. A word with an unknown piece, or with ▁ in it, has but its usual one.

    Raises:
        ValueError: the model is not of the unigram kind.
    """
    words = list(words)
    try:
        likely = model.nbest_encode(words, nbest_size=most, out_type=int)
    except RuntimeError as error:
        raise ValueError(
            "training.subword_sampling needs a unigram tokenizer: this one is of another kind, and gives "
            "one segmentation only"
        ) from error
    usual = _encode(model, words)
    return [
        [best] if UNK in best or SPACE in word else [best, *(ids for ids in options if ids != best)]
        for word, best, options in zip(words, usual, likely, strict=True)
    ]


def _encode(model: Any, texts: Sequence[str]) -> list[list[int]]:
    texts = [_without_surrogates(text) for text in texts]
    marked = [n for n, text in enumerate(texts) if SPACE in text]
    for n in marked:
        texts[n] = texts[n].replace(_STAND_IN, "\ufffd").replace(SPACE, _STAND_IN)
    ids: list[list[int]] = model.encode(texts, out_type=int)
    for n in marked:
        ids[n] = _respell(ids[n], _byte_ids(model, _STAND_IN), _byte_ids(model, SPACE))
    return ids


def _without_surrogates(text: str) -> str:
    """Halves of surrogate pairs joined, lone ones (which no UTF-8 can hold) made U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _byte_ids(model: Any, character: str) -> list[int]:
    return [model.piece_to_id(f"<0x{byte:02X}>") for byte in character.encode()]


def _respell(ids: list[int], old: list[int], new: list[int]) -> list[int]:
    """Replace one byte spelling by another throughout; without byte fallback both are unk, and nothing changes."""
    spelled, position = list(ids), 0
    while position <= len(spelled) - len(old):
        if spelled[position : position + len(old)] == old:
            spelled[position : position + len(old)] = new
        position += 1
    return spelled


def _load_model(path: Path) -> Any:
    from sentencepiece import SentencePieceProcessor

    if not path.exists():
        raise ValueError(f"{path} is missing")
    proto = path.read_bytes()
    if not proto:
        raise ValueError(f"{path} is empty: copy or train the tokenizer again")
    try:
        model = SentencePieceProcessor(model_proto=proto)
    except RuntimeError as error:
        raise ValueError(f"{path} is no SentencePiece model, or a damaged one: copy or train it again") from error
    ids = (model.unk_id(), model.bos_id(), model.eos_id(), model.pad_id())
    if ids != (UNK, BOS, EOS, PAD):
        raise ValueError(
            f"{path} has unk, bos, eos and pad at {ids}, not at {(UNK, BOS, EOS, PAD)}: train it with "
            "nmt.prepare, or with unk_id=0, bos_id=1, eos_id=2, pad_id=3"
        )
    return model


def train_tokenizer(
    pairs: Sequence[Pair], config: TokenizerConfig, folder: Path, source: str, target: str
) -> Tokenizer:
    """Train the model(s) on the pairs and write them to the folder; the same pairs and settings give the same bytes.

    A vocabulary larger than the text supports is reduced, and `notes` says so. ValueError if it is too small for the
    characters that must have a piece.
    """
    notes: list[str] = []
    if config.joint:
        chosen = _sample(pairs, MAX_SENTENCES // 2, notes)
        model = _train_model(chain.from_iterable(chosen), config, f"{source} and {target}", notes)
        tokenizer = Tokenizer(model, model, notes)
    else:
        chosen = _sample(pairs, MAX_SENTENCES, notes)
        tokenizer = Tokenizer(
            _train_model((pair[0] for pair in chosen), config, source, notes),
            _train_model((pair[1] for pair in chosen), config, target, notes),
            notes,
        )
    tokenizer.save(folder)
    return tokenizer


def _sample(pairs: Sequence[Pair], most: int, notes: list[str]) -> Sequence[Pair]:
    if len(pairs) <= most:
        return pairs
    notes.append(f"The tokenizer is trained on a sample of {most:,} of the {len(pairs):,} pairs.")
    return [pairs[n] for n in sorted(random.Random(1).sample(range(len(pairs)), most))]


def _train_model(texts: Iterable[str], config: TokenizerConfig, languages: str, notes: list[str]) -> Any:
    """Train one model, with fewer pieces if SentencePiece asks for that: it names the most it can find."""
    sentences = [_NO_PIECE.sub(" ", text) for text in texts]
    size = config.vocab_size
    while True:
        try:
            model = _run_trainer(iter(sentences), config, size)
            break
        except RuntimeError as error:
            size = _smaller_size(str(error), size, languages)
    if size < config.vocab_size:
        notes.append(
            f"The text in {languages} supports {size:,} pieces, fewer than tokenizer.vocab_size, {config.vocab_size:,}."
        )
    return model


def _smaller_size(message: str, size: int, languages: str) -> int:
    if too_small := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        raise ValueError(
            f"tokenizer.vocab_size is {size}: the characters of the text in {languages} need at least "
            f"{too_small[1]}; raise it, or lower tokenizer.character_coverage"
        )
    too_high = re.search(r"Please set it to a value <= (\d+)", message)
    if not too_high or int(too_high[1]) >= size:
        raise ValueError(f"the tokenizer can't be trained on the text in {languages}: {message}")
    return int(too_high[1])


def _run_trainer(sentences: Iterator[str], config: TokenizerConfig, size: int) -> Any:
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    proto = io.BytesIO()
    SentencePieceTrainer.Train(
        sentence_iterator=sentences,
        model_writer=proto,
        model_type=config.kind,
        vocab_size=size,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        pad_id=PAD,
        normalization_rule_name="identity",
        byte_fallback=config.byte_fallback,
        character_coverage=config.character_coverage,
        user_defined_symbols=list(config.user_defined_symbols),
        max_sentence_length=_MAX_BYTES,
        num_threads=16,  # fixed: unigram's sums, and so its pieces, depend on how many threads share the text
        minloglevel=2,
    )
    return SentencePieceProcessor(model_proto=proto.getvalue())
