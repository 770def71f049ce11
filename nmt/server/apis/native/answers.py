"""Answers of our own API: translations flow in; what a request wants to know of them flows out, as a whole or streamed.

Streaming: the translation of each sentence flows out as it is ready, as Server-Sent Events; then the whole answer. Each
sentence is searched alone, so that the first is there soon. When the client hangs up, the generator is closed, and with
it the searches that still wait.

Shapes: T pieces of the translation, S pieces of the source.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import torch

from nmt.decode.stop import Stop
from nmt.reading.lines import Lines, cut_text, each_sentence
from nmt.reading.loop import Context, Tree, surfaces
from nmt.reading.request import Request, Translation
from nmt.server.apis.native.bodies import Alternative, Attention, Sentence, Token, Translate, Translated
from nmt.server.apis.native.schema import as_json
from nmt.server.errors import Busy, Refused, refusal
from nmt.server.work.queue import cut
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

Piece = tuple[tuple[int, int, int], Request]
"""A sentence of a text: the numbers of the text, of the line in it and of the sentence in the line; and its request."""
AT_ONCE = 64  # sentences of a request that wait in the queue


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


def pieces_of(requests: Sequence[Request], context: Context, most: int) -> tuple[list[Tree], list[Piece]]:
    """Texts in their sentences, which are the leaves of the trees; mark-up is whole. Refused if there are more than
    `most`."""
    trees = cut(requests, (cut_text, each_sentence) if context.mode == "none" else (), context, most)
    pieces: list[Piece] = []
    for index, tree in enumerate(trees):
        lines = tree.branches if isinstance(tree.taken, Lines) else (tree,)
        for n, line in enumerate(lines):
            pieces += [((index, n, k), leaf.request) for k, leaf in enumerate(line.leaves())]
    return trees, pieces


async def events(
    pieces: Sequence[Piece],
    translate: Callable[[Sequence[Request]], Awaitable[list[list[Translation]]]],
    finish: Callable[[list[list[Translation]]], Awaitable[Any]],
    seconds: float,
    request_id: str,
) -> AsyncIterator[bytes]:
    """The events of a request: its sentences as they are ready, then the answer that `finish` makes of all; an error
    after so many seconds."""
    lists: list[list[Translation]] = [[] for _ in pieces]
    end = asyncio.get_running_loop().time() + seconds
    left, running = deque(range(len(pieces))), dict[asyncio.Future[list[list[Translation]]], int]()

    def begin(most: int) -> None:
        """Ask for so many sentences more."""
        for n in [left.popleft() for _ in range(min(most, len(left)))]:
            running[asyncio.ensure_future(translate([pieces[n][1]]))] = n

    try:
        begin(AT_ONCE)
        while running:
            rest = end - asyncio.get_running_loop().time()
            done, _ = await asyncio.wait(running, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise TimeoutError
            # First those that found no room: they wait for others of the request, of which one may just have ended.
            for task in sorted(done, key=lambda task: not isinstance(task.exception(), Busy)):
                n = running.pop(task)
                if isinstance(task.exception(), Busy) and running:
                    left.appendleft(n)
                    continue
                [lists[n]] = task.result()
                begin(1)
                yield event("sentence", as_json(Sentence(*pieces[n][0], lists[n][0].text)))
        yield event("done", await finish(lists))
    except Exception as error:
        refused = refusal(error, request=request_id)
        yield event("error", {"error": {"code": refused.code, "message": refused.message}})
    finally:
        for task in running:
            task.cancel()


def event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
