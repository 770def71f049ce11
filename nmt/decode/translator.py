"""Text in, text out: the one path from lines to translations, for every command, for validation and for servers.

Lines are tidied as training text was, and become pieces; over-long ones are cut into spans; spans of like length are
searched together; and what is found is joined to text again, in the order of the lines.
"""

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from nmt.config import DecodingConfig, DecodingPrecision, require
from nmt.data.cleaning import tidy
from nmt.data.tokenizer import EOS, PAD, Tokenizer
from nmt.decode.folder import load_model
from nmt.decode.search import Hypothesis, search
from nmt.model.device import choose_device, keep_freed_memory
from nmt.model.incremental import IncrementalDecoder
from nmt.model.precision import with_precision
from nmt.model.transformer import Transformer

# Longest span that is given to the model, in pieces; longer lines are cut: models are trained on single sentences.
SPAN_PIECES = 200
# Of an over-long line, a sentence below this length stays with the next: it may be no sentence but an abbreviation.
SHORT_SENTENCE = 10
# A batch has at most this many source pieces for each of `batch_size` sentences, padding counted: memory stays bounded.
BATCH_PIECES_PER_SENTENCE = 64
# Lines that `stream` reads ahead, for each of `batch_size`: enough to batch lines of like length.
BATCHES_AHEAD = 16

SENTENCE_END = re.compile("[.!?…][\"'”’»)\\]]*(?=▁)|[。！？][”’」』）]*")
CONTINUATION_BYTE = re.compile("<0x[89AB][0-9A-F]>")


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """Without line breaks; empty for a blank line."""

    score: float
    """Length-normalised log-probability (see `nmt.decode.search`); of a line cut into spans, their mean; 0 if blank."""

    log_prob: float
    """Natural logarithm of the probability of its pieces."""

    finished: bool
    """False: some span is as long as was allowed, and probably incomplete or a loop."""


def find_model(folder: str | None, runs: Path = Path("runs")) -> Path:
    """The model folder that is meant: `folder` itself, that of a run folder, or (None) of the newest finished run.

    Raises:
        ValueError: none is given and there is no finished run.
    """
    if folder is not None:
        return Path(folder, "model") if Path(folder, "model").is_dir() else Path(folder)
    finished = [report for report in runs.glob("*/report.json") if (report.parent / "model" / "config.json").is_file()]
    require(bool(finished), f"no model is given and {runs}/ has no finished run: "
                            "give one with --model DIR, or train one with python -m nmt.train")
    return max(finished, key=lambda report: report.stat().st_mtime).parent / "model"


def cut_points(pieces: list[str], limit: int) -> list[int]:
    """Ends of the spans, each at most `limit` pieces, that a source is translated in; [len(pieces)] if it fits whole.

    A longer source is cut at every sentence end that leaves a span of SHORT_SENTENCE pieces or more; what is still too
    long, at the last space that fits; and text without spaces, between characters.
    """
    if len(pieces) <= limit:
        return [len(pieces)]
    text, ends, start = "".join(pieces), [], 0
    sentence_ends = {match.end() for match in SENTENCE_END.finditer(text)}
    position = 0
    for i, piece in enumerate(pieces):
        if i - start == limit:
            start = last_break(pieces, start, i)
            ends.append(start)
        position += len(piece)
        if position in sentence_ends and i + 1 - start >= min(SHORT_SENTENCE, limit):
            start = i + 1
            ends.append(start)
    return ends if ends[-1] == len(pieces) else [*ends, len(pieces)]


def last_break(pieces: list[str], start: int, stop: int) -> int:
    """The last place in (start, stop] where a word begins; if there is none, where a character does."""
    for i in range(stop, start, -1):
        if pieces[i].startswith("▁"):
            return i
    for i in range(stop, start, -1):
        if not CONTINUATION_BYTE.fullmatch(pieces[i]):
            return i
    return stop


def make_batches(spans: Iterable[tuple[int, ...]], batch_size: int) -> Iterator[list[tuple[int, ...]]]:
    """Spans of like length together, longest first; at most `batch_size`, and bounded in pieces."""
    batch: list[tuple[int, ...]] = []
    for span in sorted(spans, key=len, reverse=True):
        longest = len(batch[0]) if batch else 0
        if len(batch) == batch_size or (len(batch) + 1) * longest > batch_size * BATCH_PIECES_PER_SENTENCE:
            yield batch
            batch = []
        batch.append(span)
    if batch:
        yield batch


