"""The settings of a run: one frozen dataclass a stage, checked when made.

A recipe (YAML) and the command line say only what differs from the defaults here; `nmt.cli` reads both. The field
docstrings are what `--help` prints. Nothing here imports torch, so that help is instant.
"""

import re
import sys
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

Precision = Literal["auto", "fp32", "bf16"]
DecodingPrecision = Literal["auto", "fp32", "bf16", "int8"]


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message), which every command prints as one line, unless the condition holds."""
    if not condition:
        raise ValueError(message)


def require_from(section: str, settings: object, least: float, names: str, up_to: float = sys.float_info.max) -> None:
    """Raise ValueError for one of these settings (parted by spaces) that is below, above `up_to`, or no number."""
    for name in names.split():
        value = getattr(settings, name)
        bounds = f"from {least} to {up_to}" if up_to < sys.float_info.max else f"at least {least}"
        require(least <= value <= up_to, f"{section}.{name} is {value}: it must be {bounds}")


# Of a sentence, in a beam.
MOST_HYPOTHESES = 200

Settings = TypeVar("Settings")


def from_json(kind: type[Settings], values: Any) -> Settings:
    """A dataclass from what JSON says of it. Raises ValueError for values of other types, TypeError for other names."""
    require(isinstance(values, dict), f"{values!r} stands where settings should")
    hints = get_type_hints(kind)
    for name, value in values.items():
        require(name not in hints or has_type(value, hints[name]), f"{name} is {value!r}, which it can't be")
    return kind(**values)


def has_type(value: object, hint: Any) -> bool:
    """Whether a value is what a field's annotation says."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is dict:
        key, item = get_args(hint)
        return isinstance(value, dict) and all(has_type(k, key) and has_type(v, item) for k, v in value.items())
    if get_args(hint):
        return any(has_type(value, one) for one in get_args(hint))
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, hint)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which parallel text is read, and which of its pairs are kept."""

    corpus: str = "auto"
    """phrasebook, multi30k, a folder with train.*, val.* and test*.* files, a TSV or JSONL file, the common prefix of
    two plain files, or hub:NAME[:CONFIGURATION]. auto: multi30k from the hub or, if it can't be had, the phrasebook."""

    source: str = "de"
    """Language to translate from: the ending of the source files, the column or the key of the corpus."""

    target: str = "en"
    """Language to translate into."""

    max_characters: int = 2000
    """Longest side of a training pair; longer pairs are dropped and counted."""

    max_pieces: int = 256
    """Longest side of a training pair in SentencePiece pieces; longer pairs are dropped and counted."""

    max_ratio: float = 5.0
    """Largest ratio of the two sides' lengths in characters (after adding 10 to each, so that short pairs pass)."""

    drop_duplicates: bool = True
    """Drop repeats of a training pair (both sides equal)."""

    drop_held_out: bool = True
    """Drop training pairs whose source sentence occurs in the validation or test text."""

    def __post_init__(self) -> None:
        require(
            self.source != self.target,
            f"data.source and data.target are both {self.source!r}: a translator needs two different languages",
        )
        for name in ("source", "target"):
            require(
                re.fullmatch(r"[\w-]+", getattr(self, name)) is not None,
                f"data.{name} is {getattr(self, name)!r}: it must be a language code such as de, pt-BR or zh_Hans",
            )
        require(self.corpus != "", "data.corpus is empty: name a corpus, such as phrasebook or a folder")
        require_from("data", self, 1, "max_characters max_pieces max_ratio")


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """The SentencePiece model(s). Ids 0 to 3 are always unk, bos, eos and pad."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """Segmentation: unigram (Kudo 2018) or bpe (Sennrich et al. 2016)."""

    vocab_size: int = 8000
    """Pieces, for each model; reduced (and said) when the corpus supports fewer."""

    joint: bool = True
    """One model for both languages, or one for each."""

    character_coverage: float = 1.0
    """Share of the corpus's characters that get a piece of their own; 0.9995 suits Chinese and Japanese."""

    byte_fallback: bool = True
    """Spell characters without a piece as bytes, so that no text is ever unknown (takes 256 ids)."""

    user_defined_symbols: tuple[str, ...] = ()
    """Strings that always stay one piece, such as <br> or {name}."""

    folder: str = ""
    """Folder of a tokenizer, or of a model with its tokenizer, to take instead of training one."""

    def __post_init__(self) -> None:
        floor = 4 + 256 * self.byte_fallback + len(self.user_defined_symbols) + 1
        require(
            self.vocab_size >= floor,
            f"tokenizer.vocab_size is {self.vocab_size}: the special pieces alone need {floor}",
        )
        require(
            0 < self.character_coverage <= 1,
            f"tokenizer.character_coverage is {self.character_coverage}: it is a share, above 0 and at most 1",
        )
        for symbol in self.user_defined_symbols:
            require(
                re.fullmatch(r"[^\s\u2581]+", symbol) is not None,
                f"tokenizer.user_defined_symbols has {symbol!r}: a symbol must have no blanks in it, and no \u2581",
            )
            require(
                re.fullmatch(r"<(unk|s|/s|pad|0x[0-9A-F]{2})>", symbol) is None,
                f"tokenizer.user_defined_symbols has {symbol}, which is a special piece already",
            )
        require(
            len(set(self.user_defined_symbols)) == len(self.user_defined_symbols),
            f"tokenizer.user_defined_symbols are {', '.join(self.user_defined_symbols)}: name each symbol once",
        )


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The encoder–decoder Transformer. The defaults are the base model of Vaswani et al. 2017, table 3."""

    d_model: int = 512
    """Width of the residual stream."""

    n_heads: int = 8
    """Attention heads; each is d_model / n_heads wide."""

    n_kv_heads: int | None = None
    """Key–value heads: n_heads (default) is multi-head, fewer grouped-query (Ainslie et al. 2023), 1 multi-query."""

    encoder_layers: int = 6
    """Blocks of the encoder."""

    decoder_layers: int = 6
    """Blocks of the decoder."""

    d_ff: int = 2048
    """Inner width of the feed-forward layer."""

    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019)."""

    norm_position: Literal["post", "pre"] = "post"
    """After the residual sum as in the paper, or before each sublayer (Xiong et al. 2020; needs less warm-up)."""

    bias: bool = True
    """Whether linear layers and norms have a bias."""

    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """How order is told: sinusoids or a learned table added to the embeddings, or rotations of queries and keys
    (Su et al. 2021; self-attention only)."""

    max_positions: int = 1024
    """Rows of the learned position table, and so its longest sentence in pieces; the other kinds have no limit."""

    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Of the feed-forward layer; swiglu (Shazeer 2020) has a third matrix."""

    tied_embeddings: Literal["three-way", "decoder", "none"] = "three-way"
    """Which of source embedding, target embedding and output layer are one matrix (Press and Wolf 2017): all three
    (needs a joint tokenizer), the last two, or none."""

    dropout: float = 0.1
    """On embeddings and on each sublayer's output before the residual sum."""

    attention_dropout: float = 0.0
    """On attention weights."""

    activation_dropout: float = 0.0
    """Inside the feed-forward layer, after the activation."""

    def __post_init__(self) -> None:
        require_from("model", self, 1, "d_model n_heads encoder_layers decoder_layers d_ff max_positions")
        require(
            self.d_model % self.n_heads == 0,
            f"model.d_model is {self.d_model}: it must be a multiple of model.n_heads, {self.n_heads}",
        )
        require(
            self.positions != "rotary" or self.d_head % 2 == 0,
            f"model.d_model / model.n_heads is {self.d_head}: rotary positions need an even head width",
        )
        require(
            self.kv_heads > 0 and self.n_heads % self.kv_heads == 0,
            f"model.n_kv_heads is {self.n_kv_heads}: it must divide model.n_heads, {self.n_heads}",
        )
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            require(
                0 <= getattr(self, name) < 1,
                f"model.{name} is {getattr(self, name)}: a probability, at least 0 and below 1",
            )

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def kv_heads(self) -> int:
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How the weights are learned, and how often the run looks at itself."""

    seed: int = 1
    """Of the initial weights, dropout and the order of batches."""

    start_from: str = ""
    """Model folder whose weights the run starts from, to fine-tune it; model.* must be its own, dropout aside. With
    tokenizer.folder the same, its vocabulary stays; else pieces that both vocabularies have keep their embedding."""

    freeze: tuple[Literal["embeddings", "encoder", "decoder"], ...] = ()
    """Parts of the model whose weights stay as they are: for fine-tuning on little text."""

    max_steps: int = 100_000
    """Optimizer steps; 0 trains nothing. The cosine schedule ends here."""

    batch_tokens: int | Literal["auto"] = 4096
    """Most target (and most source) positions in a batch, padding counted; auto: doubled while that fits in memory,
    makes training faster and leaves 100 batches in an epoch."""

    accumulate: int = 1
    """Batches whose gradients are added, weighted by their real tokens, before a step; processes share them."""

    shard: bool = False
    """With several processes: share out parameters, gradients and optimizer state among them (FSDP2), for a model that
    one device can translate with but not train: each keeps a whole copy of the weights, to validate. Otherwise each
    has all of it (DDP), which is faster."""

    learning_rate: float = 7e-4
    """Peak, reached at the end of the warm-up."""

    schedule: Literal["inverse-sqrt", "cosine", "constant"] = "inverse-sqrt"
    """After the warm-up: peak × sqrt(warmup / step), half a cosine down to min_learning_rate, or the peak."""

    warmup_steps: int = 4000
    """Steps of linear rise from 0."""

    min_learning_rate: float = 0.0
    """Where the cosine ends."""

    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW (Loshchilov and Hutter 2019), or Muon (Jordan et al. 2024) for matrices and AdamW for the rest: a few
    percent slower a step, and fewer steps to the same loss."""

    muon_rate: float = 2.0
    """Muon's learning rate as a multiple of learning_rate, which is AdamW's."""

    weight_decay: float = 0.01
    """On matrices only: never on biases, norms or embeddings."""

    beta1: float = 0.9
    """AdamW's decay of the first moment."""

    beta2: float = 0.98
    """AdamW's decay of the second moment."""

    epsilon: float = 1e-9
    """AdamW's term for numerical stability."""

    clip_norm: float = 1.0
    """Largest norm of the whole gradient; 0: no clipping."""

    label_smoothing: float = 0.1
    """Share of the target probability spread evenly over the vocabulary (Szegedy et al. 2016): against being too sure.
    0.1 suits nearly every corpus; 0 if the probabilities themselves are wanted."""

    word_dropout: float = 0.0
    """Probability of each piece that encoder and decoder read to be hidden (read as unknown) in training. Makes the
    decoder look at the source rather than go on from its own words; for small corpora. With r_drop each pass hides
    others."""

    r_drop: float = 0.0
    """Above 0, each batch passes through the model twice, and this weighs how far the two dropouts may disagree (alpha
    of R-Drop, Wu et al. 2021; 5). Nearly doubles the time of a step; for small corpora and long runs."""

    subword_sampling: float = 0.0
    """Above 0, the training text is segmented anew in each epoch, at random, so that the model can't rely on one
    spelling: the exponent alpha of Kudo 2018 (1 is mild, 0.2 wild). Needs a unigram tokenizer. For corpora that the
    model could learn by heart."""

    device: str = "auto"
    """auto (a GPU if there is one), cpu, cuda or cuda:N."""

    precision: Precision = "auto"
    """fp32, or bf16 autocast; auto: bf16 where the device multiplies it in hardware, else fp32."""

    compile: bool = False
    """Compile the blocks of the model (torch.compile): for GPUs, where it joins what stands between matrix products.
    On a CPU it takes minutes, needs a C++ compiler, and gains nothing for small models."""

    threads: int = 0
    """CPU threads; 0: all cores."""

    log_every: int = 50
    """Steps between records of loss, speed and gradient norm."""

    validate_every: int = 1000
    """Steps between validations (loss, BLEU, chrF) and checkpoints."""

    validation_sentences: int = 0
    """Validation sentences translated for BLEU, greedily; 0: all. The loss is always of all."""

    keep_checkpoints: int = 3
    """Newest checkpoints kept for resuming and averaging, besides the best."""

    best_metric: Literal["bleu", "chrf", "loss", "nll", "perplexity"] = "bleu"
    """What the best checkpoint and early stopping go by."""

    patience: int = 0
    """Validations without a better best_metric before training stops; 0: never. For a constant or inverse-sqrt
    schedule, when it isn't known how long a corpus takes; a cosine is best at its end, so let it come."""

    stop_at: float = 0.0
    """Value of best_metric with which training ends, before max_steps: to measure how long a quality takes; 0: none."""

    ema: float = 0.0
    """Decay, at each step, of an exponential moving average of the weights, which is then what is validated and kept;
    0: none. 0.999 does for a schedule that doesn't end near zero what the cosine's end does by itself."""

    average: int = 1
    """Checkpoints whose weights are averaged into the model folder, if their mean validates better than the best alone;
    1: that one. 5 to 10 suit long runs whose learning rate doesn't end near zero."""

    average_of: Literal["last", "best"] = "last"
    """Which checkpoints are averaged when average is above 1."""

    def __post_init__(self) -> None:
        require(
            self.batch_tokens == "auto" or self.batch_tokens > 0,
            f"training.batch_tokens is {self.batch_tokens}: it must be positive, or auto",
        )
        require_from("training", self, 1, "accumulate log_every validate_every keep_checkpoints average")
        require_from(
            "training",
            self,
            0,
            "max_steps warmup_steps clip_norm weight_decay patience validation_sentences "
            "threads min_learning_rate stop_at r_drop",
        )
        require(0 <= self.seed < 2**32, f"training.seed is {self.seed}: it must be from 0 to {2**32 - 1}")
        for name in ("beta1", "beta2"):
            require(
                0 <= getattr(self, name) < 1,
                f"training.{name} is {getattr(self, name)}: a decay, at least 0 and below 1",
            )
        require(self.epsilon > 0, f"training.epsilon is {self.epsilon}: it must be positive")
        require(self.muon_rate > 0, f"training.muon_rate is {self.muon_rate}: it must be positive")
        require(
            not (self.shard and self.optimizer == "muon"),
            "training.optimizer is muon, which needs whole matrices: with training.shard take adamw",
        )
        require(not (self.shard and self.compile), "training.compile doesn't go with training.shard: take one of them")
        require(self.learning_rate > 0, f"training.learning_rate is {self.learning_rate}: it must be positive")
        require(
            0 <= self.label_smoothing < 1,
            f"training.label_smoothing is {self.label_smoothing}: a share, at least 0 and below 1",
        )
        require(
            len(set(self.freeze)) < 3, "training.freeze names all three parts of the model: nothing is left to learn"
        )
        require(
            0 <= self.word_dropout < 1,
            f"training.word_dropout is {self.word_dropout}: a probability, at least 0 and below 1",
        )
        require(0 <= self.ema < 1, f"training.ema is {self.ema}: a decay, at least 0 and below 1")
        require(
            0 <= self.subword_sampling <= 1,
            f"training.subword_sampling is {self.subword_sampling}: it must be from 0 (none) to 1",
        )


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """How a translation is found. Used by `nmt.translate`, `nmt.evaluate` and validation alike."""

    beam_size: int = 5
    """Hypotheses kept at each step; 1 is greedy search."""

    beam_groups: int = 1
    """Parts of the beam that each avoid what those before them take (diverse beam search, Vijayakumar et al. 2018), for
    n-best lists that differ in more than a word. Must divide beam_size."""

    diversity: float = 0.5
    """With beam_groups: what a piece loses, in log-probability, for each hypothesis of earlier groups that takes it in
    the same step. It counts in choosing only, not in the score."""

    length_penalty: float = 1.0
    """Exponent of the length that divides a hypothesis's log-probability when hypotheses are ranked; 0: none. Higher
    favours longer translations."""

    length_norm: Literal["average", "gnmt"] = "average"
    """What is raised to that power: the pieces, EOS counted, or (5 + pieces) / 6 (Wu et al. 2016, equation 14)."""

    coverage_penalty: float = 0.0
    """Weight of the coverage penalty when hypotheses are ranked, against parts of the source left out (beta of
    Wu et al. 2016, equation 14; 0.2), from the mean of all cross-attention; 0: none."""

    min_length: int = 0
    """Fewest pieces of a translation."""

    max_length: int = 0
    """Most pieces of a translation; 0: max_length_ratio alone is the limit."""

    max_length_ratio: float = 2.0
    """Longest output, as a multiple of the source's pieces, plus 10."""

    no_repeat_ngram: int = 0
    """No sequence of so many pieces is written twice; 0: any may be. Against loops of weak models; 3 or more."""

    repetition_penalty: float = 1.0
    """What the log-probability of a piece already written is multiplied by (Keskar et al. 2019); 1: nothing."""

    prefix_bias: float = 1.0
    """How a target prefix binds: 1: the translation begins with it; below: a hypothesis that has followed it so far has
    its next piece mixed in with this weight (Arivazhagan et al. 2020), and may leave it."""

    samples: int = 0
    """Above 0: so many translations of each sentence are drawn at random instead of searched for."""

    temperature: float = 1.0
    """Of drawing: logits are divided by it; below 1 the probable becomes more probable."""

    top_k: int = 0
    """Of drawing: from the so many most probable pieces; 0: all."""

    top_p: float = 1.0
    """Of drawing: from the fewest most probable pieces whose probabilities sum to it (Holtzman et al. 2020)."""

    min_p: float = 0.0
    """Of drawing: from pieces at least so probable, as a share of the most probable one (Nguyen et al. 2024)."""

    seed: int = 1
    """Of drawing. A sentence's samples depend on it and on the sentence, not on the batch."""

    mbr: Literal["none", "chrf", "bleu"] = "none"
    """chrf, bleu: of the samples, or else of the beam, take what is most like all others (minimum Bayes risk, Kumar and
    Byrne 2004), rather than what is most probable."""

    split_above: int = 200
    """A line of more pieces is translated sentence by sentence. Training lowers it to its longest source: models lose
    sentences of lines that are longer than any that they have seen."""

    span_pieces: int = 200
    """Longest source, in pieces, that is ever given to the model; what is longer even as a sentence is cut at spaces.
    """

    shortlist: int = 0
    """Output pieces that each source piece of a batch stands for: nothing else is written but frequent pieces; 0: all
    may be. 8, of 16 at most, makes search faster by a fifth to a third and costs 0 to 0.3 BLEU on Multi30k; a line's
    translation then depends a little on its batch. For lines without demands, and not for samples."""

    guard: bool = True
    """Translate again, in other ways, what looks wrong (loops, copies, lost placeholders …), and mark what still does.
    """

    least_confidence: float = 0.0
    """A translation is marked unsure if the mean probability of its pieces (geometric) is below this. Training sets it:
    1 in 200 of the validation text's translations is below."""

    n_best: int = 1
    """Translations returned for each sentence, best first; at most beam_size, or samples."""

    batch_size: int = 64
    """Sentences translated together."""

    def __post_init__(self) -> None:
        require(
            self.beam_groups >= 1 and self.beam_size % self.beam_groups == 0,
            f"decoding.beam_groups is {self.beam_groups}: it must divide decoding.beam_size, {self.beam_size}",
        )
        require_from("decoding", self, 1, "split_above span_pieces")
        require_from("decoding", self, 0, "max_length no_repeat_ngram top_k")
        require_from("decoding", self, 0, "shortlist", up_to=16)
        # These bounds are far beyond all use; memory stays bounded, and what is computed with them a number.
        require_from("decoding", self, 1, "beam_size", up_to=MOST_HYPOTHESES)
        require_from("decoding", self, 1, "batch_size", up_to=10_000)
        require_from("decoding", self, 0, "min_length samples", up_to=1000)
        require_from("decoding", self, 0, "length_penalty", up_to=10)
        require_from("decoding", self, 0, "diversity coverage_penalty", up_to=1000)
        require_from("decoding", self, 0.01, "max_length_ratio", up_to=100)
        require_from("decoding", self, 1, "repetition_penalty", up_to=100)
        require_from("decoding", self, 0.001, "temperature", up_to=1000)
        require(
            not 0 < self.max_length < self.min_length,
            f"decoding.min_length is {self.min_length}: it can't be above decoding.max_length, {self.max_length}",
        )
        require(0 < self.prefix_bias <= 1, f"decoding.prefix_bias is {self.prefix_bias}: it must be above 0, up to 1")
        require(0 < self.top_p <= 1, f"decoding.top_p is {self.top_p}: it must be above 0, up to 1, which is all")
        require(
            0 <= self.least_confidence < 1,
            f"decoding.least_confidence is {self.least_confidence}: a probability, at least 0 and below 1",
        )
        require(0 <= self.min_p < 1, f"decoding.min_p is {self.min_p}: it must be from 0 (all) to below 1")
        kind, choices = ("samples", self.samples) if self.samples else ("beam_size", self.beam_size)
        require(
            1 <= self.n_best <= choices,
            f"decoding.n_best is {self.n_best}: it must be from 1 to decoding.{kind}, {choices}",
        )


@dataclass(frozen=True, kw_only=True)
class Config:
    """A whole run: what `recipes/*.yaml` overrides and `runs/<name>/config.yaml` records."""

    name: str = ""
    """Of the run's folder; empty: SOURCE-TARGET-CORPUS, with the corpus that was really used."""

    runs: str = "runs"
    """Folder that holds the run folders."""

    data: DataConfig = field(default_factory=DataConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: SearchConfig = field(default_factory=SearchConfig)

    def __post_init__(self) -> None:
        require(
            self.tokenizer.joint or self.model.tied_embeddings != "three-way",
            "model.tied_embeddings is three-way: it needs one vocabulary for both languages "
            "(tokenizer.joint: true); with a model for each language, take decoder or none",
        )
        require(
            self.training.subword_sampling == 0 or self.tokenizer.kind == "unigram",
            f"training.subword_sampling is {self.training.subword_sampling}: it needs tokenizer.kind unigram, not "
            f"{self.tokenizer.kind}, which gives one segmentation only",
        )
