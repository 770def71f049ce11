"""Marian's models in the form of transformers (OPUS-MT, model_type marian), and models of Pegasus with the files of
Marian's tokenizer, which nmt.export writes for pre-norm models: a folder in, a model of ours out."""

from pathlib import Path
from typing import Any

from nmt.data.tokenizer.languages import Languages
from nmt.data.tokenizer.mapped import Mapped
from nmt.fields import require
from nmt.interop.bart import Converted, Vocabulary, Weights, embeddings, layers, model_settings, search_settings
from nmt.interop.foreign import Foreign, read_json, read_weights
from nmt.vocabulary import SPECIAL_PIECES

TABLES = tuple(f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder"))


def convert(foreign: Foreign) -> Converted:
    """Raises ValueError, with all settings that can't be expressed, if the model doesn't fit."""
    is_pegasus = foreign.config["model_type"] == "pegasus"
    problem = (
        f"{foreign.origin} has no vocab.json: of Pegasus, only models with the tokenizer of Marian can be converted"
    )
    require(not is_pegasus or (foreign.folder / "vocab.json").is_file(), problem)
    names = [names_in(foreign.file("vocab.json"))]
    separate = not foreign.config.get("share_encoder_decoder_embeddings", True)
    if separate:
        names.append(names_in(foreign.file("target_vocab.json")))
    settings = model_settings(foreign, norm_position="pre" if is_pegasus else "post", positions="sinusoidal")
    weights = Weights(read_weights(foreign.folder))
    start: Any = foreign.config.get("decoder_start_token_id", foreign.config.get("pad_token_id"))
    # Both vocabularies of Pegasus have one size, so the piece that starts the decoder stays in that of sources too.
    vocabularies = [vocabulary(listed, start if is_pegasus or listed is names[-1] else -1) for listed in names]
    config, ours = embeddings(weights, settings, vocabularies[0], vocabularies[-1])
    ours |= layers(weights, config)
    weights.find(*TABLES)  # the sinusoids are computed
    weights.require_all_read(foreign.origin)
    pieces = [v.pieces(listed, SPECIAL_PIECES) for v, listed in zip(vocabularies, names, strict=True)]
    protos = tuple(foreign.file(name).read_bytes() for name in ("source.spm", "target.spm"))
    tokenizer = Mapped.make((protos[0], protos[1]), (pieces[0], pieces[-1]), languages(pieces[0]))
    return Converted(config, ours, tokenizer, search_settings(foreign, names[-1].index("<unk>")))


def names_in(path: Path) -> list[str]:
    """The pieces of a vocab.json by their ids. ValueError if ids are missing, or there is no <unk> or </s>."""
    ids = read_json(path)
    names = sorted(ids, key=lambda piece: (not isinstance(ids[piece], int), ids[piece]))
    require([ids[name] for name in names] == list(range(len(names))), f"{path} is damaged: its ids are not 0, 1, 2 …")
    require({"<unk>", "</s>"} <= set(names), f"{path} is damaged: it has no <unk> or no </s>")
    return names


def vocabulary(names: list[str], start: int) -> Vocabulary:
    """`start`: the id that the decoder starts with; -1 for sources."""
    unk, eos, pad = (names.index(piece) if piece in names else -1 for piece in ("<unk>", "</s>", "<pad>"))
    return Vocabulary.of(len(names), unk, start, eos, pad)


def languages(pieces: list[str]) -> Languages:
    """The target languages that pieces such as >>fra<< choose. A single one is chosen at once."""
    tags = {piece[2:-2]: piece for piece in pieces if piece.startswith(">>") and piece.endswith("<<")}
    return Languages(before_target=tags, target_in_source=True, target=next(iter(tags)) if len(tags) == 1 else "")