def pad(spans: list[tuple[int, ...]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Source ids (B, S) with EOS, and the mask (B, S) that is True at real positions."""
    longest = max(len(span) for span in spans) + 1
    src_BS = torch.tensor([[*span, EOS, *[PAD] * (longest - 1 - len(span))] for span in spans], device=device)
    return src_BS, src_BS != PAD


def best_joins(found: list[list[Hypothesis]], n_best: int) -> list[list[Hypothesis]]:
    """The n_best ways, best mean score first, to choose a hypothesis for each span."""
    best: list[tuple[float, list[Hypothesis]]] = [(0.0, [])]
    for hypotheses in found:
        longer = ((total + h.score, [*chosen, h]) for total, chosen in best for h in hypotheses)
        best = heapq.nlargest(n_best, longer, key=lambda item: item[0])
    return [chosen for _, chosen in best]


class Translator:
    """A model with its tokenizer. May be used by several threads at once."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, decoding: DecodingConfig | None = None,
                 precision: DecodingPrecision = "fp32") -> None:
        """Args:
            model: is put into evaluation mode.
            tokenizer: the one that the model was trained with.
            decoding: the defaults of `DecodingConfig` if not given.
            precision: fp32, bf16, int8 or auto (see `nmt.model.precision`).
        """
        self.model, self.precision = with_precision(model.eval(), precision)
        self.decoder = IncrementalDecoder(self.model)
        self.tokenizer = tokenizer
        self.decoding = decoding or DecodingConfig()

    @classmethod
    def load(cls, folder: Path | str, device: str | torch.device = "auto",
             decoding: DecodingConfig | None = None, precision: DecodingPrecision = "auto") -> "Translator":
        """From a model folder; with the decoding settings stored there, unless others are given.

        Raises:
            ValueError: it is no whole model folder, or the device or precision isn't there.
        """
        keep_freed_memory()
        model, tokenizer, info = load_model(Path(folder), choose_device(str(device)))
        return cls(model, tokenizer, decoding or info.decoding, precision)

    def translate(self, lines: list[str]) -> list[str]:
        """The best translation of each line; empty for a blank one."""
        return [best[0].text for best in self.translate_n_best(lines)]

    def translate_n_best(self, lines: list[str]) -> list[list[Translation]]:
        """The `decoding.n_best` best translations of each line, best first; of a blank line, as many empty ones."""
        spans_of = [self.spans(ids) for ids in self.tokenizer.encode_source([tidy(line)[0] for line in lines])]
        found: dict[tuple[int, ...], list[Hypothesis]] = {}
        # A dict, not a set, so that batches are the same in every process; a repeated span is searched once.
        distinct = dict.fromkeys(span for spans in spans_of for span in spans)
        for batch in make_batches(distinct, self.decoding.batch_size):
            src_BS, src_mask_BS = pad(batch, next(self.model.parameters()).device)
            found.update(zip(batch, search(self.decoder, src_BS, src_mask_BS, self.decoding), strict=True))
        return [self.join([found[span] for span in spans]) for spans in spans_of]

    def stream(self, lines: Iterable[str]) -> Iterator[str]:
        """The best translation of each line, in order, reading only some batches ahead."""
        rest = iter(lines)
        while chunk := list(islice(rest, self.decoding.batch_size * BATCHES_AHEAD)):
            yield from self.translate(chunk)

    def spans(self, ids: list[int]) -> list[tuple[int, ...]]:
        """The parts that a source is translated in; none if it is blank."""
        limit = min(SPAN_PIECES, (self.model.max_positions or SPAN_PIECES + 1) - 1)
        if len(ids) <= limit:
            return [tuple(ids)] if ids else []
        ends = cut_points(self.tokenizer.source_pieces(ids), limit)
        return [tuple(ids[start:end]) for start, end in zip([0, *ends], ends, strict=False)]

    def join(self, found: list[list[Hypothesis]]) -> list[Translation]:
        """The translations of a line from the hypotheses of its spans."""
        if not found:
            return [Translation("", 0.0, 0.0, finished=True)] * self.decoding.n_best
        return [self.translation(chosen) for chosen in best_joins(found, self.decoding.n_best)]

    def translation(self, chosen: list[Hypothesis]) -> Translation:
        texts = self.tokenizer.decode_target([h.ids for h in chosen])
        return Translation(
            text=" ".join(filter(None, (tidy(text)[0] for text in texts))),
            score=sum(h.score for h in chosen) / len(chosen),
            log_prob=sum(h.log_prob for h in chosen),
            finished=all(h.finished for h in chosen))
