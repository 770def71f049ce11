"""Streaming: the translation of each sentence flows out as it is ready, as Server-Sent Events; then the whole answer.

Each sentence is searched alone, so that the first is there soon. When the client hangs up, the generator is closed, and
with it the searches that still wait.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nmt.reading.lines import Lines, cut_text, each_sentence
from nmt.reading.loop import Context, Tree, grow
from nmt.reading.reading import Reading
from nmt.reading.request import Request, Translation
from nmt.server.errors import refusal
from nmt.server.own_bodies import Sentence
from nmt.server.schema import as_json

Translate = Callable[[Sequence[Request]], Awaitable[list[list[Translation]]]]


@dataclass(frozen=True)
class Piece:
    """A sentence of a text."""

    index: int
    """Number of the text; `line`: of the line in it; `sentence`: of the sentence in the line."""
    line: int
    sentence: int
    request: Request


def cut(requests: Sequence[Request], context: Context) -> tuple[list[Tree], list[Piece]]:
    """Texts in their sentences, which are the leaves of the trees; mark-up is whole."""
    steps = (cut_text, each_sentence) if context.mode == "none" else ()
    trees = [grow(Reading.of(request), steps, context) for request in requests]
    pieces = []
    for index, tree in enumerate(trees):
        lines = tree.branches if isinstance(tree.taken, Lines) else (tree,)
        pieces += [
            Piece(index, n, k, leaf.request) for n, line in enumerate(lines) for k, leaf in enumerate(line.leaves())
        ]
    return trees, pieces


async def events(
    pieces: Sequence[Piece], translate: Translate, finish: Callable[[list[list[Translation]]], Awaitable[Any]]
) -> AsyncIterator[bytes]:
    """The events of a request: its sentences as they are ready, then the answer that `finish` makes of all."""
    lists: list[list[Translation]] = [[] for _ in pieces]

    async def translate_piece(n: int) -> int:
        [lists[n]] = await translate([pieces[n].request])
        return n

    tasks = [asyncio.ensure_future(translate_piece(n)) for n in range(len(pieces))]
    try:
        for task in asyncio.as_completed(tasks):
            n = await task
            piece = pieces[n]
            yield event("sentence", as_json(Sentence(piece.index, piece.line, piece.sentence, lists[n][0].text)))
        yield event("done", as_json(await finish(lists)))
    except Exception as error:
        refused = refusal(error)
        yield event("error", {"error": {"code": refused.code, "message": refused.message}})
    finally:
        for task in tasks:
            task.cancel()


def event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
