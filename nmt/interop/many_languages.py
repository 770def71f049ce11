"""M2M-100, NLLB-200 (model_type m2m_100) and mBART-50 (mbart) in the form of transformers: a folder in, a model of ours
out.

Sources begin with the piece of their language, and translations with that of theirs. Special pieces are <s> 0, <pad> 1,
</s> 2 and <unk> 3; </s> starts the decoder.
"""

import re
from typing import Any

from nmt.data.tokenizer.languages import Languages
from nmt.fields import require
from nmt.interop.bart import Converted, Vocabulary, build, model_settings, search_settings
from nmt.interop.foreign import Foreign, read_weights, sentencepiece_names, weight_files

PAD_ID, EOS_ID, UNK_ID = 1, 2, 3
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
SENTENCEPIECE = "sentencepiece.bpe.model"
NLLB_LICENCE = "cc-by-nc-4.0"
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


def read_many_languages(foreign: Foreign) -> Converted:
    """Raises ValueError, with all settings that can't be expressed, if the model doesn't fit."""
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
        foreign.licence = foreign.licence or NLLB_LICENCE
    proto, search = foreign.file(SENTENCEPIECE).read_bytes(), search_settings(foreign, UNK_ID)
    languages = Languages(codes, codes)
    return build(foreign, settings, tensors, (vocabulary, vocabulary), (proto, proto), languages, search)


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
