"""Tiny models with random weights that Eole, OpenNMT-py, JoeyNMT and Sockeye write, each with its own code."""

import sys
from argparse import Namespace
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
import yaml
from torch import Tensor

from tests.interop.foreign import noise

M, HEADS, INNER, LAYERS = 32, 4, 48, 2
Logits = Callable[[list[int], list[int]], Tensor]
"""The logits (T, V) after each piece of a target that begins with BOS, given a source without EOS; in their ids."""


def joeynmt(folder: Path, pieces: list[str], norm: str = "pre", joint: bool = True) -> tuple[Logits, list[str]]:
    from joeynmt.config import _check_special_symbols
    from joeynmt.model import build_model
    from joeynmt.training import TrainManager
    from joeynmt.vocabulary import Vocabulary

    sizes = {"num_layers": LAYERS, "num_heads": HEADS, "hidden_size": M, "ff_size": INNER, "layer_norm": norm}
    side = {"type": "transformer", **sizes, "embeddings": {"embedding_dim": M, "scale": True}}
    settings = {"encoder": side, "decoder": side, "tied_embeddings": joint, "tied_softmax": joint}
    vocabulary = Vocabulary(pieces, SimpleNamespace(**_check_special_symbols({})))
    model = noise(build_model(settings, vocabulary, vocabulary), 0.2)
    text = {"level": "bpe", "tokenizer_type": "sentencepiece", "tokenizer_cfg": {"model_file": "far/joint.model"}}
    data = {"src": {"lang": "de", **text}, "trg": {"lang": "en", **text}}
    (folder / "config.yaml").write_text(yaml.safe_dump({"name": "tiny", "data": data, "model": settings}))
    for name in ("src", "trg"):
        vocabulary.to_file(folder / f"{name}_vocab.txt")
    optimizer, sampler = torch.optim.Adam(model.parameters()), SimpleNamespace(get_state=torch.Generator().get_state)
    none = dict.fromkeys(("scaler", "scheduler"))
    state = {"rank": 0, "model_dir": folder, "model": model, "optimizer": optimizer, "ckpt_queue": [], **none}
    state |= {"stats": TrainManager.TrainStatistics(), "train_iter": SimpleNamespace(batch_sampler=sampler)}
    manager = SimpleNamespace(**state, args=Namespace(keep_best_ckpts=0))
    TrainManager._save_checkpoint(manager, True, 1.0)

    def logits(source: list[int], target: list[int]) -> Tensor:
        src, tgt = torch.tensor([[*source, vocabulary.eos_index]]), torch.tensor([target])
        masks = [torch.ones_like(ids, dtype=torch.bool)[:, None] for ids in (src, tgt)]
        length = torch.tensor([src.size(1)])
        return model._encode_decode(src, tgt, masks[0], length, masks[1])[0][0]

    return logits, vocabulary._itos


def sockeye(folder: Path, pieces: list[str], **changes: Any) -> tuple[Logits, list[str]]:
    from sockeye import constants, data_io, encoder, model, transformer, vocab

    names = [*constants.VOCAB_SYMBOLS, *pieces]
    longest = {f"max_seq_len_{side}": 60 for side in ("source", "target")}
    sizes = {"model_size": M, "attention_heads": HEADS, "feed_forward_num_hidden": INNER, "num_layers": LAYERS}
    kinds = {"act_type": "relu", "positional_embedding_type": "fixed"}
    steps = {"preprocess_sequence": "n", "postprocess_sequence": "dr"}
    dropout = {f"dropout_{part}": 0.0 for part in ("attention", "act", "prepost")}
    options: dict[str, Any] = {**sizes, **kinds, **steps, **dropout, **longest, **changes}
    embedding = encoder.EmbeddingConfig(vocab_size=len(names), num_embed=M, dropout=0.0)
    data = data_io.DataConfig(data_statistics=None, num_source_factors=1, num_target_factors=1, **longest)
    sides = {f"vocab_{side}_size": len(names) for side in ("source", "target")}
    sides |= {f"config_embed_{side}": embedding for side in ("source", "target")}
    encoder_config = transformer.TransformerConfig(**options)
    decoder_config = transformer.TransformerConfig(**options, depth_key_value=M)
    config = model.ModelConfig(config_data=data, config_encoder=encoder_config, config_decoder=decoder_config, **sides)
    theirs = model.SockeyeModel(config)
    fixed = {name: tensor.clone() for name, tensor in theirs.named_parameters() if "pos_embedding" in name}
    fill(theirs)
    theirs.train()  # only then are keys and values in the usual order
    theirs.load_state_dict(fixed if options["positional_embedding_type"] == "fixed" else {}, strict=False)
    theirs.save_config(str(folder))
    theirs.save_parameters(str(folder / "params.best"))
    for side in ("src", "trg"):
        vocab.vocab_to_json({name: i for i, name in enumerate(names)}, str(folder / f"vocab.{side}.0.json"))

    def logits(source: list[int], target: list[int]) -> Tensor:
        src, tgt = torch.tensor([[*source, constants.EOS_ID]]), torch.tensor([target])
        lengths = [torch.tensor([[ids.size(1), 0]]) for ids in (src, tgt)]
        found = theirs(src[:, :, None], lengths[0], tgt[:, :, None], lengths[1][:, 0])
        return found[constants.LOGITS_NAME][0]

    return logits, names


