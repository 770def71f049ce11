"""The settings of a run: one frozen dataclass for each stage. Values are checked when a dataclass is made.

A recipe (YAML) and the command line give only the settings that differ from the defaults here; `nmt.cli` reads both.
The docstring of a dataclass is its heading in --help, and the docstring of a field its help: all of it for
`nmt.train`, the first sentence for `nmt.translate`. The annotation of a field has its bounds, the metavar of a text
value, and MAY_CHANGE if the value may change when a run is resumed. Nothing here imports torch, so that --help is fast.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from nmt.fields import (
    MAY_CHANGE,
    Count,
    Folder,
    Language,
    Metavar,
    NotNegative,
    Positive,
    Probability,
    Range,
    Size,
    check_bounds,
    require,
)
from nmt.files import require_plain_name
from nmt.vocabulary import FIRST_PIECE, SPECIAL_PIECES

Precision = Literal["auto", "fp32", "bf16"]
DecodingPrecision = Literal["auto", "fp32", "bf16", "int8"]

MAX_HYPOTHESES = 200  # largest beam size


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Parallel text to read, and which of its pairs to keep."""

    corpus: Annotated[str, Metavar("CORPUS")] = "auto"
    """Name or place of the parallel text. It is phrasebook (built in), multi30k, a folder with train.*, val.* and
    test*.* files, a TSV or JSONL file, the common prefix of two plain files, or hub:NAME[:CONFIGURATION]. auto is
    multi30k from the hub or, if the hub can't be reached, phrasebook."""

    source: Language = "de"
    """Language to translate from, such as de: the ending of the source files, or the name of the column or key."""

    target: Language = "en"
    """Language to translate into, such as en: the ending of the target files, or the name of the column or key."""

    max_characters: Size = 2000
    """Maximum number of characters on each side of a training pair. Longer pairs are dropped and counted."""

    max_pieces: Size = 256
    """Maximum number of SentencePiece pieces on each side of a training pair. Longer pairs are dropped and counted."""

    max_ratio: Annotated[float, Range(1)] = 5.0
    """Maximum ratio between the lengths of the two sides of a training pair, in characters. 10 is added to each length
    first, so that short pairs pass. Other pairs are dropped and counted."""

    drop_duplicates: bool = True
    """Whether a training pair that occurs again, with both sides equal, is dropped."""

    drop_held_out: bool = True
    """Whether training pairs are dropped whose source sentence is also in the validation or test text."""

    def __post_init__(self) -> None:
        require(self.source != self.target, f"data.source and data.target are both {self.source!r}: they must differ")
        for name, code in (("source", self.source), ("target", self.target)):
            is_code = re.fullmatch(r"[\w-]+", code) is not None
            require(is_code, f"data.{name} is {code!r}: it must be a language code such as de, pt-BR or zh_Hans")
        require(self.corpus != "", "data.corpus is empty: name a corpus, such as phrasebook or a folder")
        check_bounds("data", self)


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """The SentencePiece tokenizer, which divides text into pieces. Ids 0 to 3 are always unk, bos, eos and pad."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """Algorithm that divides text into pieces: unigram (Kudo 2018) or bpe (Sennrich et al. 2016)."""

    vocab_size: int = 8000
    """Number of pieces in the vocabulary. If the text is too small for so many, there are fewer (with a message)."""

    joint: bool = True
    """Whether both languages share one vocabulary. Otherwise each language has a tokenizer of its own."""

    character_coverage: Annotated[float, Range(0, 1, open="least")] = 1.0
    """Share of the characters in the training text that the pieces cover. 0.9995 suits Chinese and Japanese."""

    byte_fallback: bool = True
    """Whether characters that are no pieces are spelled as bytes, so that no text is unknown (takes 256 pieces)."""

    user_defined_symbols: tuple[str, ...] = ()
    """Strings that are never divided into pieces, such as '[<br>, <name>]'."""

    folder: Folder = ""
    """Folder of a tokenizer, or of a model with its tokenizer, to use instead of training a new tokenizer."""

    def __post_init__(self) -> None:
        symbols, setting = self.user_defined_symbols, "tokenizer.user_defined_symbols"
        floor = FIRST_PIECE + 256 * self.byte_fallback + len(symbols) + 1
        size = self.vocab_size
        require(size >= floor, f"tokenizer.vocab_size is {size}: the special pieces alone need {floor}")
        check_bounds("tokenizer", self)
        for symbol in symbols:
            is_word = re.fullmatch(r"[^\s\u2581]+", symbol) is not None
            require(is_word, f"{setting} has {symbol!r}: a symbol must have no blanks in it, and no \u2581")
            is_new = symbol not in SPECIAL_PIECES and not re.fullmatch("<0x[0-9A-F]{2}>", symbol)
            require(is_new, f"{setting} has {symbol}, which is a special piece already")
        require(len(set(symbols)) == len(symbols), f"{setting} are {', '.join(symbols)}: name each symbol once")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The Transformer; the defaults are the base model of Vaswani et al. 2017, table 3."""

    d_model: Size = 512
    """Width of the model: the size of the vector of each position."""

    n_heads: Size = 8
    """Number of attention heads. Each head is d_model / n_heads wide."""

    n_kv_heads: Annotated[int | None, Range(1)] = None
    """Number of key–value heads of attention. Without a value, it is n_heads (multi-head attention). Fewer heads are
    grouped-query attention (Ainslie et al. 2023), and 1 is multi-query attention."""

    encoder_layers: Size = 6
    """Number of layers of the encoder."""

    decoder_layers: Size = 6
    """Number of layers of the decoder."""

    d_ff: Size = 2048
    """Inner width of the feed-forward layers."""

    norm: Literal["layer", "rms"] = "layer"
    """Kind of normalisation: layer (LayerNorm, Ba et al. 2016) or rms (RMSNorm, Zhang and Sennrich 2019)."""

    norm_position: Literal["post", "pre"] = "post"
    """Place of the normalisation: post (after the residual sum, Vaswani et al. 2017) or pre (before each sublayer,
    Xiong et al. 2020). pre needs less warm-up."""

    bias: bool = True
    """Whether linear layers and norms have a bias."""

    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """How the model knows the order of pieces. sinusoidal and learned add a vector for each position to the embeddings.
    rotary rotates queries and keys (Su et al. 2021; only in self-attention)."""

    max_positions: Size = 1024
    """Maximum length of a sequence in pieces, with BOS or EOS, if positions are learned; others have no limit."""

    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation function of the feed-forward layers. swiglu (Shazeer 2020) has a third matrix."""

    tied_embeddings: Literal["three-way", "decoder", "none"] = "three-way"
    """Which matrices are shared (Press and Wolf 2017). three-way shares the source embedding, the target embedding and
    the output layer, and needs tokenizer.joint. decoder shares the target embedding and the output layer."""

    dropout: Probability = 0.1
    """Probability of dropout in embeddings, and in the output of each sublayer before the residual sum."""

    attention_dropout: Probability = 0.0
    """Probability of dropout in the attention weights."""

    activation_dropout: Probability = 0.0
    """Probability of dropout inside the feed-forward layers, after the activation."""

    def __post_init__(self) -> None:
        check_bounds("model", self)
        width, heads, kv_heads = self.d_model, self.n_heads, self.kv_heads
        require(width % heads == 0, f"model.d_model is {width}: it must be a multiple of model.n_heads, {heads}")
        rotates = self.positions != "rotary" or self.d_head % 2 == 0
        require(rotates, f"model.d_model / model.n_heads is {self.d_head}: rotary positions need an even head width")
        require(heads % kv_heads == 0, f"model.n_kv_heads is {kv_heads}: it must divide model.n_heads, {heads}")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def kv_heads(self) -> int:
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How the weights are learned, and how often the model is validated."""

    seed: Annotated[int, Range(0, 2**32 - 1)] = 1
    """Seed of the initial weights, of dropout and of the order of batches."""

    start_from: Folder = ""
    """Model folder whose weights the training starts from (fine-tuning). The settings model.* must be those of that
    model, except dropout. If tokenizer.folder is the same folder, the vocabulary stays; otherwise pieces that are in
    both vocabularies keep their embeddings."""

    freeze: tuple[Literal["embeddings", "encoder", "decoder"], ...] = ()
    """Parts of the model that training doesn't change, such as '[embeddings, encoder]', for fine-tuning on little
    text."""

    max_steps: Annotated[Count, MAY_CHANGE] = 100_000
    """Number of optimizer steps. With 0, nothing is trained. The cosine schedule ends at this step."""

    batch_tokens: Annotated[int | Literal["auto"], Range(1)] = 4096
    """Maximum number of positions on each side of a batch, padding included. With auto, the size is doubled as long as
    a batch fits in memory, training gets faster and an epoch has at least 100 batches."""

    accumulate: Size = 1
    """Number of batches in an optimizer step, shared by the processes. The loss is the mean over their target
    pieces."""

    shard: Annotated[bool, MAY_CHANGE] = False
    """Whether several processes share parameters, gradients and optimizer state (FSDP2) instead of each holding all of
    them (DDP, faster). It is for a model that one device can translate with but not train: each process keeps a whole
    copy of the weights to validate."""

    learning_rate: Annotated[Positive, MAY_CHANGE] = 7e-4
    """Highest learning rate, reached at the end of the warm-up."""

    schedule: Literal["inverse-sqrt", "cosine", "constant"] = "inverse-sqrt"
    """Learning rate after the warm-up. inverse-sqrt is the highest rate × sqrt(warmup_steps / step), cosine is half a
    cosine down to min_learning_rate, and constant is the highest rate."""

    warmup_steps: Count = 4000
    """Number of steps in which the learning rate rises linearly from 0."""

    min_learning_rate: Annotated[NotNegative, MAY_CHANGE] = 0.0
    """Learning rate at the end of the cosine schedule."""

    optimizer: Literal["adamw", "muon"] = "adamw"
    """Optimizer of the weights: adamw (Loshchilov and Hutter 2019), or muon (Jordan et al. 2024) for matrices and AdamW
    for the rest. A step of Muon is a few percent slower, and fewer steps lead to the same loss."""

    muon_rate: Positive = 2.0
    """Learning rate of Muon, as a multiple of learning_rate (which is AdamW's)."""

    weight_decay: NotNegative = 0.01
    """Weight decay of matrices. Biases, norms and embeddings have none."""

    beta1: Probability = 0.9
    """Decay rate of AdamW's first moment."""

    beta2: Probability = 0.98
    """Decay rate of AdamW's second moment."""

    epsilon: Positive = 1e-9
    """Small number that AdamW adds to a divisor, for numerical stability."""

    clip_norm: Annotated[NotNegative, MAY_CHANGE] = 1.0
    """Maximum norm of the whole gradient; 0 switches clipping off."""

    label_smoothing: Probability = 0.1
    """Share of the target probability that is spread evenly over the vocabulary (Szegedy et al. 2016). 0.1 suits nearly
    every corpus. Take 0 if you need the probabilities themselves."""

    word_dropout: Probability = 0.0
    """Probability with which each input piece of encoder and decoder is replaced by unk in training. It makes the
    decoder use the source more, and is for small corpora. With r_drop the two passes replace different pieces."""

    r_drop: NotNegative = 0.0
    """Weight of R-Drop (Wu et al. 2021, alpha); 0 switches it off. Each batch then passes through the model twice, and
    the divergence between the two passes is added to the loss. 5 is usual. It nearly doubles the time of a step, and is
    for small corpora and long runs."""

    device: Annotated[str, Metavar("DEVICE"), MAY_CHANGE] = "auto"
    """Device to train on: auto (a GPU if there is one), cpu, cuda or cuda:N."""

    precision: Precision = "auto"
    """Number format of matrix products: fp32, bf16 (autocast), or auto: bf16 if the device has instructions for it."""

    compile: Annotated[bool, MAY_CHANGE] = False
    """Whether the layers of the model are compiled (torch.compile). It is for GPUs, where it fuses the operations
    between matrix products. On a CPU it takes minutes, needs a C++ compiler, and gains nothing for small models."""

    threads: Annotated[Count, MAY_CHANGE] = 0
    """Number of CPU threads; 0 takes one for each core."""

    log_every: Annotated[Size, MAY_CHANGE] = 50
    """Number of steps between two records of loss, speed and gradient norm."""

    validate_every: Annotated[Size, MAY_CHANGE] = 1000
    """Number of steps between two validations (loss, BLEU, chrF), each with a checkpoint."""

    validation_sentences: Annotated[Count, MAY_CHANGE] = 0
    """Number of validation sentences that are translated, by greedy search, for BLEU; 0 takes all. The loss is always
    that of all sentences."""

    keep_checkpoints: Annotated[Size, MAY_CHANGE] = 3
    """Number of newest checkpoints that are kept, for resuming and averaging, besides the best checkpoint."""

    best_metric: Literal["bleu", "chrf", "loss", "nll", "perplexity"] = "bleu"
    """Validation score that decides which checkpoint is the best, and when training stops early."""

    patience: Annotated[Count, MAY_CHANGE] = 0
    """Number of validations without a better best_metric after which training stops; 0 never stops early. It is for a
    constant or inverse-sqrt schedule, if you don't know how long a corpus takes. A cosine schedule is usually best
    near its end, so don't stop it."""

    stop_at: Annotated[NotNegative, MAY_CHANGE] = 0.0
    """Value of best_metric at which training ends before max_steps; 0 switches this off."""

    ema: Probability = 0.0
    """Decay of an exponential moving average of the weights; 0 switches it off. The averaged weights are then validated
    and delivered. 0.999 suits schedules whose learning rate doesn't end near zero. The cosine schedule needs none."""

    average: Annotated[Size, MAY_CHANGE] = 1
    """Number of checkpoints whose weights are averaged; 1 takes the best checkpoint alone. The model folder gets the
    average if it validates better than the best checkpoint. 5 to 10 suit long runs without a cosine schedule."""

    average_of: Annotated[Literal["last", "best"], MAY_CHANGE] = "last"
    """Which checkpoints are averaged if average is above 1."""

    def __post_init__(self) -> None:
        check_bounds("training", self)
        muon = self.shard and self.optimizer == "muon"
        require(not muon, "training.optimizer is muon, which needs whole matrices: with training.shard take adamw")
        require(not (self.shard and self.compile), "training.compile doesn't go with training.shard: take one of them")
        require(len(set(self.freeze)) < 3, "training.freeze names all three parts: nothing is left to learn")


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Beam search and sampling, in evaluation and as the settings that the model keeps. To add a search option, add a
    field here: the commands that translate then have an option for it. Apply it in `nmt.decode` (beam search: a `Rule`
    in rules.py; sampling: sampling.py)."""

    beam_size: Annotated[int, Range(1, MAX_HYPOTHESES)] = 5
    """Number of hypotheses that beam search keeps at each step; 1 is greedy search."""

    length_penalty: Annotated[float, Range(0, 10)] = 1.0
    """Exponent of the length by which a hypothesis's log-probability is divided; 0 switches the division off. Higher
    values favour longer translations."""

    length_norm: Literal["average", "gnmt"] = "average"
    """Length that length_penalty applies to: average (number of pieces, with EOS) or gnmt ((5 + pieces) / 6; Wu et al.
    2016, equation 14)."""

    coverage_penalty: Annotated[float, Range(0, 1000)] = 0.0
    """Weight of a penalty for source words that are left out; 0 switches it off, and 0.2 is usual. It is beta of Wu et
    al. 2016, equation 14, with the mean of all cross-attention heads, and part of the score of a finished
    hypothesis."""

    min_length: Annotated[int, Range(0, 1000)] = 0
    """Minimum number of pieces in a translation, without EOS."""

    max_length: Count = 0
    """Maximum number of pieces in a translation, without EOS; 0 leaves the limit to max_length_ratio."""

    max_length_ratio: Annotated[float, Range(0.01, 100)] = 2.0
    """Maximum length of a translation in pieces, as a multiple of the source's length; 10 pieces are added."""

    no_repeat_ngram: Count = 0
    """Length of n-grams of pieces that may not occur twice in a translation; 0 allows all. 3 or more stops loops."""

    repetition_penalty: Annotated[float, Range(1, 100)] = 1.0
    """Factor for the log-probability of pieces that the hypothesis already has (Keskar et al. 2019); 1 changes
    nothing."""

    samples: Annotated[int, Range(0, 1000)] = 0
    """Number of translations to sample for each sentence, instead of beam search; 0 takes beam search. Penalties and
    constraints are for beam search only."""

    temperature: Annotated[float, Range(0.001, 1000)] = 1.0
    """Temperature of sampling, by which the logits are divided; below 1, probable pieces become more probable."""

    top_k: Count = 0
    """Number of most probable pieces to sample from at each step; 0 samples from all pieces."""

    top_p: Annotated[float, Range(0, 1, open="least")] = 1.0
    """Sampling takes only the most probable pieces that together have this probability (Holtzman et al. 2020)."""

    min_p: Probability = 0.0
    """Sampling takes only pieces with at least this fraction of the highest probability (min-p, Nguyen et al. 2024)."""

    seed: int = 1
    """Seed of random sampling. A sentence's samples depend on the seed and on the sentence, not on the batch."""

    mbr: Literal["none", "chrf"] = "none"
    """How a candidate is chosen: none takes the best hypothesis, or the first sample, and chrf the candidate with the
    highest mean chrF against all (minimum Bayes risk). See Kumar and Byrne 2004."""

    split_above: Count = 0
    """Number of pieces above which a line is cut between its sentences, where short ones may stay together; 0 takes
    the length of the longest training source. Models skip sentences in lines longer than all training sentences."""

    span_pieces: Size = 200
    """Maximum number of source pieces that the model reads at once; a longer sentence is cut at spaces."""

    shortlist: Annotated[int, Range(0, 16)] = 0
    """Number of most probable translations of each source piece to which the vocabulary is limited, besides frequent
    pieces; 0 takes the whole vocabulary. 8 makes search faster by a fifth to a third and costs 0 to 0.3 BLEU on
    Multi30k; a line's translation then depends a little on its batch. It is not used for samples, nor for lines with
    constraints."""

    guard: bool = True
    """Whether translations that look wrong (loops, copies, lost tags …) are retried with other settings, and flagged if
    they stay so."""

    n_best: Size = 1
    """Number of translations for each line: hypotheses, best first, or samples, in the order they were drawn. At most
    beam_size, or samples."""

    batch_size: Annotated[int, Range(1, 10_000)] = 64
    """Number of sentences that are translated together."""

    def __post_init__(self) -> None:
        check_bounds("search", self)
        require(
            not 0 < self.max_length < self.min_length,
            f"search.min_length is {self.min_length}: it can't be above search.max_length, {self.max_length}",
        )
        kind, choices = ("samples", self.samples) if self.samples else ("beam_size", self.beam_size)
        problem = f"search.n_best is {self.n_best}: it must be from 1 to search.{kind}, {choices}"
        require(self.n_best <= choices, problem)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The run. Recipes override these defaults, and `runs/<name>/config.yaml` records the values."""

    name: Annotated[str, Metavar("NAME")] = ""
    """Name of the run's folder. Without a name, it is SOURCE-TARGET-CORPUS, with the corpus that is really used."""

    runs: Annotated[Folder, MAY_CHANGE] = "runs"
    """Folder that holds the run folders."""

    data: DataConfig = field(default_factory=DataConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)

    def __post_init__(self) -> None:
        if self.name:
            require_plain_name(self.name, "name")
        ties = self.tokenizer.joint or self.model.tied_embeddings != "three-way"
        require(ties, "model.tied_embeddings is three-way, which needs tokenizer.joint true: or take decoder or none")
