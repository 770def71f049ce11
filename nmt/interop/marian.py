"""Marian's models in the form of transformers (OPUS-MT, model_type marian), and models of Pegasus with the files of
Marian's tokenizer, which nmt.export writes for pre-norm models: a folder in, a model of ours out."""

from typing import Any

from nmt.data.tokenizer.languages import Languages
from nmt.fields import require
from nmt.interop.bart import Converted, Vocabulary, build, model_settings, search_settings
from nmt.interop.foreign import Foreign, read_weights, weight_files


def read_marian(foreign: Foreign) -> Converted:
    """Raises ValueError, with all settings that can't be expressed, if the model doesn't fit."""
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
    source = vocabulary(names[0], start if is_pegasus or has_one else -1)
    protos = foreign.file("source.spm").read_bytes(), foreign.file("target.spm").read_bytes()
    weights, search = read_weights(weight_files(foreign.folder)), search_settings(foreign, names[1].index("<unk>"))
    vocabularies = source, vocabulary(names[1], start)
    return build(foreign, settings, weights, vocabularies, protos, languages(source.pieces), search)


def vocabulary(names: list[str], start: int) -> Vocabulary:
    """`start`: the id that the decoder starts with; -1 for sources."""
    unk, eos, pad = (names.index(piece) if piece in names else -1 for piece in ("<unk>", "</s>", "<pad>"))
    return Vocabulary.of(names, unk, start, eos, pad)


def languages(pieces: list[str]) -> Languages:
    """The target languages that pieces such as >>fra<< choose. A single one is chosen at once."""
    tags = {piece[2:-2]: piece for piece in pieces if piece.startswith(">>") and piece.endswith("<<")}
    return Languages(before_target=tags, target_in_source=True, target=next(iter(tags)) if len(tags) == 1 else "")
