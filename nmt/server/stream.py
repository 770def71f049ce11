"""Streaming: the translation of each sentence flows out as it is ready, as Server-Sent Events; then the whole answer.

Each sentence is searched alone, so that the first is there soon. When the client hangs up, the generator is closed, and
with it the searches that still wait.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nmt.server.errors import refusal
from nmt.server.own_bodies import Sentence
from nmt.server.schema import as_json
from nmt.text.normalise import tidy
from nmt.text.sentences import joint, split_sentences
from nmt.translation.request import Request, Translation, combined, ranks
from nmt.translation.spans import share
from nmt.translation.text_lines import BREAK
from nmt.translation.translator import Translator

TranslateOne = Callable[[Request], Awaitable[list[Translation]]]


@dataclass(frozen=True)
class Piece:
    """A sentence of a text, and the blanks or line break after it."""

    index: int
    """Number of the text; `line`: of the line in it; `sentence`: of the sentence in the line."""
    line: int
    sentence: int
    request: Request
    gap: str
    ends_line: bool


def cut(index: int, request: Request, *, whole: bool) -> list[Piece]:
    """The sentences of a text, or (`whole`) the text."""
    if whole:
        return [Piece(index, 0, 0, request, "", ends_line=True)]
    parts = BREAK.split(request.text.strip())
    found: list[tuple[int, int, str, str, bool]] = []
    for line, (text, end) in enumerate(zip(parts[::2], [*parts[1::2], ""], strict=True)):
        sentences = list(split_sentences(text)) or [("", "")]
        last = len(sentences) - 1
        for n, (sentence, blank) in enumerate(sentences):
            found.append((line, n, sentence, blank + end if n == last else blank, n == last))
    shared = share(request.constraints, [tidy(sentence)[0] for _, _, sentence, _, _ in found])
    return [
        Piece(index, line, n, Request(text, constraints, request.own), gap, ends_line)
        for (line, n, text, gap, ends_line), constraints in zip(found, shared, strict=True)
    ]


def join(translator: Translator, pieces: Sequence[Piece], lists: Sequence[Sequence[Translation]]) -> list[Translation]:
    """The translations of a text, from those of its sentences."""
    if len(pieces) == 1:
        return list(lists[0])
    return [join_rank(translator, pieces, chosen) for chosen in ranks(lists)]


def join_rank(translator: Translator, pieces: Sequence[Piece], chosen: Sequence[Translation]) -> Translation:
    source, text, links = "", "", list[tuple[int, int]]()
    for n, (piece, one) in enumerate(zip(pieces, chosen, strict=True)):
        before = n_before(source), n_before(text)
        links += [(before[0] + i, before[1] + j) for i, j in translator.align(piece.request.text, one)]
        following = chosen[n + 1].text if n + 1 < len(chosen) else ""
        keeps = piece.ends_line or not one.text or not following
        source += piece.request.text + piece.gap
        text += one.text + (piece.gap if keeps else joint(one.text, following, piece.gap, amid=False))
    return combined(text, chosen, tuple(links))


def n_before(text: str) -> int:
    """The number of the word that begins at the end of a text; if no blank ends it, its last word goes on."""
    return len(text.split()) - bool(text and not text[-1].isspace())


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
