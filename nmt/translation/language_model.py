"""Language models: prompts flow in and their continuations flow out; or texts, and their probabilities.

A prompt is tidied and encoded like a line of the training text. A continuation follows it without a gap: its text
begins with a blank if a new word begins.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from nmt.config import DecodingPrecision, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.parallel import map_items
from nmt.decode.pytorch import TorchEngine
from nmt.decode.sampling import Samples, continuations, sample_parts
from nmt.decode.stop import Stop
from nmt.fields import read_value, require, texts_of
from nmt.model.decoder_only import DecoderOnly
from nmt.model.device import choose_device, describe, keep_freed_memory
from nmt.text.normalise import tidy
from nmt.translation.forced import MAX_SCORED
from nmt.translation.model_folder import load_model, require_objective
from nmt.translation.span_search import bounded, make_batches
from nmt.vocabulary import EOS, SPACE

LENGTH = 200  # most pieces of a continuation if search.max_length is 0
Ending = Literal["end", "stop", "length", "time", "no room"]


@dataclass(frozen=True)
class Continuation:
    """What follows a prompt."""

    text: str
    """The text after the prompt, up to a stop string; it begins with a blank if a new word begins."""

    ids: list[int]
    """The pieces that were sampled, without EOS; if a stop string ended the text, with its pieces."""

    token_log_probs: list[float]
    """The model's log-probability of each piece, and of EOS if it was sampled."""

    ending: Ending
    """end (the model ended the text), stop (a stop string), length (the limit on pieces), time (it is up), or no
    room (the prompt is too long for the positions of the model)."""


@dataclass(frozen=True)
class TextScore:
    """How probable a text is."""

    text: str
    """The text, tidied like training text."""

    ids: list[int]
    """Its pieces."""

    token_log_probs: list[float]
    """Natural logarithm of the probability of each piece, and of EOS."""

    @property
    def log_prob(self) -> float:
        """Natural logarithm of the probability of all pieces and EOS."""
        return math.fsum(self.token_log_probs)

    @property
    def mean(self) -> float:
        """Mean log-probability of the pieces and EOS."""
        return self.log_prob / len(self.token_log_probs)

    @property
    def n_characters(self) -> int:
        """Number of characters; the end of the text counts as one."""
        return len(self.text) + 1


def perplexity(mean: float) -> float:
    """The perplexity of a text, given the mean log-probability of its pieces; inf if it is too large for a float."""
    return math.exp(-mean) if mean > -700 else math.inf


def bits_per_character(log_prob: float, n_characters: int) -> float:
    """The bits that a text needs for each character, given its log-probability."""
    return -log_prob / math.log(2) / n_characters


def ends_in_blank(prompt: str) -> bool:
    """Whether a prompt ends in a blank, which its pieces don't have: the continuation begins without one then."""
    return prompt.removesuffix("\r")[-1:].isspace()


