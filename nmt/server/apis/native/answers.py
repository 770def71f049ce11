"""Answers of our own API: translations flow in; what a request wants to know of them flows out.

Shapes: T pieces of the translation, S pieces of the source.
"""

from collections.abc import Sequence

import torch

from nmt.decode.stop import Stop
from nmt.reading.pieces import surfaces
from nmt.reading.request import Translation
from nmt.server.apis.native.bodies import Alternative, Attention, Token, Translate, Translated
from nmt.server.errors import Refused
from nmt.text.normalise import with_blanks
from nmt.text.suspicions import Flag
from nmt.translation.translator import Translator
from nmt.vocabulary import SPACE

MAX_WEIGHTS = 2**16  # of attention in an answer: half a megabyte
DIGITS = 4
FLAG_TEXTS: dict[Flag, str] = {
    "loop": "Words or characters are repeated more often than in the source.",
    "too_long": "The translation is much longer than the source.",
    "too_short": "The translation is much shorter than the source.",
    "copy": "The translation is a copy of the source.",
    "empty": "The translation has no letters or digits, though the source has some.",
    "invented": "The translation has letters, though the source has none.",
    "unfinished": "The translation reached the length limit, and may be cut off.",
    "items": "Addresses, tags, placeholders or emoji were lost or added, or stand in the wrong place.",
    "sentences": "Sentences or clauses of the source are missing, or a word before a colon.",
    "numbers": "A number of the source is missing.",
    "unsure": "The model is not sure: about half of such translations are poor.",
    "unknown": "The source has letters, signs or words that the model does not know. Is it in another language?",
    "constraints": "A wanted phrase or a term of the glossary is missing, or a forbidden phrase is there.",
}


def answer_text(
    translator: Translator, body: Translate, text: str, n_best: Sequence[Translation], note: str, stop: Stop
) -> Translated:
    """The answer for a text, from its translations. Alignment and attention run the model. Raises Stopped as `stop`
    says."""
    stop.check()
    best, *others = n_best

    def whole(translation: Translation) -> str:  # mark-up has its blanks already
        return translation.text if body.format == "html" else with_blanks(text, translation.text)

    return Translated(
        text=whole(best),
        score=round(best.score, DIGITS),
        confidence=round(best.confidence, DIGITS),
        flags=[*best.flags],
        flag_texts=[FLAG_TEXTS[flag] for flag in best.flags],
        alternatives=[
            Alternative(whole(other), round(other.score, DIGITS), round(other.confidence, DIGITS)) for other in others
        ],
        note=note or None,
        quality=None if best.quality is None else round(best.quality, DIGITS),
        alignments=[[i, j] for i, j in translator.align(text, best)] if body.alignments else None,
        tokens=tokens_of(translator, best) if body.tokens else None,
        attention=attention_of(translator, best) if body.attention else None,
    )


def tokens_of(translator: Translator, translation: Translation) -> list[Token]:
    """The pieces of all parts, each with its text and probability."""
    tokens: list[Token] = []
    for part in translation.parts:
        pieces = translator.tokenizer.target_pieces(part.hypothesis.ids)
        texts = [*(surface.replace(SPACE, " ").strip() for surface in surfaces(pieces)), ""]
        for piece, text, log_prob in zip([*pieces, "</s>"], texts, part.hypothesis.token_log_probs, strict=True):
            tokens.append(Token(piece, text, round(log_prob, DIGITS)))
    return tokens


def attention_of(translator: Translator, translation: Translation) -> Attention:
    """The cross-attention of all parts. Refused if there is too much of it."""
    sizes = [(len(part.source), len(part.hypothesis.ids)) for part in translation.parts]
    n = sum(source for source, _ in sizes) * sum(target for _, target in sizes)
    problem = f"the attention of a text has {n:,} weights: at most {MAX_WEIGHTS:,} are sent; send a shorter text"
    if n > MAX_WEIGHTS:
        raise Refused(problem, status=413, code="too_long")
    parts = [translator.aligner.attention(part) for part in translation.parts]
    if not parts:
        return Attention([], [], [])
    sources, targets = ([piece for part in parts for piece in part[side]] for side in (1, 2))
    weights_TS = torch.block_diag(*(part[0] for part in parts))
    return Attention(sources, targets, [[round(weight, DIGITS) for weight in row] for row in weights_TS.tolist()])
