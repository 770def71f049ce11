"""Models in the form of transformers: a folder in, a model of ours out. Marian's (OPUS-MT, model_type marian); those of
Pegasus with the files of Marian's tokenizer, which nmt.export writes for pre-norm models; M2M-100, NLLB-200 (m2m_100)
and mBART-50 (mbart).

To add a kind, write a function that reads it, and name it in KINDS.
"""

import re
from collections.abc import Callable
from typing import Any

from nmt.config import ModelConfig, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.languages import Languages
from nmt.data.tokenizer.mapped import mapped_models
from nmt.fields import annotations, require
from nmt.interop.bart import Converted, Vocabulary, build
from nmt.interop.foreign import Foreign, read_weights, sentencepiece_names, weight_files

ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
PAD_ID, EOS_ID, UNK_ID = 1, 2, 3
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
SENTENCEPIECE = "sentencepiece.bpe.model"
PATTERNS = {  # of the pieces of languages, by the kind of model
    "M2M-100": "__([a-z]+)__",
    "NLLB": "([a-z]{3}_[A-Z][a-z]{3})",
    "mBART-50": "([a-z]{2}_[A-Z]{2})",
}
# The languages of M2M-100 in the order of their ids, for folders that don't list them.
M2M_100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa "
    "pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)


def model_settings(foreign: Foreign, **ours: Any) -> ModelConfig:
    """Our settings. `ours`: those that the family of the model always has. What can't be expressed is noted in
    `foreign.problems`."""
    config = foreign.config
    foreign.expect_equal(("attention_heads", "ffn_dim"), "decoder_", "encoder_")
    activation = config.get("activation_function")
    foreign.expect("activation_function", activation, *ACTIVATIONS)
    foreign.expect("is_encoder_decoder", config.get("is_encoder_decoder", True), True)
    ours |= foreign.sizes(("d_model", "encoder_attention_heads", "encoder_ffn_dim", "encoder_layers", "decoder_layers"))
    ours |= {name: float(config.get(name, 0.0)) for name in ("dropout", "attention_dropout", "activation_dropout")}
    foreign.require_fitting()
    ours |= {"activation": ACTIVATIONS[str(activation)], "scale_embeddings": bool(config.get("scale_embedding", False))}
    return ModelConfig(output_bias=True, **ours)


def search_settings(foreign: Foreign, unk: int) -> SearchConfig:
    """Our settings of the search, by generation_config.json, or config.json in older folders."""
    given = foreign.config | {name: value for name, value in foreign.generation.items() if value is not None}
    never = [ids[0] for ids in given.get("bad_words_ids") or [] if len(ids) == 1] + (given.get("suppress_tokens") or [])
    found: dict[str, Any] = {
        "beam_size": given.get("num_beams") or 1,
        "length_penalty": float(1.0 if given.get("length_penalty") is None else given["length_penalty"]),
        "no_repeat_ngram": given.get("no_repeat_ngram_size") or 0,
        "repetition_penalty": float(given.get("repetition_penalty") or 1.0),
    }
    for name, value in found.items():
        if value not in (bounds := annotations(SearchConfig)[name][1]):
            found[name] = max(bounds.least, min(value, bounds.most))
            foreign.notes.append(f"search.{name} is {found[name]}, since {value} is not possible here.")
    return SearchConfig(allow_unk=unk not in never, **found)


def read_marian(foreign: Foreign) -> Converted:
    """A model of Marian, or of Pegasus."""
    is_pegasus = foreign.config["model_type"] == "pegasus"
    problem = "has no vocab.json: of Pegasus, only models with the tokenizer of Marian can be converted"
    require(not is_pegasus or (foreign.folder / "vocab.json").is_file(), f"{foreign.origin} {problem}")
    has_one = foreign.config.get("share_encoder_decoder_embeddings", True)
    names = [foreign.vocabulary(name) for name in ("vocab.json", "vocab.json" if has_one else "target_vocab.json")]
    complete = all({"<unk>", "</s>"} <= set(pieces) for pieces in names)
    require(complete, f"a vocabulary of {foreign.origin} is damaged: it has no <unk> or no </s>")
    settings = model_settings(foreign, norm_position="pre" if is_pegasus else "post", positions="sinusoidal")
    start: Any = foreign.config.get("decoder_start_token_id", foreign.config.get("pad_token_id"))
    # Both vocabularies of Pegasus have one size, so the piece that starts the decoder stays in that of sources too.
    starts = start if is_pegasus or has_one else -1, start
    vocabularies = list[Vocabulary]()
    for pieces, first in zip(names, starts, strict=True):
        unk, eos, pad = (pieces.index(piece) if piece in pieces else -1 for piece in ("<unk>", "</s>", "<pad>"))
        vocabularies.append(Vocabulary.of(pieces, unk, first, eos, pad))
    source, target = vocabularies
    # Pieces such as >>fra<< choose the target language. A single one is chosen at once.
    tags = {piece[2:-2]: piece for piece in source.pieces if piece.startswith(">>") and piece.endswith("<<")}
    only = next(iter(tags)) if len(tags) == 1 else ""
    languages = Languages(before_target=tags, target_in_source=True, target=only)
    protos = foreign.file("source.spm").read_bytes(), foreign.file("target.spm").read_bytes()
    tokenizer = Tokenizer(*mapped_models(protos, (source.pieces, target.pieces), languages))
    weights, search = read_weights(weight_files(foreign.folder)), search_settings(foreign, names[1].index("<unk>"))
    return build(foreign, settings, weights, (source, target), tokenizer, search)


