"""What all APIs share: a handler of fields becomes a route, whose endpoint never raises."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmt.server.bodies import Fields, read_fields
from nmt.server.errors import Refused, refusal
from nmt.server.service import Call, Service

Handler = Callable[[Call], Coroutine[Any, Any, Response]]
ShowError = Callable[[Refused], Response]


def route(
    service: Service,
    show_error: ShowError,
    methods: str,
    path: str,
    handle: Handler,
    *,
    most_bytes: int = 0,
    is_open: bool = False,
) -> Route:
    """The route of a handler: the body is read in any form, the handler is cancelled if the client hangs up, and errors
    are shown as this API does.

    `methods`: with blanks between them. `most_bytes`: limit of the body, by default `body_bytes`. `is_open`: who asks
    needs no key."""
    config = service.config

    async def answer(request: Request) -> Response:
        fields = Fields()
        try:
            fields = await read_fields(request, most_bytes or config.body_bytes, config.body_seconds)
            call = Call(service, request, fields)
            if not is_open:
                call.caller  # noqa: B018 - it is refused without a key
            return await unless_hung_up(request, handle(call))
        except Exception as error:
            return show_error(refusal(error, request=request.scope["nmt.record"].id))
        finally:
            await fields.close()

    answer.__name__ = handle.__name__  # for the log and the metrics
    return Route(path, answer, methods=methods.split())


async def unless_hung_up(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """The response of a handler, which is cancelled if its client hangs up."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(hang_up(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Refused("the client has hung up", status=499, code="hung_up")
    finally:
        for one in (task, gone):
            one.cancel()


async def hang_up(request: Request) -> None:
    """Return when the client hangs up. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
