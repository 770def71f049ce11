"""What the parts of the service share: models, settings, the engine, what clients store; a call, with who asks; and the
route of a handler, whose endpoint never raises."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nmt.config.serve import ServeConfig
from nmt.server.bodies import Fields, read_fields
from nmt.server.document_files import Files
from nmt.server.errors import Refused, refusal
from nmt.server.glossaries import Glossaries
from nmt.server.keys import Key, Keys
from nmt.server.metrics import Metrics
from nmt.server.models import Direction, Models
from nmt.server.queue import Engine
from nmt.translation.pair_scorer import PairScorer

SCHEMES = ("bearer", "deepl-auth-key")  # of the header Authorization
KEY_FIELDS = ("api_key", "apiKey", "auth_key")  # in which clients of other APIs send it


class Service:
    """What all handlers of requests use."""

    def __init__(self, models: Models, config: ServeConfig) -> None:
        self.models, self.config, self.metrics = models, config, Metrics()
        self.engine = Engine(config, self.metrics)
        models.on_replaced = self.engine.cache.clear  # its entries would keep the old model in memory
        self.keys = Keys(Path(config.keys) if config.keys else None)
        self.glossaries = Glossaries(Path(config.glossaries))
        self.files = Files(config)
        self.scorers: dict[Direction, PairScorer] = {}
        self.ending = False
        """Whether the service soon stops listening, so that a load balancer should choose another one."""


@dataclass
class Record:
    """What the log says of a request: never its text."""

    id: str
    texts: int = 0
    characters: int = 0
    key: str = ""
    """The name of the API key, not the key itself."""


@dataclass(frozen=True)
class Caller:
    """Who asks."""

    key: Key
    client: str
    """For whom the engine takes turns: the key or, without keys, the address of the client."""

    @property
    def owner(self) -> str:
        """Whose glossaries and files there are."""
        return self.key.hash


class Call:
    """A request of a client, and its fields."""

    def __init__(self, service: Service, request: Request, fields: Fields) -> None:
        self.service, self.request, self.fields = service, request, fields
        self.record: Record = request.scope["nmt.record"]
        self.path: dict[str, str] = request.path_params

    @cached_property
    def caller(self) -> Caller:
        """Who asks. Refused without a valid key, if the service needs one."""
        text, operator = self.key_text(), "its operator can give you one"
        key = self.service.keys.find(text)
        if key is None and not text:
            problem = f"this service needs a key: send it as Authorization: Bearer KEY; {operator}"
            raise Refused(problem, status=401, code="no_key")
        if key is None:
            raise Refused(f"this service has no such key: {operator}", status=403, code="wrong_key")
        self.record.key = key.name
        return Caller(key, key.hash or (self.request.client.host if self.request.client else ""))

    def key_text(self) -> str:
        """The key: of the header Authorization, or of a field as other APIs send it; empty if none is given."""
        scheme, _, given = self.request.headers.get("authorization", "").partition(" ")
        if scheme.lower() in SCHEMES and given.strip():
            return given.strip()
        texts = [self.fields.get(name) for name in KEY_FIELDS]
        return next((text for text in texts if isinstance(text, str)), "")

    def admit(self, texts: Sequence[str]) -> None:
        """Count the texts. Refused if they are too many or too long, or if the key has had its share."""
        config, record = self.service.config, self.record
        record.texts, record.characters = len(texts), sum(map(len, texts))
        if len(texts) > config.texts:
            problem = f"the request has {len(texts):,} texts: at most {config.texts:,} are allowed"
            raise Refused(f"{problem}; send several requests", status=413, code="too_many")
        longest = max(map(len, texts), default=0)
        if longest > config.text_characters:
            problem = f"a text has {longest:,} characters: at most {config.text_characters:,} are allowed"
            raise Refused(f"{problem}; send it in parts", status=413, code="too_long")
        self.service.keys.charge(self.caller.key, record.characters)


Handler = Callable[[Call], Coroutine[Any, Any, Response]]


def route(
    service: Service,
    show_error: Callable[[Refused], Response],
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
        task.cancel()
        gone.cancel()


async def hang_up(request: Request) -> None:
    """Return when the client hangs up. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