def read_many_languages(foreign: Foreign) -> Converted:
    """A model of M2M-100, NLLB or mBART-50. Sources begin with the piece of their language, and translations with that
    of theirs. Special pieces are <s> 0, <pad> 1, </s> 2 and <unk> 3; </s> starts the decoder."""
    kind = kind_of(foreign)
    foreign.expect("decoder_start_token_id", foreign.config.get("decoder_start_token_id", EOS_ID), EOS_ID)
    foreign.expect("legacy_behaviour", bool(foreign.tokenizer.get("legacy_behaviour", False)), False)
    ours: dict[str, Any] = {"norm_position": "pre", "positions": "fairseq"}
    if kind == "mBART-50":
        longest = foreign.number("max_position_embeddings")
        ours |= {"positions": "learned", "max_positions": longest, "embedding_norm": True}
    settings = model_settings(foreign, **ours)
    tensors = read_weights(weight_files(foreign.folder))
    size, rows = foreign.number("vocab_size"), max(map(len, tensors.values()), default=0)
    if kind == "mBART-50":  # the first two rows of its positions are never used
        tensors = {name: t[2:] if "embed_positions" in name else t for name, t in tensors.items()}
    names, codes = pieces(foreign, kind)
    require(size <= rows, f"vocab_size is {size:,}, but no weight in {foreign.origin} has so many rows")
    names += [f"madeupword{i}" for i in range(size - len(names))]
    vocabulary = Vocabulary.of(names, UNK_ID, EOS_ID, EOS_ID, PAD_ID)
    if kind == "NLLB":
        foreign.licence = foreign.licence or "cc-by-nc-4.0"
    proto, search = foreign.file(SENTENCEPIECE).read_bytes(), search_settings(foreign, UNK_ID)
    tokenizer = Tokenizer(*mapped_models((proto, proto), (vocabulary.pieces,) * 2, Languages(codes, codes)))
    return build(foreign, settings, tensors, (vocabulary, vocabulary), tokenizer, search)


def kind_of(foreign: Foreign) -> str:
    """Which of these models it is; what isn't one of them is noted in `foreign.problems`."""
    named = str(foreign.tokenizer.get("tokenizer_class") or "")
    if foreign.config["model_type"] == "mbart":
        if not named.startswith("MBart50"):
            problem = f"the tokenizer is {named or 'unknown'}, and only that of mBART-50 can be expressed"
            foreign.problems.append(problem)
        return "mBART-50"
    return "NLLB" if named.startswith("Nllb") or not (foreign.folder / "vocab.json").is_file() else "M2M-100"


def pieces(foreign: Foreign, kind: str) -> tuple[list[str], dict[str, str]]:
    """The pieces by their ids there, and the piece of each language."""
    if kind == "M2M-100":
        names = foreign.vocabulary("vocab.json")
        problem = f"vocab.json of {foreign.origin} is damaged: its ids are not {', '.join(SPECIAL)} …"
        require(names[:4] == SPECIAL, problem)
    else:
        names = [*SPECIAL, *sentencepiece_names(foreign.file(SENTENCEPIECE))[3:]]
    found = language_pieces(foreign, kind, len(names))
    codes = {match[1]: piece for piece in found if (match := re.fullmatch(PATTERNS[kind], piece))}
    return [*names, *found, *(["<mask>"] if kind != "M2M-100" else [])], codes


def language_pieces(foreign: Foreign, kind: str, first: int) -> list[str]:
    """The pieces of languages in the order of their ids, of which `first` is the first. They are in the settings of the
    tokenizer, with ids or in their order."""
    is_language = re.compile(PATTERNS[kind]).fullmatch
    with_ids = {int(i): text_of(token) for i, token in foreign.tokenizer.get("added_tokens_decoder", {}).items()}
    if ids := [i for i in sorted(with_ids) if is_language(with_ids[i])]:
        whole = ids == list(range(first, first + len(ids)))
        require(whole, f"the languages of {foreign.origin} have the ids from {ids[0]}, and should begin at {first}")
        return [with_ids[i] for i in ids]
    for name in ("additional_special_tokens", "extra_special_tokens"):
        tokens = map(text_of, foreign.tokenizer.get(name) or [])
        if found := [token for token in tokens if is_language(token)]:
            return found
    known = kind == "M2M-100" and foreign.tokenizer.get("language_codes", "m2m100") == "m2m100"
    problem = "doesn't list its languages: tokenizer_config.json has no additional_special_tokens"
    require(known, f"{foreign.origin} {problem}")
    return [f"__{code}__" for code in M2M_100.split()]


def text_of(token: Any) -> str:
    return str(token["content"] if isinstance(token, dict) else token)


KINDS: dict[str, Callable[[Foreign], Converted]] = {  # by model_type in config.json
    "marian": read_marian,
    "pegasus": read_marian,
    "m2m_100": read_many_languages,
    "mbart": read_many_languages,
}


def read_transformers(foreign: Foreign) -> Converted:
    """Raises ValueError, with all settings that can't be expressed, if the model doesn't fit."""
    kind = foreign.config.get("model_type")
    problem = f"the model in {foreign.origin} is of type {kind!r}, which can't be converted: possible are "
    require(isinstance(kind, str) and kind in KINDS, problem + ", ".join(KINDS))
    return KINDS[str(kind)](foreign)