def opennmt(folder: Path, pieces: list[str], **changes: Any) -> tuple[Logits, list[str]]:
    if "spacy" not in sys.modules:  # it is only for terminology, and large
        sys.modules["spacy"] = ModuleType("spacy")
        sys.modules["spacy"].__spec__ = ModuleSpec("spacy", None)
    import onmt.opts
    from onmt.inputters.inputter import dict_to_vocabs
    from onmt.model_builder import build_base_model
    from onmt.models.model_saver import ModelSaver
    from onmt.utils.parse import ArgumentParser

    parser = ArgumentParser()
    onmt.opts.train_opts(parser)
    given = {"layers": LAYERS, "hidden_size": M, "word_vec_size": M, "heads": HEADS, "transformer_ff": INNER, **changes}
    given |= {"encoder_type": "transformer", "decoder_type": "transformer", "transforms": "sentencepiece"}
    words = [word for name, value in given.items() for word in (f"-{name}", str(value)) if value is not True]
    switches = ["-share_vocab", *(f"-{name}" for name, value in given.items() if value is True)]
    named = ["-data", "{}", "-src_vocab", "none", "-src_subword_model", "joint.model"]
    named += ["-save_model", str(folder / "model")]
    opt, _ = parser.parse_known_args([*words, *switches, *named])
    ArgumentParser.update_model_opts(opt)
    names = ["<unk>", "<blank>", "<s>", "</s>", *pieces]
    vocabs = dict_to_vocabs({"src": names, "tgt": names, "data_task": "seq2seq"})
    model = build_base_model(opt, vocabs)
    fill(model)
    optimizer = torch.optim.Adam(model.parameters())
    ModelSaver(str(folder / "model"), model, opt, vocabs, optimizer)._save(1, model)
    model.eval()

    def logits(source: list[int], target: list[int]) -> Tensor:
        src, tgt = torch.tensor(source)[None, :, None], torch.tensor([*target, 0])[None, :, None]
        for layer in model.decoder.transformer_layers:
            layer.self_attn.layer_cache = (False, {"keys": torch.tensor([]), "values": torch.tensor([])})
        return model.generator(model(src, tgt, torch.tensor([len(source)]))[0])[0]

    return logits, names


def eole(folder: Path, pieces: list[str], **changes: Any) -> tuple[Logits, list[str]]:
    from eole.config.run import TrainConfig
    from eole.inputters.inputter import dict_to_vocabs
    from eole.models.model import get_model_class
    from eole.models.model_saver import TrainingModelSaver

    names = ["<unk>", "<blank>", "<s>", "</s>", *pieces]
    embeddings = {"word_vec_size": M, "position_encoding_type": changes.pop("positions", "SinusoidalInterleaved")}
    if embeddings["position_encoding_type"] == "Learned":
        embeddings["n_positions"] = 40
    sizes = {"layers": LAYERS, "hidden_size": M, "heads": HEADS, "transformer_ff": INNER}
    settings = {"architecture": "transformer", **sizes, "embeddings": embeddings, **changes}
    (folder / "text").write_text("a\n")
    config = TrainConfig(
        data={"corpus": {"path_src": str(folder / "text"), "path_tgt": str(folder / "text")}},
        src_vocab="none",
        share_vocab=True,
        model=settings,
        transforms=["sentencepiece"],
        training={"model_path": str(folder), "self_attn_backend": "pytorch", "dropout": [0.0]},
    )
    specials = {"unk_token": names[0], "pad_token": names[1], "bos_token": names[2], "eos_token": names[3]}
    vocabs = dict_to_vocabs({"src": names, "tgt": names, "decoder_start_token": "<s>", "specials": specials})
    model = get_model_class(config.model).build(config.model, vocabs, config.training)
    fill(model)
    saver = TrainingModelSaver(str(folder), model, config, vocabs, torch.optim.Adam(model.parameters()))
    saver._save(1)
    model.eval()

    def logits(source: list[int], target: list[int]) -> Tensor:
        # One piece more than the target: a single piece would go on with a cache. Later pieces aren't seen.
        output = model(torch.tensor([source]), torch.tensor([[*target, 0, 0]]), torch.tensor([len(source)]))
        return model.generator(output[0])[0, :-1]

    return logits, names


def fill(model: Any) -> None:
    """Give a model, whose memory is not initialised, random weights. Norms are near 1."""
    torch.manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(std=0.3).add_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
