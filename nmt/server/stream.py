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
from nmt.reading.loop import Context, Reading, Tree, grow
from nmt.reading.request import Request, Translation
from nmt.server.errors import refusal
from nmt.server.own_bodies import Sentence
from nmt.server.schema import as_json

TranslateOne = Callable[[Request], Awaitable[list[Translation]]]


@dataclass(frozen=True)
class Piece:
    """A sentence of a text."""

    index: int
    """Number of the text; `line`: of the line in it; `sentence`: of the sentence in the line."""
    line: int
    sentence: int
    reading: Reading

    @property
    def request(self) -> Request:
        return self.reading.request


@dataclass(frozen=True)
class Text:
    """A text that is cut into sentences."""

    tree: Tree
    pieces: list[Piece]

    def join(self, lists: Sequence[list[Translation]]) -> list[Translation]:
        """The translations of the text, from those of its sentences."""
        found = (
            [piece.reading.of_line(translation) for translation in translations]
            for piece, translations in zip(self.pieces, lists, strict=True)
        )
        return self.tree.back(found)


def cut(index: int, request: Request, context: Context) -> Text:
    """A text in its sentences; mark-up is whole."""
    steps = (cut_text, each_sentence) if context.mode == "none" else ()
    tree = grow(Reading.of(request), steps, context)
    lines = tree.branches if isinstance(tree.taken, Lines) else (tree,)
    pieces = [Piece(index, n, k, leaf) for n, line in enumerate(lines) for k, leaf in enumerate(line.leaves())]
    return Text(tree, pieces)


async def events(
    pieces: Sequence[Piece], translate: TranslateOne, finish: Callable[[list[list[Translation]]], Awaitable[Any]]
) -> AsyncIterator[bytes]:
    """The events of a request: its sentences as they are ready, then the answer that `finish` makes of all."""
    tasks = [asyncio.ensure_future(with_number(n, translate(piece.request))) for n, piece in enumerate(pieces)]
    lists: list[list[Translation]] = [[] for _ in pieces]
    try:
        for task in asyncio.as_completed(tasks):
            n, lists[n] = await task
            piece = pieces[n]
            yield event("sentence", as_json(Sentence(piece.index, piece.line, piece.sentence, lists[n][0].text)))
        yield event("done", as_json(await finish(lists)))
    except Exception as error:
        refused = refusal(error)
        yield event("error", {"error": {"code": refused.code, "message": refused.message}})
    finally:
        for task in tasks:
            task.cancel()


async def with_number(n: int, work: Awaitable[list[Translation]]) -> tuple[int, list[Translation]]:
    return n, await work


def event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
