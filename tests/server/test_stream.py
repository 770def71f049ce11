"""Streaming: sentences as they are ready; when nobody listens any more, no search goes on."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.reading.request import Request, Translation
from nmt.server.apis.native.answers import events, pieces_of
from nmt.server.errors import Busy
from tests.reading.pretended import context_of

pytestmark = pytest.mark.anyio


async def test_searches_end_when_the_client_hangs_up(tokenizer: Tokenizer) -> None:
    ended: list[str] = []

    async def translate(requests: Sequence[Request]) -> list[list[Translation]]:
        [request] = requests
        try:
            await asyncio.sleep(0 if request.text == "Ja." else 5)
        except asyncio.CancelledError:
            ended.append(request.text)
            raise
        return [[Translation(f"<{request.text}>", 0.0, ())]]

    async def never(_: Any) -> None:
        raise AssertionError

    _, pieces = pieces_of([Request("Ja. Nein. Gut.")], context_of(tokenizer), 9)
    stream = events(pieces, translate, never, 60, "a1")
    assert b'"text": "<Ja.>"' in await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    assert ended == ["Nein.", "Gut."]


@pytest.mark.parametrize(("room", "told"), [(2, b"event: done"), (0, b"too much waits")])
async def test_sentences_without_room_wait_for_others(tokenizer: Tokenizer, room: int, told: bytes) -> None:
    """Where the model is slow, the sentences that wait already would take too long for one more."""
    running = 0

    async def translate(requests: Sequence[Request]) -> list[list[Translation]]:
        nonlocal running
        if running == room:
            raise Busy(8)
        running += 1
        await asyncio.sleep(0)
        running -= 1
        return [[Translation(request.text.upper(), 0.0, ())] for request in requests]

    async def finish(lists: list[list[Translation]]) -> str:
        return " ".join(best.text for [best] in lists)

    _, pieces = pieces_of([Request("Ja. Nein. Gut. Lauf. Halt.")], context_of(tokenizer), 9)
    *_, last = [event async for event in events(pieces, translate, finish, 60, "a1")]
    assert told in last
    assert room == 0 or b"JA. NEIN. GUT. LAUF. HALT." in last


@pytest.mark.parametrize(("error", "told"), [(ValueError("hard"), b"hard"), (OSError("secret"), b"request id a1")])
async def test_an_error_is_an_event(tokenizer: Tokenizer, error: Exception, told: bytes) -> None:
    async def fail(_: Any) -> list[list[Translation]]:
        raise error

    _, pieces = pieces_of([Request("A.")], context_of(tokenizer), 9)
    [event] = [event async for event in events(pieces, fail, fail, 60, "a1")]
    assert event.startswith(b"event: error\ndata: ")
    assert told in event
