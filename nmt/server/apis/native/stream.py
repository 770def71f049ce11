"""Streaming: the translation of each sentence flows out as it is ready, as Server-Sent Events; then the whole answer.

Each sentence is searched alone, so that the first is there soon. When the client hangs up, the generator is closed, and
with it the searches that still wait.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import islice
from typing import Any

from nmt.reading.lines import Lines, cut_text, each_sentence
from nmt.reading.loop import Context, Tree
from nmt.reading.request import Request, Translation
from nmt.server.apis.native.bodies import Sentence
from nmt.server.apis.native.schema import as_json
from nmt.server.errors import refusal
from nmt.server.work.queue import cut

Translate = Callable[[Sequence[Request]], Awaitable[list[list[Translation]]]]
Piece = tuple[tuple[int, int, int], Request]
"""A sentence of a text: the numbers of the text, of the line in it and of the sentence in the line; and its request."""
AT_ONCE = 64  # sentences of a request that wait in the queue


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
    translate: Translate,
    finish: Callable[[list[list[Translation]]], Awaitable[Any]],
    seconds: float,
    request_id: str,
) -> AsyncIterator[bytes]:
    """The events of a request: its sentences as they are ready, then the answer that `finish` makes of all; an error
    after so many seconds."""
    lists: list[list[Translation]] = [[] for _ in pieces]
    end = asyncio.get_running_loop().time() + seconds
    left, running = iter(enumerate(pieces)), dict[asyncio.Future[list[list[Translation]]], int]()

    def begin(most: int) -> None:
        """Ask for so many sentences more."""
        for n, (_, request) in islice(left, most):
            running[asyncio.ensure_future(translate([request]))] = n

    try:
        begin(AT_ONCE)
        while running:
            rest = end - asyncio.get_running_loop().time()
            done, _ = await asyncio.wait(running, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise TimeoutError
            for task in done:
                n = running.pop(task)
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
