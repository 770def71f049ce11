"""The service: models and settings flow in, a Starlette application flows out, with all APIs, the page and metrics.

Every request becomes a `Work`. Every response, whatever made it, passes through `Outer`: it gets the headers for
security, a request id, a line in the log, and its place in the metrics.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt.server.apis import libretranslate
from nmt.server.apis.deepl import texts as deepl
from nmt.server.apis.native import handlers as native
from nmt.server.apis.operation import Endpoint
from nmt.server.errors import Refused
from nmt.server.service import Service
from nmt.server.work.owners import Work, owner_of
from nmt.server.work.processes import prepare

LOG = logging.getLogger("nmt.server")
PAGE = Path(__file__).parent / "page"
LONGEST_PATH = 2_000  # characters
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
# Any page may use the APIs, but never with the cookies or the passwords of its reader. It may not read the metrics.
SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After, X-Request-ID"}
PREFLIGHT = SHARED | {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Max-Age": "86400",
}


class Page(StaticFiles):
    """The files of the page. Browsers ask each time whether one is new: else an update would mix the versions."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def routes(service: Service) -> list[BaseRoute]:
    async def health(_: Request) -> Response:
        """Whether the service takes requests: 200, or 503 while it loads or ends."""
        if service.ending:
            return JSONResponse({"status": "ending"}, 503)
        failed = {served.name for served in service.models.all if served.problem and not served.translator}
        if failed:
            return JSONResponse({"status": "failed", "models": sorted(failed)}, 503)
        return JSONResponse({"status": "ok"}) if service.models.ready else JSONResponse({"status": "loading"}, 503)

    async def figures(_: Request) -> Response:
        return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")

    state: list[BaseRoute] = [Route("/health", health), Route("/metrics", figures)]
    apis = [
        Route(operation.path, Endpoint(service, api.show, operation), methods=operation.methods.split())
        for api in (libretranslate, deepl, native)
        for operation in api.OPERATIONS
    ]
    return [*state, *apis, Mount("/", Page(directory=PAGE, html=True, check_dir=False))]


def make_app(service: Service) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.models.start()
        if service.config.files:
            await asyncio.to_thread(prepare)
        yield
        service.close()

    app = Starlette(routes=routes(service), lifespan=lifespan, middleware=[Middleware(Outer, service=service)])
    app.add_exception_handler(HTTPException, show_http_error)
    return app


async def show_http_error(request: Request, error: Exception) -> Response:
    """An error of Starlette itself, 404 or 405, as JSON: clients of all APIs expect it. It comes from the folder of the
    page, which answers to all paths that no route takes."""
    assert isinstance(error, HTTPException)
    if request.url.path.startswith(("/v2/", "/v3/")):  # DeepL's clients know no 405
        return deepl.show(Refused("Not found", status=404))
    is_known = any(isinstance(route, Route) and route.path == request.url.path for route in request.app.routes)
    status = HTTPStatus.METHOD_NOT_ALLOWED if is_known else HTTPStatus.NOT_FOUND
    return JSONResponse({"error": status.phrase}, status)


class Outer:
    """What every request passes through."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        work = scope["nmt.work"] = Work(secrets.token_hex(8), owner_of((scope.get("client") or ("",))[0]))
        started, status = time.perf_counter(), 499

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                shared = SHARED if isinstance(scope.get("endpoint"), Endpoint) else {}
                for name, value in (HEADERS | shared).items():
                    headers.setdefault(name, value)
                headers["X-Request-ID"] = work.id
            await send(message)

        try:
            if len(scope["path"]) > LONGEST_PATH:  # the folder of the page would look at each part of it
                await JSONResponse({"error": "the path is too long"}, 414)(scope, receive, send_on)
            elif scope["method"] == "OPTIONS":
                await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send_on)
            else:
                await self.app(scope, receive, send_on)
        finally:
            self.note(scope, work, status, time.perf_counter() - started)

    def note(self, scope: Scope, work: Work, status: int, seconds: float) -> None:
        """Count and log a request."""
        # The function, not the path: only the functions are few.
        name = getattr(scope.get("endpoint"), "__name__", "none")
        self.service.metrics.count("requests", endpoint=name, status=str(status))
        self.service.metrics.time("request", seconds, endpoint=name)
        fields = {"request": work.id, "method": scope["method"], "endpoint": name, "status": status}
        fields |= {"seconds": round(seconds, 4), "texts": work.texts, "characters": work.characters}
        LOG.info("request", extra={"fields": fields | {"key": work.key.name}})
