"""The settings of a run: one frozen dataclass for each stage. Values are checked when a dataclass is made.

A recipe (YAML) and the command line give only the settings that differ from the defaults here; `nmt.cli` reads both.
The docstring of a field is its help: all of it in `nmt.train --help`, the first sentence in `nmt.translate --help`. The
annotation of a field has its bounds, and MAY_CHANGE if the value may change when a run is resumed. Nothing here imports
torch, so that --help is fast.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from nmt.fields import MAY_CHANGE, Count, NotNegative, Positive, Probability, Range, Size, check_bounds, require
from nmt.files import require_plain_name
from nmt.vocabulary import FIRST_PIECE, SPECIAL_PIECES

Precision = Literal["auto", "fp32", "bf16"]
DecodingPrecision = Literal["auto", "fp32", "bf16", "int8"]

MAX_HYPOTHESES = 200  # largest beam size


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which parallel text is read, and which of its pairs are kept."""

    corpus: str = "auto"
    """Name of a corpus, or where it is. phrasebook (built in), multi30k, a folder with train.*, val.* and test*.*
    files, a TSV or JSONL file, the common prefix of two plain files, or hub:NAME[:CONFIGURATION]. auto: multi30k from
    the hub or, if the hub cannot be reached, the phrasebook."""

    source: str = "de"
    """Language to translate from. It is the ending of the source files, the column or the key of the corpus."""

    target: str = "en"
    """Language to translate into."""

    max_characters: Size = 2000
    """Longest side of a training pair in characters; longer pairs are dropped and counted."""

    max_pieces: Size = 256
    """Longest side of a training pair in SentencePiece pieces; longer pairs are dropped and counted."""

    max_ratio: Annotated[float, Range(1)] = 5.0
    """Largest ratio of the two sides' lengths in characters. 10 is added to each length, so that short pairs pass."""

    drop_duplicates: bool = True
    """Drop repeats of a training pair (both sides equal)."""

    drop_held_out: bool = True
    """Drop training pairs whose source sentence is in the validation or test text."""

    def __post_init__(self) -> None:
        require(self.source != self.target, f"data.source and data.target are both {self.source!r}: they must differ")
        for name, code in (("source", self.source), ("target", self.target)):
            is_code = re.fullmatch(r"[\w-]+", code) is not None
            require(is_code, f"data.{name} is {code!r}: it must be a language code such as de, pt-BR or zh_Hans")
        require(self.corpus != "", "data.corpus is empty: name a corpus, such as phrasebook or a folder")
        check_bounds("data", self)


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """The SentencePiece model(s). Ids 0 to 3 are always unk, bos, eos and pad."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """Segmentation algorithm: unigram (Kudo 2018) or bpe (Sennrich et al. 2016)."""

    vocab_size: int = 8000
    """Number of pieces of each model; reduced, with a note, if the text is too small for so many."""

    joint: bool = True
    """true: one model for both languages; false: one model for each language."""

    character_coverage: Annotated[float, Range(0, 1, open="least")] = 1.0
    """Share of the corpus's characters that get a piece of their own; 0.9995 suits Chinese and Japanese."""

    byte_fallback: bool = True
    """Spell characters without a piece as bytes, so that no text is unknown (takes 256 ids)."""

    user_defined_symbols: tuple[str, ...] = ()
    """Strings that always stay one piece, such as <br> or {name}."""

    folder: str = ""
    """Folder of a tokenizer, or of a model with its tokenizer, to use instead of training one."""

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
    """The encoder–decoder Transformer. The defaults are the base model of Vaswani et al. 2017, table 3."""

    d_model: Size = 512
    """Width of the residual stream."""

    n_heads: Size = 8
    """Attention heads; each is d_model / n_heads wide."""

    n_kv_heads: Annotated[int | None, Range(1)] = None
    """Key–value heads. The default is n_heads (multi-head attention); fewer are grouped-query (Ainslie et al. 2023),
    1 is multi-query."""

    encoder_layers: Size = 6
    """Blocks of the encoder."""

    decoder_layers: Size = 6
    """Blocks of the decoder."""

    d_ff: Size = 2048
    """Inner width of the feed-forward layer."""

    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019)."""

    norm_position: Literal["post", "pre"] = "post"
    """Normalise after the residual sum, as in the paper, or before each sublayer. pre (Xiong et al. 2020) needs less
    warm-up."""

    bias: bool = True
    """Whether linear layers and norms have a bias."""

    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """How the order of pieces is encoded. Sinusoids or a learned table are added to the embeddings; rotary positions
    rotate queries and keys (Su et al. 2021; self-attention only)."""

    max_positions: Size = 1024
    """Rows of the table of learned positions: the longest sequence, with BOS or EOS. Other positions have no limit."""

    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward layer; swiglu (Shazeer 2020) has a third matrix."""

    tied_embeddings: Literal["three-way", "decoder", "none"] = "three-way"
    """Which matrices are shared (Press and Wolf 2017). three-way: source embedding, target embedding and output layer
    (needs a joint tokenizer); decoder: target embedding and output layer."""

    dropout: Probability = 0.1
    """Dropout of embeddings, and of each sublayer's output before the residual sum."""

    attention_dropout: Probability = 0.0
    """Dropout of attention weights."""

    activation_dropout: Probability = 0.0
    """Dropout inside the feed-forward layer, after the activation."""

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
    """How the weights are learned, and how often the run is validated."""

    seed: Annotated[int, Range(0, 2**32 - 1)] = 1
    """Seed of the initial weights, dropout and the order of batches."""

    start_from: str = ""
    """Model folder whose weights the run starts from (fine-tuning). The settings model.* must be those of that model,
    dropout aside. With tokenizer.folder the same folder, the vocabulary stays; else pieces that both vocabularies have
    keep their embedding."""

    freeze: tuple[Literal["embeddings", "encoder", "decoder"], ...] = ()
    """Parts of the model whose weights stay as they are, for fine-tuning on little text."""

    max_steps: Annotated[Count, MAY_CHANGE] = 100_000
    """Optimizer steps; 0 trains nothing. The cosine schedule ends here."""

    batch_tokens: Annotated[int | Literal["auto"], Range(1)] = 4096
    """Maximum number of positions on each side of a batch, padding included. auto: the size is doubled as long as a
    batch fits in memory, training gets faster and an epoch has at least 100 batches."""

    accumulate: Size = 1
    """Batches of an optimizer step, shared by the processes; the loss is the mean over all their target pieces."""

    shard: Annotated[bool, MAY_CHANGE] = False
    """With several processes: shard parameters, gradients and optimizer state over them (FSDP2). For a model that one
    device can translate with but not train: each process keeps a whole copy of the weights to validate. Otherwise each
    process holds all of the state (DDP), which is faster."""

    learning_rate: Annotated[Positive, MAY_CHANGE] = 7e-4
    """Peak of the learning rate, reached at the end of the warm-up."""

    schedule: Literal["inverse-sqrt", "cosine", "constant"] = "inverse-sqrt"
    """The learning rate after the warm-up. peak × sqrt(warmup / step), half a cosine down to min_learning_rate, or the
    peak."""

    warmup_steps: Count = 4000
    """Steps in which the learning rate rises linearly from 0."""

    min_learning_rate: Annotated[NotNegative, MAY_CHANGE] = 0.0
    """Learning rate at the end of the cosine schedule."""

    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW (Loshchilov and Hutter 2019), or Muon (Jordan et al. 2024) for matrices and AdamW for the rest. Muon's step
    is a few percent slower, and it takes fewer steps to the same loss."""

    muon_rate: Positive = 2.0
    """Muon's learning rate as a multiple of learning_rate, which is AdamW's."""

    weight_decay: NotNegative = 0.01
    """Weight decay of matrices; never of biases, norms or embeddings."""

    beta1: Probability = 0.9
    """AdamW's decay of the first moment."""

    beta2: Probability = 0.98
    """AdamW's decay of the second moment."""

    epsilon: Positive = 1e-9
    """AdamW's term for numerical stability."""

    clip_norm: Annotated[NotNegative, MAY_CHANGE] = 1.0
    """Largest norm of the whole gradient; 0: no clipping."""

    label_smoothing: Probability = 0.1
    """Share of the target probability that is spread evenly over the vocabulary (Szegedy et al. 2016). 0.1 suits nearly
    every corpus; 0 if the probabilities themselves are wanted."""

    word_dropout: Probability = 0.0
    """Probability with which each input piece of encoder and decoder is replaced by unk in training. It makes the
    decoder use the source more; for small corpora. With r_drop the two passes replace different pieces."""

    r_drop: NotNegative = 0.0
    """Weight of R-Drop; above 0, each batch passes through the model twice. The loss then also has the
    divergence between the two passes (alpha of Wu et al. 2021; 5 is usual). Nearly doubles the time of a step; for
    small corpora and long runs."""

    device: Annotated[str, MAY_CHANGE] = "auto"
    """Device to train on: auto (a GPU if there is one), cpu, cuda or cuda:N."""

    precision: Precision = "auto"
    """Number format of matrix products: fp32, or bf16 autocast. auto: bf16 if the device has instructions for
    it, else fp32."""

    compile: Annotated[bool, MAY_CHANGE] = False
    """Compile the blocks of the model (torch.compile), for GPUs. It fuses the operations between matrix products. On a
    CPU it takes minutes, needs a C++ compiler, and gains nothing for small models."""

    threads: Annotated[Count, MAY_CHANGE] = 0
    """CPU threads; 0: all cores."""

    log_every: Annotated[Size, MAY_CHANGE] = 50
    """Steps between records of loss, speed and gradient norm."""

    validate_every: Annotated[Size, MAY_CHANGE] = 1000
    """Steps between validations (loss, BLEU, chrF) and checkpoints."""

    validation_sentences: Annotated[Count, MAY_CHANGE] = 0
    """Validation sentences that are translated (greedily) for BLEU; 0: all. The loss is computed on all sentences."""

    keep_checkpoints: Annotated[Size, MAY_CHANGE] = 3
    """Newest checkpoints that are kept for resuming and averaging, besides the best."""

    best_metric: Literal["bleu", "chrf", "loss", "nll", "perplexity"] = "bleu"
    """Validation figure that decides which checkpoint is the best, and when to stop early."""

    patience: Annotated[Count, MAY_CHANGE] = 0
    """Validations without a better best_metric after which training stops; 0: never. For a constant or inverse-sqrt
    schedule, if it isn't known how long a corpus takes; a cosine schedule is best at its end, so don't stop it."""

    stop_at: Annotated[NotNegative, MAY_CHANGE] = 0.0
    """Value of best_metric at which training ends before max_steps; 0: none. To measure the time to a quality."""

    ema: Probability = 0.0
    """Decay of an exponential moving average of the weights; 0: no average. Then the averaged weights are
    validated and delivered. 0.999 suits schedules whose learning rate doesn't end near zero; cosine needs none."""

    average: Annotated[Size, MAY_CHANGE] = 1
    """Number of checkpoints whose weights are averaged; 1: only the best checkpoint is used. The model folder gets the
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
    """Settings of beam search and sampling. To add a search option, add a field here: the commands that translate then
    have an option for it. Apply it in `nmt.decode` (beam search: a `Rule` in rules.py; sampling: sampling.py)."""

    beam_size: Annotated[int, Range(1, MAX_HYPOTHESES)] = 5
    """Hypotheses kept at each step; 1 is greedy search."""

    length_penalty: Annotated[float, Range(0, 10)] = 1.0
    """Exponent of the length that divides a hypothesis's log-probability; 0: no division. Higher values favour longer
    translations."""

    length_norm: Literal["average", "gnmt"] = "average"
    """Length that is raised to length_penalty: average (pieces, with EOS) or gnmt ((5 + pieces) / 6, Wu et al. 2016,
    equation 14)."""

    coverage_penalty: Annotated[float, Range(0, 1000)] = 0.0
    """Weight of the coverage penalty, against source words left out; 0: none, 0.2 is usual. Beta of Wu et al. 2016,
    equation 14, with the mean of all cross-attention heads; it is part of the score of a finished hypothesis."""

    min_length: Annotated[int, Range(0, 1000)] = 0
    """Minimum number of pieces of a translation, without EOS."""

    max_length: Count = 0
    """Maximum number of pieces of a translation, without EOS; 0: only max_length_ratio limits the length."""

    max_length_ratio: Annotated[float, Range(0.01, 100)] = 2.0
    """Maximum number of pieces of a translation: this ratio times the number of source pieces, plus 10."""

    no_repeat_ngram: Count = 0
    """Length of n-grams of pieces that may not occur twice in a translation; 0: none. 3 or more stops loops."""

    repetition_penalty: Annotated[float, Range(1, 100)] = 1.0
    """Factor of the log-probability of pieces that the hypothesis already has (Keskar et al. 2019); 1: none."""

    samples: Annotated[int, Range(0, 1000)] = 0
    """Number of translations to sample for each sentence, instead of beam search; 0: beam search. Penalties and
    constraints are for beam search only."""

    temperature: Annotated[float, Range(0.001, 1000)] = 1.0
    """Temperature of sampling, which divides the logits; below 1 probable pieces become more probable."""

    top_k: Count = 0
    """Sample from the K most probable pieces; 0: from all."""

    top_p: Annotated[float, Range(0, 1, open="least")] = 1.0
    """Sample from the most probable pieces that together have this probability (nucleus, Holtzman et al. 2020)."""

    min_p: Probability = 0.0
    """Sample from pieces with at least this fraction of the highest probability (min-p, Nguyen et al. 2024)."""

    seed: int = 1
    """Seed of random sampling. A sentence's samples depend on the seed and on the sentence, not on the batch."""

    mbr: Literal["none", "chrf"] = "none"
    """Minimum Bayes risk: choose the candidate (sample or beam hypothesis) with the highest mean chrF against all
    candidates, instead of the most probable one (Kumar and Byrne 2004)."""

    split_above: Count = 0
    """Lines with more pieces are translated sentence by sentence; 0: the length of the longest training source.
    Models skip sentences in lines that are longer than all their training sentences."""

    span_pieces: Size = 200
    """Maximum number of source pieces that the model reads at once; a longer sentence is cut at spaces."""

    shortlist: Annotated[int, Range(0, 16)] = 0
    """Limit the vocabulary to the N most probable translations of each source piece, and frequent pieces; 0: no
    limit. 8 makes search faster by a fifth to a third and costs 0 to 0.3 BLEU on Multi30k; a line's translation then
    depends a little on its batch. Not used for samples, nor for lines with constraints."""

    guard: bool = True
    """Retry translations that look wrong (loops, copies, lost tags …) with other settings; flag what stays wrong."""

    n_best: Size = 1
    """Translations returned for each line, best first; at most beam_size, or samples."""

    batch_size: Annotated[int, Range(1, 10_000)] = 64
    """Sentences translated together."""

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
    """A whole run: recipes override these defaults, and `runs/<name>/config.yaml` records the values."""

    name: str = ""
    """Name of the run's folder; empty: SOURCE-TARGET-CORPUS, with the corpus that was really used."""

    runs: Annotated[str, MAY_CHANGE] = "runs"
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
