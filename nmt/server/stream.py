"""Streaming: the translation of each sentence flows out as it is ready, as Server-Sent Events; then the whole answer.

Each sentence is searched alone, so that the first is there soon. When the client hangs up, the generator is closed, and
with it the searches that still wait.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from nmt.reading.lines import Lines, cut_text, each_sentence
from nmt.reading.loop import Context, Reading, Tree, grow
from nmt.reading.request import Request, Translation
from nmt.server.errors import refusal
from nmt.server.own_bodies import Sentence
from nmt.server.schema import as_json

Translate = Callable[[Sequence[Request]], Awaitable[list[list[Translation]]]]
Piece = tuple[tuple[int, int, int], Request]
"""A sentence of a text: the numbers of the text, of the line in it and of the sentence in the line; and its request."""


def cut(requests: Sequence[Request], context: Context) -> tuple[list[Tree], list[Piece]]:
    """Texts in their sentences, which are the leaves of the trees; mark-up is whole."""
    steps = (cut_text, each_sentence) if context.mode == "none" else ()
    trees = [grow(Reading.of(request), steps, context) for request in requests]
    pieces: list[Piece] = []
    for index, tree in enumerate(trees):
        lines = tree.branches if isinstance(tree.taken, Lines) else (tree,)
        for n, line in enumerate(lines):
            pieces += [((index, n, k), leaf.request) for k, leaf in enumerate(line.leaves())]
    return trees, pieces


async def events(
    pieces: Sequence[Piece], translate: Translate, finish: Callable[[list[list[Translation]]], Awaitable[Any]]
) -> AsyncIterator[bytes]:
    """The events of a request: its sentences as they are ready, then the answer that `finish` makes of all."""
    lists: list[list[Translation]] = [[] for _ in pieces]

    async def translate_piece(n: int) -> int:
        [lists[n]] = await translate([pieces[n][1]])
        return n

    tasks = [asyncio.ensure_future(translate_piece(n)) for n in range(len(pieces))]
    try:
        for task in asyncio.as_completed(tasks):
            n = await task
            place, _ = pieces[n]
            yield event("sentence", as_json(Sentence(*place, lists[n][0].text)))
        yield event("done", as_json(await finish(lists)))
    except Exception as error:
        refused = refusal(error)
        yield event("error", {"error": {"code": refused.code, "message": refused.message}})
    finally:
        for task in tasks:
            task.cancel()


def event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
