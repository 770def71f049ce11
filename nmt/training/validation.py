"""How good the model is now: loss, BLEU and chrF on the validation pairs; and samples that a person can look at."""

import math

import torch
from torch import Tensor

from nmt.config import SearchConfig, TrainingConfig
from nmt.data.batches import Pairs, Sequences, make_batch, plan_batches
from nmt.model.device import Numerics
from nmt.model.encoder_decoder import Transformer
from nmt.scoring.metrics import score
from nmt.training.data import TrainingData
from nmt.training.distributed import Processes
from nmt.training.loss import batch_loss
from nmt.training.monitor import Monitor
from nmt.translation.pictures import attention_picture
from nmt.translation.translator import Translator

# Validation sentences shown in TensorBoard, and those of them whose attention is drawn.
SAMPLES, PICTURES = 8, 3
# Positions of a batch whose loss is measured, at least; without gradients they take little memory.
BATCH_TOKENS = 4096


class Validator:
    """Measures a model on the validation pairs; several processes share the work."""

    def __init__(
        self, model: Transformer, data: TrainingData, config: TrainingConfig, numerics: Numerics, processes: Processes
    ) -> None:
        self.model, self.config, self.numerics, self.processes = model, config, numerics, processes
        self.tokenizer, self.pairs, self.text = data.tokenizer, data.validation, data.validation_text
        self.translator = Translator(model, data.tokenizer, SearchConfig(beam_size=1, guard=False))

    def measure(self) -> tuple[dict[str, float], list[str]]:
        """Figures by their TensorBoard tags, and the translations (greedy, for speed) that BLEU and chrF are of."""
        self.model.eval()
        sources, references = map(list, zip(*self.text, strict=True))
        n = self.config.validation_sentences or len(sources)
        translations = self.processes.unshare(self.translator.translate(self.processes.share(sources[:n])))
        scores = {s.name.lower(): s.value for s in score(translations, references[:n])}
        return {f"validation/{name}": value for name, value in {**self.loss(), **scores}.items()}, translations

    def goodness(self, figures: dict[str, float]) -> float:
        """The figure that the best is chosen by; larger is better."""
        return self.goodness_of(figures[f"validation/{self.config.best_metric}"])

    def goodness_of(self, value: float) -> float:
        """A value of `best_metric`, turned so that larger is better."""
        return value if self.config.best_metric in ("bleu", "chrf") else -value

    @torch.inference_mode()
    def loss(self) -> dict[str, float]:
        """Loss, nll and perplexity over the validation pairs, in nats a token."""
        smoothed = nll = tokens = 0.0
        budget = max(BATCH_TOKENS, self.pairs.longest + 1)
        for index in self.processes.share(plan_batches(self.pairs, budget, seed=0, epoch=0)):
            batch = make_batch(self.pairs, index)
            loss = batch_loss(self.model, batch, self.config.label_smoothing, self.numerics)
            smoothed, nll, tokens = smoothed + float(loss.smoothed), nll + float(loss.nll), tokens + batch.target_tokens
        smoothed, nll, tokens = self.processes.total([smoothed, nll, tokens])
        return {"loss": smoothed / tokens, "nll": nll / tokens, "perplexity": math.exp(min(nll / tokens, 50))}

    def show(self, translations: list[str], step: int, monitor: Monitor) -> None:
        """Some validation sentences as a table, and where the model looked while it wrote them as pictures."""
        n = len(translations)
        chosen = [i * n // SAMPLES for i in range(min(SAMPLES, n))]
        cells = [(self.text[i][0], translations[i], self.text[i][1]) for i in chosen]
        table = [
            "| source | translation | reference |",
            "|---|---|---|",
            *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells),
        ]
        monitor.text(step, "samples", "\n".join(table))
        for number, i in enumerate(chosen[:PICTURES]):
            source = self.tokenizer.encode_source([self.text[i][0]])[0]
            target = self.tokenizer.encode_target([translations[i]])[0]
            if source and target:
                columns = [*self.tokenizer.source_pieces(source), "</s>"]
                rows = [*self.tokenizer.target_pieces(target), "</s>"]
                picture = attention_picture(self.attention(source, target), columns, rows)
                monitor.picture(step, f"cross_attention/{number + 1}", picture)

    @torch.inference_mode()
    def attention(self, source: list[int], target: list[int]) -> Tensor:
        """The last layer's cross-attention (T, S), averaged over its heads, while it writes target and EOS."""
        pair = Pairs(Sequences.of([source]), Sequences.of([target]))
        batch = make_batch(pair, torch.tensor([0])).to(self.numerics.device)
        maps: list[Tensor] = []
        memory = self.model.encode(batch.src_BS, batch.src_mask_BS)
        self.model.decode_states(batch.tgt_in_BT, memory, cross_weights=maps)
        return maps[-1][0].mean(0)
