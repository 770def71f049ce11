"""Tiny models with random weights, written by transformers, and SentencePiece models for them."""

import io
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import torch

V_SPM = 60
GERMAN = ["Hund", "Haus", "Baum", "rot", "grün", "läuft", "schläft", "heute", "hier", "alt", "und", "nicht"]
ENGLISH = ["dog", "house", "tree", "red", "green", "runs", "sleeps", "today", "here", "old", "and", "not"]
SIZES: dict[str, Any] = {
    "d_model": 32,
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("dropout", "attention_dropout", "encoder_layerdrop", "decoder_layerdrop"), 0.0),
    "max_position_embeddings": 256,
    "scale_embedding": True,
}


@cache
def sides() -> tuple[list[str], list[str]]:
    """Sentences of words in random order, and their translations: backwards, and some words are left out, so that a
    model is never sure."""
    random, words = Random(1), dict(zip(GERMAN, ENGLISH, strict=True))
    sources = [[random.choice(GERMAN) for _ in range(random.randint(2, 5))] for _ in range(600)]
    targets = [[words[word] for word in reversed(line) if random.random() > 0.1] or ["nothing"] for line in sources]
    return list(map(" ".join, sources)), list(map(" ".join, targets))


@cache
def sentencepiece(side: int, size: int = V_SPM, kind: str = "unigram") -> bytes:
    """A model with the usual settings of SentencePiece: it normalises, and has no byte pieces."""
    from sentencepiece import SentencePieceTrainer

    proto = io.BytesIO()
    texts = [*sides()[0], *sides()[1]] if side == 2 else sides()[side]
    options: dict[str, Any] = {"hard_vocab_limit": False, "model_type": kind, "minloglevel": 2}
    SentencePieceTrainer.Train(sentence_iterator=iter(texts), model_writer=proto, vocab_size=size, **options)
    return proto.getvalue()


def pieces_of(proto: bytes) -> list[str]:
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_proto=proto)
    return [model.id_to_piece(i) for i in range(3, model.vocab_size())]


def noise(model: Any, spread: float, seed: int = 3) -> Any:
    """The model with random weights, norms and biases too, that make its choices clear."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(torch.randn_like(parameter) * spread)
    return model.eval()


def marian(
    folder: Path, separate: bool = False, tags: tuple[str, ...] = (), spread: float = 0.3, **changes: Any
) -> Any:
    """Write a Marian model, as OPUS-MT has them; return it."""
    import transformers

    folder.mkdir(parents=True)
    protos = [sentencepiece(0), sentencepiece(1)]
    listed = [pieces_of(proto) for proto in protos]
    sources = listed[0] if separate else [*dict.fromkeys(listed[0] + listed[1])]
    vocabularies = [[*tags, *sources], listed[1]] if separate else [[*tags, *sources]]
    names = [["</s>", "<unk>", *pieces, "<pad>"] for pieces in vocabularies]
    for name, listed_names in zip(("vocab.json", "target_vocab.json"), names, strict=False):
        (folder / name).write_text(json.dumps({piece: i for i, piece in enumerate(listed_names)}))
    for name, proto in zip(("source.spm", "target.spm"), protos, strict=True):
        (folder / name).write_bytes(proto)
    pad = len(names[-1]) - 1
    values = {"activation_function": "swish", "pad_token_id": pad, "decoder_start_token_id": pad, **SIZES, **changes}
    sizes = {"vocab_size": len(names[0]), "decoder_vocab_size": len(names[-1])}
    values |= {"eos_token_id": 0, "forced_eos_token_id": 0, "share_encoder_decoder_embeddings": not separate}
    config = transformers.MarianConfig(**sizes, **values)
    model = noise(transformers.MarianMTModel(config), spread)
    model.generation_config.update(num_beams=4, bad_words_ids=[[pad]])
    with torch.no_grad():
        model.final_logits_bias.normal_(std=spread)
        model.final_logits_bias[0, pad] = 0
    paths = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    target = str(folder / "target_vocab.json") if separate else None
    languages = {"source_lang": "de", "target_lang": "en", "separate_vocabs": separate}
    transformers.MarianTokenizer(*paths, target_vocab_file=target, **languages).save_pretrained(folder)
    model.save_pretrained(folder)
    return model


def m2m(folder: Path, spread: float = 0.3, **changes: Any) -> Any:
    """Write a model of M2M-100; return it."""
    import transformers

    folder.mkdir(parents=True)
    names = ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(sentencepiece(2))]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(names)}))
    (folder / "sentencepiece.bpe.model").write_bytes(sentencepiece(2))
    paths = (str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"))
    transformers.M2M100Tokenizer(*paths, src_lang="de", tgt_lang="en").save_pretrained(folder)
    config = transformers.M2M100Config(vocab_size=len(names) + 108, **{**SIZES, **changes})
    model = noise(transformers.M2M100ForConditionalGeneration(config), spread)
    model.save_pretrained(folder)
    return model


def nllb(folder: Path) -> Any:
    """Write a model of NLLB, with three languages, as the hub has them; return it."""
    model = m2m(folder)
    (folder / "vocab.json").unlink()
    codes = ["deu_Latn", "eng_Latn", "fra_Latn"]
    settings = {"tokenizer_class": "NllbTokenizer", "additional_special_tokens": codes}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return model


def mbart(folder: Path, spread: float = 0.3, **changes: Any) -> Any:
    """Write a model of mBART-50; return it."""
    import transformers

    folder.mkdir(parents=True)
    (folder / "sentencepiece.bpe.model").write_bytes(sentencepiece(2))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MBart50Tokenizer"}))
    tokenizer = transformers.MBart50Tokenizer.from_pretrained(folder, src_lang="de_DE", tgt_lang="en_XX")
    tokenizer.save_pretrained(folder)
    options = {**SIZES, "activation_function": "gelu", "decoder_start_token_id": 2, **changes}
    config = transformers.MBartConfig(vocab_size=len(tokenizer), **options)
    model = noise(transformers.MBartForConditionalGeneration(config), spread)
    with torch.no_grad():
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.normal_(std=spread)
        model.final_logits_bias.normal_()
    model.save_pretrained(folder)
    return model
