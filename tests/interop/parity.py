"""Comparison of a converted model with transformers, on the same sentences."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nmt.config import SearchConfig
from nmt.decode.pytorch import Begun
from nmt.interop.convert import convert
from nmt.translation.translator import Translator
from tests.interop.foreign import sides

LENGTH = 24  # most pieces of a translation


@dataclass
class Twins:
    """A model of transformers, and the same model converted; `tokenizer` is that of transformers."""

    theirs: Any
    tokenizer: Any
    ours: Translator
    forced: int | None = None
    """The id of the piece that translations of theirs begin with."""

    @classmethod
    def convert(cls, folder: Path, theirs: Any, kind: str, source: str = "", target: str = "") -> "Twins":
        """Convert the model in a folder, into a folder beside it. `kind`: the class of its tokenizer."""
        ours = folder.with_name(f"{folder.name}-ours")
        convert(folder, ours, str(folder), (source, target))
        tokenizer = load_tokenizer(folder, kind, source, target)
        piece = f"__{target}__" if kind.startswith("M2M") else target
        forced = tokenizer.convert_tokens_to_ids(piece) if target else None
        return cls(theirs, tokenizer, load_translator(ours), forced)

    def settings(self, **changes: Any) -> SearchConfig:
        plain = replace(
            self.ours.search, guard=False, max_length=LENGTH, max_length_ratio=100.0, split_above=10_000, beam_size=1
        )
        return replace(plain, **changes)

    def generate(self, lines: list[str], **options: Any) -> Any:
        torch.manual_seed(1)
        batch = self.tokenizer(lines, return_tensors="pt", padding=True)
        extra = 0 if self.forced is None else 1
        return self.theirs.generate(
            **batch,
            **{"num_beams": 1, "do_sample": False, "length_penalty": 1.0, "forced_eos_token_id": None, **options},
            max_new_tokens=LENGTH + 1 + extra,
            suppress_tokens=[self.theirs.config.pad_token_id],  # ours doesn't write it either
            forced_bos_token_id=self.forced,
            return_dict_in_generate=True,
            output_scores=True,
        )

    def their_pieces(self, lines: list[str], **options: Any) -> list[list[str]]:
        """The first pieces of their translations, at most LENGTH, without those that begin and end them."""
        first = 1 if self.forced is None else 2
        generated, config = self.generate(lines, **options).sequences[:, first:].tolist(), self.theirs.config
        pieces = [self.tokenizer.convert_ids_to_tokens(ids) for ids in generated]
        ends = {self.tokenizer.convert_ids_to_tokens(i) for i in (config.eos_token_id, config.pad_token_id)}
        return [[piece for piece in row if piece not in ends][:LENGTH] for row in pieces]

    def equal(self, lines: list[str], **options: Any) -> float:
        """The share of lines whose translations have the same pieces."""
        names = {"num_beams": "beam_size", "length_penalty": "length_penalty"}
        changes = {ours: options[theirs] for theirs, ours in names.items() if theirs in options}
        n_best = self.ours.translate_n_best(lines, self.settings(**changes))
        ours = [self.ours.tokenizer.target_pieces(best.parts[0].hypothesis.ids) for best, *_ in n_best]
        theirs = self.their_pieces(lines, **options)
        return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(lines)

    def difference(self, lines: list[str], targets: list[str]) -> float:
        """The largest difference of log-probabilities, of all pieces after each position of given translations."""
        worst = 0.0
        tokenizer = self.ours.tokenizer
        model = Begun(self.ours.model, *tokenizer.starts())
        for source, target in zip(lines, targets, strict=True):
            src = torch.tensor([[*tokenizer.encode_source([source])[0], 2]])
            ids = tokenizer.encode_target([target])[0]
            batch = self.tokenizer([source], text_target=[target], return_tensors="pt")
            labels = batch.pop("labels")[0].tolist()
            with torch.inference_mode():
                found = model(src, torch.ones_like(src, dtype=torch.bool), torch.tensor([[1, *ids]]))
                inputs = torch.tensor([[self.theirs.config.decoder_start_token_id, *labels[:-1]]])
                expected = self.theirs(**batch, decoder_input_ids=inputs).logits[:, -found.size(1) :]
            gold = torch.tensor([[*labels[-len(ids) - 1 :]]])
            ours = torch.tensor([[*ids, 2]])
            found, expected = found.log_softmax(-1), expected.log_softmax(-1)
            given = found.gather(2, ours[:, :, None]) - expected.gather(2, gold[:, :, None])
            worst = max(worst, float(given.abs().max()))
            n = min(found.size(2), expected.size(2)) - 2  # special pieces that only one side has come last
            top = found.sort(descending=True)[0][..., :n] - expected.sort(descending=True)[0][..., :n]
            worst = max(worst, float(top.abs().max()))
        return worst


def train_on_words(folder: Path, model: Any, kind: str, steps: int, source: str = "", target: str = "") -> None:
    """Train a model of transformers on the first 500 sentences of `sides`, so that its translations end, and beams
    differ from greedy ones; write it into its folder. `kind`: the class of its tokenizer."""
    tokenizer, (sources, targets) = load_tokenizer(folder, kind, source, target), sides()
    batch = tokenizer(sources[:500], text_target=targets[:500], return_tensors="pt", padding=True)
    padding = torch.tensor([model.config.pad_token_id, tokenizer.pad_token_id])  # two vocabularies have two
    labels = batch["labels"].masked_fill(torch.isin(batch["labels"], padding), -100)
    optimizer = torch.optim.Adam(model.parameters(), 8e-3)
    generator = torch.Generator().manual_seed(1)
    model.train()
    for _ in range(steps):
        rows = torch.randint(500, (32,), generator=generator)
        ids = {name: batch[name][rows] for name in ("input_ids", "attention_mask")}
        loss = model(**ids, labels=labels[rows]).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)


def load_tokenizer(folder: Path, kind: str, source: str, target: str) -> Any:
    import transformers

    options = {"src_lang": source, "tgt_lang": target} if source else {}
    return getattr(transformers, kind).from_pretrained(folder, **options)


def load_translator(folder: Path) -> Translator:
    return Translator.load(folder, device="cpu", precision="fp32")