class LanguageModel:
    """A language model with its tokenizer. Calls leave no state in it: threads may share it."""

    def __init__(
        self,
        model: DecoderOnly,
        tokenizer: Tokenizer,
        search: SearchConfig | None = None,
        precision: DecodingPrecision = "fp32",
    ) -> None:
        """Prepare the model: evaluation mode, and conversion to the precision. `search`: the default settings of calls.

        ValueError if the device can't compute in this precision.
        """
        self.engine, self.tokenizer = TorchEngine.make([model], precision), tokenizer
        self.search = search or SearchConfig(samples=1)
        [converted] = self.engine.models
        assert isinstance(converted, DecoderOnly)
        self.model = converted

    @classmethod
    def load(
        cls,
        folder: Path | str,
        device: str | torch.device = "auto",
        search: SearchConfig | None = None,
        precision: DecodingPrecision = "auto",
    ) -> "LanguageModel":
        """Load a model folder; by default, calls take one sample with the settings stored in it.

        ValueError if it is not a whole folder of a language model, or the device or precision is missing.
        """
        keep_freed_memory()
        precision = read_value(precision, DecodingPrecision, "precision")
        model, tokenizer, info = load_model(Path(folder), choose_device(str(device)))
        require_objective(info, folder, "lm")
        assert isinstance(model, DecoderOnly)
        stored = replace(info.search, samples=max(1, info.search.samples), n_best=1)
        return cls(model, tokenizer, search or stored, precision)

    @property
    def device(self) -> torch.device:
        return self.engine.device

    def describe(self) -> str:
        """Device, precision and threads, for the user."""
        return describe(self.engine.precision, self.device)

    def settings(self, search: SearchConfig | None, stop: Stop | None) -> SearchConfig:
        search = search or self.search
        if not isinstance(search, SearchConfig) or not isinstance(stop, Stop | None):
            raise TypeError("search must be a SearchConfig (of nmt.config), and the end a Stop (of nmt.decode.stop)")
        return search

    def encode(self, texts: Sequence[str], *, prompts: bool = False) -> list[list[int]]:
        """The ids of each text. In prompts, characters without a piece take their nearest form; texts to score keep
        theirs."""
        tidied = [tidy(text) for text in texts_of(texts, "texts")]
        return self.tokenizer.encode_target(
            [self.tokenizer.characters[1].nearest(text) for text in tidied] if prompts else tidied
        )

    def generate(
        self,
        prompts: Sequence[str],
        search: SearchConfig | None = None,
        stop: Sequence[str] = (),
        *,
        until: Stop | None = None,
    ) -> list[list[Continuation]]:
        """`search.samples` continuations of each prompt, in the order sampled; an empty prompt: texts from their start.

        Args:
            prompts: texts, which may be parts of words or sentences. A blank at the end is not doubled.
            search: the settings of this call (temperature, top_k, top_p, min_p, seed, samples, min_length, max_length,
                batch_size); by default the model's own. With samples 0, the most probable piece is taken at each step.
            stop: a continuation ends before the first of these strings.
            until: ends the call before it is done: by the exception Stopped, or if its time is up with what it has.
        """
        search, stop = self.settings(search, until), texts_of(stop, "stop")
        ids = self.encode(prompts, prompts=True)
        limits = [self.limit(len(prompt), search) for prompt in ids]
        samples = range(max(1, search.samples))
        results = [[Continuation("", [], [], "no room") for _ in samples] for _ in ids]
        fitting = [i for i, limit in enumerate(limits) if limit > 0]
        batches = [
            part
            for batch in make_batches(fitting, search.batch_size, lambda i: len(ids[i]) + limits[i])
            for part in bounded(batch, replace(search, samples=len(samples)), max(limits[i] for i in batch))
        ]

        def run(batch: list[int]) -> list[list[Growing]]:
            starts = [(not ids[i] or ends_in_blank(prompts[i])) for i in batch]
            growing = [[Growing(self.tokenizer, stop, at_start=start) for _ in samples] for start in starts]
            for part in sample_parts(len(samples), len(batch) * max(limits[i] for i in batch)):
                chosen = [of_prompt[w] for of_prompt in growing for w in part]
                job = continuations(self.model, [ids[i] for i in batch], [limits[i] for i in batch], search, part)
                for _ in grow(job, chosen, until):
                    pass
            return growing

        for i, growing in map_items(run, batches, self.device):
            results[i] = [grown.continuation() for grown in growing]
        return results

    def stream(
        self, prompt: str, search: SearchConfig | None = None, stop: Sequence[str] = (), *, until: Stop | None = None
    ) -> Iterator[str]:
        """The text of one continuation in parts, each as soon as it is sampled; arguments as for `generate`.

        ValueError if the prompt is too long for the model, or if `search` asks for several samples.
        """
        search = self.settings(search, until)
        require(search.samples <= 1, f"search.samples is {search.samples}: only one continuation can be streamed")
        [ids] = self.encode([prompt], prompts=True)
        limit = self.limit(len(ids), search)
        require(limit > 0, f"the prompt has {len(ids)} pieces: the model has only {self.model.max_positions} positions")
        growing = Growing(self.tokenizer, stop, at_start=not ids or ends_in_blank(prompt))
        return filter(None, grow(continuations(self.model, [ids], [limit], search), [growing], until))

    def fits(self, prompt: str) -> bool:
        """Whether the model has positions for a prompt and a piece after it."""
        [ids] = self.encode([prompt], prompts=True)
        return self.limit(len(ids), self.search) > 0

    def limit(self, n_prompt: int, search: SearchConfig) -> int:
        """The most pieces that can follow a prompt of so many pieces; 0 or less: the prompt is too long."""
        room, most = self.model.longest_target(n_prompt), min(search.max_length or LENGTH, MAX_SCORED - n_prompt)
        return most if room is None else min(room, most)

    def score(
        self, texts: Sequence[str], search: SearchConfig | None = None, *, stop: Stop | None = None
    ) -> list[TextScore | None]:
        """The score of each text, read from its start to its end; None if it is too long for the model. Of `search`,
        only batch_size is used. Raises Stopped as `stop` says."""
        search, ids, room = self.settings(search, stop), self.encode(texts), self.model.longest_target(0)
        longest = MAX_SCORED if room is None else min(MAX_SCORED, room)
        fitting = [i for i, text in enumerate(ids) if len(text) <= longest]
        batches = make_batches(fitting, search.batch_size, lambda i: len(ids[i]) + 1)
        found = map_items(lambda batch: self.engine.score_texts([ids[i] for i in batch], stop), batches, self.device)
        scores: list[TextScore | None] = [None] * len(ids)
        for i, log_probs in found:
            scores[i] = TextScore(tidy(texts[i]), ids[i], log_probs)
        return scores


