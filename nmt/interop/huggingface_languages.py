"""Models that are told languages by pieces before both sides (M2M-100, NLLB-200, mBART-50), as transformers has them:
what was permuted when such a model was converted is put back into their order.

Their special pieces are <s> 0, <pad> 1, </s> 2 and <unk> 3, and </s> starts the decoder. Ours begins with a copy of
</s> that can't be written. It is left out, unless training has changed it: then mBART, whose output layer has biases,
gets it as its last piece.
"""

import json
import re
from pathlib import Path
from typing import Any

import torch

from nmt.data.tokenizer import Tokenizer
from nmt.data.tokenizer.mapped import unique_names
from nmt.fields import require
from nmt.interop.fast_tokenizer import mapped_json
from nmt.interop.huggingface_weights import Tensors, bart, weights_of
from nmt.interop.many_languages import EOS_ID, PAD_ID, PATTERNS, SENTENCEPIECE, SPECIAL
from nmt.model.contract import Model
from nmt.vocabulary import BOS, EOS, PAD, UNK

IDS = {"bos_token_id": 0, "pad_token_id": PAD_ID, "eos_token_id": EOS_ID}
CLASSES = {"M2M-100": "M2M100Tokenizer", "NLLB": "PreTrainedTokenizerFast", "mBART-50": "MBart50Tokenizer"}


def their_order(model: Model) -> list[int]:
    """Our id of each piece, in their order. BOS comes last if it differs from EOS; otherwise it isn't there."""
    order = [4, PAD, EOS, UNK, *range(5, model.vocab_size)]
    weight = weights_of(model)["tgt_embedding.weight"]
    return order if torch.equal(weight[BOS], weight[EOS]) else [*order, BOS]


def m2m_100(model: Model) -> Tensors:
    """The weights by their names, with the embeddings in their order. ValueError if training has changed what their
    class can't express."""
    tensors, order = bart(model), their_order(model)
    bias_V = tensors.pop("final_logits_bias", torch.zeros(1, model.vocab_size))[0, order]
    advice = "train with --training.freeze [embeddings], or with LoRA"
    message = f"training has changed {{}}, and M2M100ForConditionalGeneration has none: {advice}"
    require(BOS not in order, message.format("the vector that starts the decoder"))
    require(not bias_V.any(), message.format("biases of the output layer"))
    return tensors | {"model.shared.weight": tensors["model.shared.weight"][order]}


def mbart(model: Model) -> Tensors:
    """As `m2m_100`, with learned positions, whose first two rows are never used, and a norm of the embeddings."""
    tensors, order = bart(model), their_order(model)
    found = weights_of(model)
    for side, ours in (("encoder", "src_positions"), ("decoder", "tgt_positions")):
        table = found[f"{ours}.table"]
        tensors[f"model.{side}.embed_positions.weight"] = torch.cat([torch.zeros(2, table.size(1)), table])
        for part in ("weight", "bias"):
            tensors[f"model.{side}.layernorm_embedding.{part}"] = found[f"{ours}.norm.{part}"]
    bias_1V = tensors.get("final_logits_bias", torch.zeros(1, model.vocab_size))
    tensors["final_logits_bias"] = bias_1V[:, order]
    return tensors | {"model.shared.weight": tensors["model.shared.weight"][order]}


def settings_of_ids(model: Model) -> dict[str, Any]:
    """What config.json has instead of the ids of our pieces."""
    order = their_order(model)
    start = order.index(BOS) if BOS in order else EOS_ID
    return {**IDS, "decoder_start_token_id": start, "vocab_size": len(order)}


def generation_settings(model: Model, tokenizer: Tokenizer, ours: dict[str, Any]) -> dict[str, Any]:
    """What generation_config.json has instead of `ours`: ids, and the language that is chosen."""
    order, [language] = their_order(model), tokenizer.starts()[1]
    never = [order.index(i) for i in ours["suppress_tokens"] if i in order]
    start = settings_of_ids(model)["decoder_start_token_id"]
    forced = {"forced_bos_token_id": order.index(language), "decoder_start_token_id": start}
    return {**IDS, **forced, "suppress_tokens": never}


def write_languages(tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    """Write the SentencePiece model, and for M2M-100 the ids of its pieces; return the settings of the tokenizer."""
    assert tokenizer.mapped
    known, source = tokenizer.languages, tokenizer.mapped.source
    codes, [language] = list(known.before_target.values()), known.starts()[1]
    kind = next(kind for kind, pattern in PATTERNS.items() if re.fullmatch(pattern, language))
    (folder / SENTENCEPIECE).write_bytes(source.proto)
    if kind == "M2M-100":
        names = [*SPECIAL, *source.pieces[5:]]
        first = min(map(names.index, codes))
        ids = json.dumps({piece: i for i, piece in enumerate(names[:first])}, ensure_ascii=False)
        (folder / "vocab.json").write_text(ids, encoding="utf8")
    if kind == "NLLB":
        # NllbTokenizer of transformers 5 gives pieces other ids than this model was trained with.
        names = [*SPECIAL, *unique_names(source.pieces)[5:]]
        special = [name for name in names if name in {*SPECIAL, *codes, "<mask>"}]
        text = mapped_json(source.proto, names, special, known.starts()[0])
        (folder / "tokenizer.json").write_text(json.dumps(text, ensure_ascii=False, indent=1), encoding="utf8")
    languages = {"src_lang": known.source, "tgt_lang": known.target, "additional_special_tokens": codes}
    whole = {"split_special_tokens": True} if kind == "NLLB" else {}  # a literal </s> in a text is text
    return {"tokenizer_class": CLASSES[kind], **whole, **languages}
