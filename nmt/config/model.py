"""Settings of the model."""

from dataclasses import dataclass
from typing import Annotated, Literal

from nmt.fields import Probability, Range, Size, check_bounds, check_use, require

MAX_LAYERS = 1000  # of a stack; a model folder that asks for more would take minutes to refuse


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The Transformer (without a recipe, sizes are chosen); defaults: base model of Vaswani et al. 2017, table 3."""

    family: Literal["encoder-decoder", "decoder-only", "encoder-only"] = "encoder-decoder"
    """Family of the model. encoder-decoder has two stacks of layers, joined by cross-attention. decoder-only reads
    source and target as one sequence; language models are of this family too. encoder-only can't translate: it learns
    to predict hidden pieces, or to tell true pairs from false ones. The last two need tokenizer.joint. Without a value,
    training.objective chooses: lm takes decoder-only, and mlm and pair take encoder-only."""

    source_attention: Literal["bidirectional", "causal"] = "bidirectional"
    """Attention over the source in a decoder-only model: bidirectional (each source piece sees all others, Liu et al.
    2018) or causal (it sees earlier ones, as a language model does)."""

    d_model: Size = 512
    """Width of the model: the size of the vector of each position."""

    n_heads: Size = 8
    """Number of attention heads. Each head is d_model / n_heads wide."""

    n_kv_heads: Annotated[int | None, Range(1)] = None
    """Number of key–value heads of attention. Without a value, it is n_heads (multi-head attention). Fewer heads are
    grouped-query attention (Ainslie et al. 2023), and 1 is multi-query attention."""

    qk_norm: bool = False
    """Whether queries and keys of each head are normalised (RMSNorm) before their product. This keeps attention scores
    small (Henry et al. 2020), so that training is stable with higher learning rates."""

    encoder_layers: Annotated[int, Range(0, MAX_LAYERS)] = 6
    """Number of layers of the encoder. A decoder-only model has encoder_layers + decoder_layers layers."""

    decoder_layers: Annotated[int, Range(1, MAX_LAYERS)] = 6
    """Number of layers of the decoder. An encoder-only model has none."""

    d_ff: Size = 2048
    """Inner width of the feed-forward layers."""

    norm: Literal["layer", "rms"] = "layer"
    """Kind of normalisation: layer (LayerNorm, Ba et al. 2016) or rms (RMSNorm, Zhang and Sennrich 2019)."""

    norm_epsilon: Annotated[float | None, Range(0, 0.01, open="least")] = None
    """Number that is added to the variance before a state is divided by its root. Without a value, it is 1e-5 for norm
    layer, and 1e-6 for norm rms. Models of other libraries have their own."""

    norm_position: Literal["post", "pre"] = "post"
    """Place of the normalisation: post (after the residual sum, Vaswani et al. 2017) or pre (before each sublayer,
    Xiong et al. 2020). pre needs less warm-up, and many layers need pre."""

    bias: bool = True
    """Whether linear layers and norms have a bias."""

    positions: Literal["sinusoidal", "fairseq", "learned", "rotary"] = "sinusoidal"
    """How the model knows the order of pieces. sinusoidal and learned add a vector for each position to the embeddings,
    and so does fairseq: sinusoids with other rates, which begin with position 2, of M2M-100 and NLLB.
    rotary rotates queries and keys of self-attention (Su et al. 2021), and depends on distances only."""

    max_positions: Size = 1024
    """Maximum length of a sequence in pieces, with BOS and EOS, if positions are learned; others have no limit. In a
    decoder-only model, it is the length of source and target together."""

    activation: Literal["relu", "gelu", "silu", "relu2", "swiglu", "geglu"] = "relu"
    """Activation function of the feed-forward layers. silu is x times its sigmoid (also called swish; Marian's models
    have it), and relu2 the square of relu (So et al. 2021). swiglu and geglu
    (Shazeer 2020) have a third matrix: two thirds of d_ff then make a model of equal size."""

    tied_embeddings: Literal["three-way", "decoder", "none"] = "three-way"
    """Which matrices are shared (Press and Wolf 2017): both embeddings and the output layer (three-way, which needs
    tokenizer.joint), the target embedding and the output layer (decoder), or none. A model with one embedding shares it
    with the output layer unless the value is none."""

    output_bias: bool = False
    """Whether the output layer has a bias. Models of Marian have one."""

    embedding_norm: bool = False
    """Whether embeddings are normalised after positions are added. mBART has this norm."""

    source_end: bool = True
    """Whether an encoder–decoder reads EOS at the end of each source. Models of OpenNMT-py and Eole don't read it; then
    it is masked like padding."""

    scale_embeddings: bool = True
    """Whether embeddings are multiplied by the square root of d_model (Vaswani et al. 2017, section 3.4). Many
    decoder-only models of others don't multiply them."""

    dropout: Probability = 0.1
    """Probability of dropout in embeddings, and in the output of each sublayer before the residual sum."""

    attention_dropout: Probability = 0.0
    """Probability of dropout in the attention weights."""

    activation_dropout: Probability = 0.0
    """Probability of dropout inside the feed-forward layers, after the activation."""

    def __post_init__(self) -> None:
        check_bounds("model", self)
        has_encoder = self.encoder_layers > 0 or self.family == "decoder-only"
        require(has_encoder, f"model.encoder_layers is 0, and model.family is {self.family}: it needs an encoder")
        width, heads, kv_heads = self.d_model, self.n_heads, self.kv_heads
        require(width % heads == 0, f"model.d_model is {width}: it must be a multiple of model.n_heads, {heads}")
        require(heads % kv_heads == 0, f"model.n_kv_heads is {kv_heads}: it must divide model.n_heads, {heads}")
        check_use("model", self, self.family == "decoder-only", "model.family decoder-only", ["source_attention"])
        check_use("model", self, self.family == "encoder-decoder", "model.family encoder-decoder", ["source_end"])
        fits = self.positions != "rotary" or self.d_head % 2 == 0
        require(fits, f"model.d_model / model.n_heads is {self.d_head}: rotary positions need an even head width")

    @property
    def one_vocabulary(self) -> bool:
        """Whether source and target need one vocabulary."""
        return self.family != "encoder-decoder" or self.tied_embeddings == "three-way"

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def epsilon(self) -> float:
        """The number that norms add to the variance: `norm_epsilon`, or the usual one."""
        return self.norm_epsilon or {"layer": 1e-5, "rms": 1e-6}[self.norm]

    @property
    def kv_heads(self) -> int:
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads
