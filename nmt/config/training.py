"""Settings of training, and of adapters that are trained."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from nmt.fields import (
    MAY_CHANGE,
    Count,
    Folder,
    Metavar,
    NotNegative,
    Positive,
    Probability,
    Range,
    Size,
    check_bounds,
    check_use,
    require,
)

Precision = Literal["auto", "fp32", "bf16"]
ObjectiveName = Literal["translation", "lm", "mlm", "denoise", "pair"]


class ObjectiveTraits(NamedTuple):
    """What goes with an objective."""

    families: tuple[str, ...]
    """Families of models that can learn it; a single one is chosen by it."""
    text: Literal["pairs", "target", "both"]
    """What it learns from, unless data.text says otherwise."""
    metrics: tuple[str, ...]
    """What validation measures."""
    label_smoothing: float
    """The usual value."""


LOSSES = ("loss", "nll", "perplexity")
OBJECTIVES: dict[ObjectiveName, ObjectiveTraits] = {
    "translation": ObjectiveTraits(("encoder-decoder", "decoder-only"), "pairs", (*LOSSES, "bleu", "chrf"), 0.1),
    "lm": ObjectiveTraits(("decoder-only",), "target", LOSSES, 0.0),
    "mlm": ObjectiveTraits(("encoder-only",), "both", (*LOSSES, "accuracy"), 0.0),
    "denoise": ObjectiveTraits(("encoder-decoder",), "both", LOSSES, 0.1),
    "pair": ObjectiveTraits(("encoder-only",), "pairs", (*LOSSES, "accuracy"), 0.0),
}


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How the weights are learned, and how often the model is validated."""

    objective: ObjectiveName = "translation"
    """What the model learns to predict: translation (the target from the source), lm (each next piece of a text), mlm
    (hidden pieces), denoise (a text from its noised copy), or pair (whether two sentences translate each other)."""

    seed: Annotated[int, Range(0, 2**32 - 1)] = 1
    """Seed of the initial weights, of dropout and of the order of batches."""

    start_from: Folder = ""
    """Model or run folder whose weights the training starts from (fine-tuning). The settings model.* must be those of
    that model, except dropout, source_attention and the numbers of layers: of a deeper model, the first layers are
    taken; of another family, the parts that fit. Give it as tokenizer.folder too, to keep its vocabulary; of another
    vocabulary, pieces that are in both keep their embeddings."""

    teacher: Folder = ""
    """Model or run folder of a teacher, whose probabilities the model learns (distillation: Hinton et al. 2015). It may
    have any size and family, and needs the tokenizer of the run: give tokenizer.folder too."""

    teacher_weight: Annotated[float, Range(0, 1, open="least")] = 0.8
    """Share of the loss that is the cross entropy with the probabilities of training.teacher. The rest is the usual
    loss."""

    freeze: tuple[Literal["embeddings", "encoder", "decoder"], ...] = ()
    """Parts of the model that training doesn't change, such as '[embeddings, encoder]', for fine-tuning on little
    text."""

    mixing_temperature: Annotated[float | Literal["auto"], Range(1), MAY_CHANGE] = "auto"
    """How evenly the directions of several languages are learned: the share of a direction is its number of pairs to
    the power of 1 / temperature (Arivazhagan et al. 2019): 1 keeps the sizes, and a high one makes all shares equal.
    auto is 5 with three or more languages, and 1 with two."""

    max_steps: Annotated[Count, MAY_CHANGE] = 100_000
    """Number of optimizer steps. With 0, nothing is trained. Schedules that fall end at this step."""

    max_epochs: Annotated[Count, MAY_CHANGE] = 0
    """Number of times that training reads the whole corpus; 0 sets no limit. The first of max_steps, max_epochs and
    max_minutes that is reached ends training."""

    max_minutes: Annotated[NotNegative, MAY_CHANGE] = 0.0
    """Minutes after which training ends, with validations and earlier attempts of the run; 0 sets no limit."""

    batch_tokens: Size = 4096
    """Maximum number of positions on each side of a batch, padding included. Where a model reads both sides as one
    sequence, a batch may have twice as many."""

    accumulate: Size = 1
    """Number of batches in an optimizer step, shared by the processes. The loss is the mean over their target
    pieces."""

    learning_rate: Annotated[Positive, MAY_CHANGE] = 7e-4
    """Highest learning rate, reached at the end of the warm-up."""

    schedule: Literal["inverse-sqrt", "cosine", "linear", "wsd", "constant"] = "inverse-sqrt"
    """Learning rate after the warm-up. inverse-sqrt is the highest rate × sqrt(warmup_steps / step), cosine is half a
    cosine down to min_learning_rate, and linear a line. constant is the highest rate; wsd (warm-up, stable, decay) too,
    until it falls in a line in the last steps (decay_share). Then you can decide late how long a run is."""

    warmup_steps: Count = 4000
    """Number of steps in which the learning rate rises linearly from 0."""

    denoise_steps: Count = 0
    """Number of steps, the first ones, in which the model learns to restore noised text, also that of data.more without
    translations, before it learns to translate: for small corpora. Validations begin after these steps."""

    min_learning_rate: Annotated[NotNegative, MAY_CHANGE] = 0.0
    """Learning rate at the end of the cosine, linear and wsd schedules."""

    decay_share: Annotated[float, Range(0, 1, open="least"), MAY_CHANGE] = 0.2
    """Share of max_steps, at the end, in which the learning rate falls if schedule is wsd."""

    optimizer: Literal["adamw", "muon"] = "adamw"
    """Optimizer: adamw (Loshchilov and Hutter 2019), or muon (Jordan et al. 2024) for matrices and AdamW for the rest.
    A step of Muon is a few percent slower, and fewer steps lead to the same loss."""

    weight_decay: NotNegative = 0.01
    """Weight decay of matrices. Biases, norms and embeddings have none."""

    epsilon: Positive = 1e-9
    """Small number that AdamW adds to a divisor, for numerical stability."""

    clip_norm: Annotated[NotNegative, MAY_CHANGE] = 1.0
    """Maximum norm of the whole gradient; 0 switches clipping off."""

    label_smoothing: Annotated[float | Literal["auto"], Range(0, 1, open="most")] = "auto"
    """Share of the target probability that is spread evenly over the vocabulary (Szegedy et al. 2016). auto is 0.1 for
    translation and denoise, and 0 for other objectives, where the probabilities themselves are needed."""

    r_drop: NotNegative = 0.0
    """Weight of R-Drop (Wu et al. 2021, alpha); 0 switches it off, 5 is usual. Each batch then passes through the model
    twice, in nearly twice the time, and the divergence of the passes is added to the loss. It is for small corpora and
    long runs."""

    device: Annotated[str, Metavar("DEVICE"), MAY_CHANGE] = "auto"
    """Device to train on: auto (a GPU if there is one), cpu, cuda or cuda:N."""

    precision: Precision = "auto"
    """Number format: fp32, bf16, or auto: bf16 if the device has instructions for it. With bf16, layers compute in
    bfloat16, with rounded copies of the weights. Weights, gradients, optimizer, checkpoints and loss stay in fp32."""

    compile: Annotated[bool, MAY_CHANGE] = False
    """Whether the layers of the model are compiled (torch.compile). It is for long trainings on GPUs: it takes half a
    minute at the start, and then saves a sixth of the time. On a CPU it needs a C++ compiler and minutes, and gains
    little."""

    recompute: Annotated[bool, MAY_CHANGE] = False
    """Whether only the input of each layer is stored, and the rest computed again in the backward pass. Results stay
    equal. It takes less memory, and a step takes about a third longer."""

    threads: Annotated[int, Range(0, 1024), MAY_CHANGE] = 0
    """Number of CPU threads; 0 takes one for each core that other programs leave free, and may change during a run.
    Results are equal to the last bit only with the same number."""

    log_every: Annotated[Size, MAY_CHANGE] = 50
    """Number of steps between two records of loss, speed and gradient norm."""

    validate_every: Annotated[Size, MAY_CHANGE] = 1000
    """Number of steps between two validations (loss, BLEU, chrF), each with a checkpoint."""

    save_every: Annotated[Count, MAY_CHANGE] = 0
    """Number of steps between two checkpoints besides those of validations, if these are rare; 0 saves none besides."""

    skip_nonfinite: Annotated[Count, MAY_CHANGE] = 0
    """Number of times in a row that batches are skipped because their loss or gradient isn't finite. After that many,
    or with 0, training saves the state before these batches, stops, and names their lines."""

    validation_sentences: Count = 0
    """Number of validation sentences that are translated (greedily) for BLEU; 0: all. The loss is that of all."""

    keep_checkpoints: Annotated[Size, MAY_CHANGE] = 3
    """Number of newest checkpoints that are kept, for resuming, besides the best checkpoint."""

    best_of: Literal["first", "mean"] = "first"
    """Whether best_metric is measured on the first validation set or is the mean of all, if there are several. It
    decides the same for patience, stop_at, and the figures called validation/."""

    best_metric: Literal["auto", "bleu", "chrf", "loss", "nll", "perplexity", "accuracy"] = "auto"
    """Validation score that decides which checkpoint is the best, and when training stops early. auto is bleu for
    translation and nll for other objectives; accuracy is for mlm and pair."""

    patience: Annotated[Count, MAY_CHANGE] = 0
    """Number of validations without a better best_metric after which training stops; 0 never stops early. It is for a
    constant or inverse-sqrt schedule: a cosine schedule is usually best near its end."""

    stop_at: Annotated[NotNegative, MAY_CHANGE] = 0.0
    """Value of best_metric at which training ends before max_steps; 0 switches this off."""

    ema: Probability = 0.0
    """Decay of an exponential moving average of the weights; 0 switches it off. The averaged weights are then validated
    and delivered. 0.999 suits schedules whose learning rate doesn't end near zero. The cosine schedule needs none."""

    def __post_init__(self) -> None:
        check_bounds("training", self)
        check_use("training", self, self.schedule == "wsd", "training.schedule wsd", ["decay_share"])
        check_use("training", self, bool(self.teacher), "training.teacher", ["teacher_weight"])
        translates = self.objective == "translation"
        check_use("training", self, translates, "training.objective translation", ["denoise_steps"])
        metrics, label_smoothing = OBJECTIVES[self.objective][2:]
        usual = {"best_metric": "bleu" if "bleu" in metrics else "nll", "label_smoothing": label_smoothing}
        for name in (name for name in usual if getattr(self, name) == "auto"):
            object.__setattr__(self, name, usual[name])
        problem = f"training.best_metric is {self.best_metric}, which objective {self.objective} doesn't have"
        require(self.best_metric in metrics, f"{problem}: take one of {', '.join(metrics)}, or auto")

    def is_recorded(self, step: int) -> bool:
        """Whether figures are recorded after this step; also after the last one that restores noised text."""
        return step % self.log_every == 0 or step == self.denoise_steps


@dataclass(frozen=True, kw_only=True)
class LoraConfig:
    """Low-rank adapters (LoRA, Hu et al. 2022), which are trained in place of the weights of training.start_from."""

    rank: Count = 0
    """Rank of the matrix that is learned for each adapted matrix; 0 trains the weights themselves. 8 or 16 are usual.
    The run then has a folder adapter/ besides the model folder, in which the adapter is added to the weights."""

    alpha: Positive = 16.0
    """Factor of adapters: alpha / rank times the learned matrix is added to a matrix. Twice the rank is usual."""

    parts: Literal["all", "attention", "feed_forward"] = "all"
    """Layers whose matrices get adapters: those of attention, of feed_forward, or of both (all)."""

    def __post_init__(self) -> None:
        check_bounds("lora", self)
        check_use("lora", self, self.rank > 0, "lora.rank above 0", ["alpha", "parts"])
