"""Continuations of prompts by a language model, piece by piece: prompts as ids flow in, sampled pieces flow out.

A prompt's continuations depend on the seed and on the prompt alone (see `nmt.decode.sampling`).

Shapes: N prompts still in the batch, W continuations of each, P length of the longest prompt, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch.nn.utils.rnn import pad_sequence

from nmt.config import SearchConfig
from nmt.decode.sampling import next_pieces, random_numbers
from nmt.model.decoder_only import DecoderOnly
from nmt.vocabulary import BOS, EOS


class Continuations:
    """Continuations in progress of a batch of prompts.

    Attributes:
        live: the continuations, as (prompt, sample), that have not ended. The caller may remove some: then they count
            as ended.
    """

    @torch.inference_mode()
    def __init__(
        self,
        model: DecoderOnly,
        prompts: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchConfig,
        samples: range | None = None,
    ) -> None:
        """`prompts`: ids without BOS and EOS; `limits`: the most pieces, at least 1, to add to each, with EOS.

        Of `options`, those of sampling and min_length are used. `options.samples` 0 takes the most probable piece.
        `samples`: the numbers of the samples to take; by default all.
        """
        self.model, self.options, self.limits, self.n_steps = model, options, limits, 0
        samples = samples or range(max(1, options.samples))
        width, device = len(samples), model.device
        # The model reads all of a prompt but its last id, which the first step adds.
        prefixes = [torch.tensor([BOS, *ids][:-1], dtype=torch.int64) for ids in prompts]
        prefix_NP = pad_sequence(prefixes, batch_first=True).to(device)
        lengths_N = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        real_NP = torch.arange(prefix_NP.size(1), device=device) < lengths_N[:, None]
        self.cache = model.start_after(prefix_NP, real_NP, max(limits), width)
        self.tokens_NW = torch.tensor([[[BOS, *ids][-1]] * width for ids in prompts], device=device)
        random_TBW = random_numbers(prompts, limits, options).to(device) if options.samples else None
        self.random_TBW = None if random_TBW is None else random_TBW[:, :, samples.start : samples.stop]
        self.prompts_N = [*range(len(prompts))]
        self.live = {(n, w) for n in self.prompts_N for w in range(width)}

    @torch.inference_mode()
    def step(self) -> list[tuple[int, int, int, float]]:
        """Add a piece to every live continuation; return its prompt, its number, the piece, and the log-probability of
        this. Those that end with EOS, or have reached their limit, have ended."""
        live = {prompt for prompt, _ in self.live}
        left = [n for n, prompt in enumerate(self.prompts_N) if prompt in live]
        if len(left) < len(self.prompts_N):  # prompts whose continuations have all ended leave the batch
            self.prompts_N = [self.prompts_N[n] for n in left]
            left_N = torch.tensor(left, device=self.tokens_NW.device)
            self.cache.keep(left_N)
            self.tokens_NW = self.tokens_NW[left_N]
        logits_NWV = self.model.step(self.tokens_NW, self.cache)
        random_NW = None if self.random_TBW is None else self.random_TBW[self.n_steps, self.prompts_N]
        self.tokens_NW, own_NWV = next_pieces(logits_NWV, self.n_steps, self.options, random_NW)
        log_probs_NW = own_NWV.gather(2, self.tokens_NW[:, :, None])[:, :, 0]
        self.n_steps += 1
        rows = zip(self.prompts_N, self.tokens_NW.tolist(), log_probs_NW.tolist(), strict=True)
        added = [
            (prompt, sample, piece, log_prob)
            for prompt, pieces, log_probs in rows
            for sample, (piece, log_prob) in enumerate(zip(pieces, log_probs, strict=True))
            if (prompt, sample) in self.live
        ]
        self.live -= {(p, w) for p, w, piece, _ in added if piece == EOS or self.limits[p] == self.n_steps}
        return added