class Growing:
    """A continuation in progress, which ends before the first of its stop strings that is complete.

    All that `add` and `finish` return, joined, is what `Tokenizer.decode_target` gives for all pieces, up to the stop
    string. Byte pieces wait until they are a whole character, and text that may begin a stop string waits for the rest.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = (), *, at_start: bool = True) -> None:
        """`at_start`: False if the text continues another one: a blank at its beginning stays."""
        self.tokenizer, self.stop, self.at_start = tokenizer, texts_of(stop, "stop"), at_start
        require("" not in self.stop, "stop has an empty text: give the text before which a continuation ends")
        self.shown, self.held, self.stopped, self.late, self.bytes = "", "", False, False, list[int]()
        self.ids, self.token_log_probs = list[int](), list[float]()

    def add(self, piece: int, log_prob: float) -> str:
        """Add a piece; return the text that is certain now."""
        self.token_log_probs.append(log_prob)
        if piece == EOS:
            return ""
        self.ids.append(piece)
        if self.tokenizer.target.is_byte(piece):
            self.bytes.append(piece)
            # In bytes that are not yet, or not at all, UTF-8, decoding puts U+FFFD.
            whole = "\ufffd" not in self.tokenizer.decode_target([self.bytes])[0]
            return self.release(self.take_bytes() if whole else "")
        text = self.tokenizer.target_pieces([piece])[0].replace(SPACE, " ")
        before = self.take_bytes()
        return self.release(before + (text.lstrip(" ") if self.at_start and not before else text))

    def finish(self) -> str:
        """Return the rest of the text, after the last piece."""
        text = self.release(self.take_bytes())
        rest = "" if self.stopped else self.held
        self.shown += rest
        return text + rest

    def take_bytes(self) -> str:
        text = self.tokenizer.decode_target([self.bytes])[0]
        self.bytes = []
        return text

    def release(self, text: str) -> str:
        """Return what can be shown when this text is added: no part of a stop string."""
        self.at_start = self.at_start and not text
        if self.stopped:
            return ""
        self.held += text
        starts = [(self.held.find(stop), stop) for stop in self.stop]
        found = [(start + len(stop), start) for start, stop in starts if start >= 0]
        self.stopped = bool(found)
        begun = (n for stop in self.stop for n in range(1, len(stop)) if self.held.endswith(stop[:n]))
        end = min(found)[1] if found else len(self.held) - max(begun, default=0)
        shown, self.held = self.held[:end], self.held[end:]
        self.shown += shown
        return shown

    def continuation(self) -> Continuation:
        ended = len(self.token_log_probs) > len(self.ids)
        ending: Ending = "stop" if self.stopped else "end" if ended else "time" if self.late else "length"
        return Continuation(self.shown, self.ids, self.token_log_probs, ending)


def grow(batch: Samples, growing: list[Growing], stop: Stop | None) -> Iterator[str]:
    """Take all steps of a batch, as far as there is time; yield each addition to one of the texts. Raises Stopped as
    `stop` says."""
    width = len(growing) // len(batch.limits)
    while batch.live and not (stop and stop.is_late()):
        for prompt, sample, piece, log_prob in batch.step():
            continuation = growing[prompt * width + sample]
            yield continuation.add(piece, log_prob)
            if continuation.stopped:
                batch.live.discard((prompt, sample))
    for prompt, sample in batch.live:
        growing[prompt * width + sample].late = True
    for continuation in growing:
        yield continuation.finish()
