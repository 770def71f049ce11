"""What an API does, and the way of every request to it: who may ask, what it costs and how large its body may be are
checked before the body is read; then its handler works for one `Work`, until its time is over or its client is gone.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Literal, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from nmt.fields import read_value
from nmt.server.apis.bodies import MOST_FIELDS, Fields, read_fields
from nmt.server.errors import Busy, Draining, Refused, refusal
from nmt.server.service import Service
from nmt.server.work.owners import Work

SCHEMES = ("bearer", "deepl-auth-key")  # of the header Authorization
KEY_FIELDS = ("api_key", "apiKey", "auth_key")  # in which clients of other APIs send it
KEY_PART = re.compile(rb'name="?api_key"?\r\n(?:[^\r\n]+\r\n){0,5}\r\n([^\r\n]{0,200})\r\n')  # of a multipart form
FEW_BYTES = 2**16  # a body without texts or files; of a multipart form, where its key must stand
FORM_BYTES = 2**16  # of an upload, beside the file
SMALL = 2**12  # bytes of a body that is read at once: a thread would take longer
MOST_KIND = 1_000  # characters of a content type
# Hosts that no web page can name as its own.
LOCAL = re.compile(r"[^.]+|(.+\.)?localhost|[\d.]+|\[[\da-f:.]+\]", re.IGNORECASE)

Result = TypeVar("Result")
Auth = Literal["open", "token", "key", "own"]
"""Who may ask: everybody; who has the token in the request; who has a key, if the service has keys; the same but,
without keys, no page of another site, since the answer is about what users have stored."""


@dataclass(frozen=True)
class Operation:
    """What an API does: a route, and what flows in and out."""

    methods: str
    """With blanks between them."""
    path: str
    handle: "Handler"
    summary: str = ""
    """For the OpenAPI document, as `answer`, `status`, `query` and `events`."""
    answer: Any = None
    """Dataclass of a JSON answer, or its JSON Schema; None: no body; `FILE`: a file."""
    auth: Auth = "key"
    body: Any = None
    """None: fields in any form. A dataclass: JSON. A dict: the JSON Schema of a multipart form with a file."""
    key_in_body: bool = False
    """Whether the key may be a field of the body, which then is read before it is known who asks."""
    status: int = 200
    query: Sequence[str] = ()
    """Names of parameters in the query."""
    events: Sequence[Any] = ()
    """Dataclasses of the data of Server-Sent Events, where a request asks for them."""


class Call:
    """A request of a client, its fields, and the work for it."""

    def __init__(self, request: Request, service: Service) -> None:
        self.request, self.service, self.fields = request, service, Fields()
        self.work: Work = request.scope["nmt.work"]
        self.path: dict[str, str] = request.path_params
        self.body: Any = None
        """The dataclass of the operation."""
        self.address, self.size, self.is_known = self.work.owner, 0, False  # who holds how many bytes of the body

    async def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """The result of a function that takes time, from a thread."""
        return await self.service.places.run(self.work, function, *args)

    def identify(self, text: str) -> None:
        """Note who asks, by the text of the key. Refused without a valid key, or if it has had its share."""
        key, advice = self.service.keys.find(text), "its operator can give you one"
        if key is None and not text:
            problem = f"this service needs a key: send it as Authorization: Bearer KEY; {advice}"
            raise Refused(problem, status=401, code="no_key")
        if key is None:
            raise Refused(f"this service has no such key: {advice}", status=403, code="wrong_key")
        self.work.key, self.work.owner = key, key.hash or self.work.owner
        self.service.keys.admit(self.work.owner, key)
        self.is_known = True

    def refuse_other_sites(self) -> None:
        """Refused, in a service without keys, if a page of another site asks: by its origin, or by a name of its own
        for this machine."""
        if self.service.keys.file:
            return
        config, headers = self.service.config, self.request.headers
        host, origin = headers.get("host", "").lower(), headers.get("origin", "")
        name = re.sub(r":\d+$", "", host)
        names = [known.strip().lower() for known in (*config.names.split(","), config.host)]
        is_ours = name != "" and (bool(LOCAL.fullmatch(name)) or name in names)
        is_same = not origin or origin.lower().partition("://")[2] == host
        is_fine = is_ours and is_same and headers.get("sec-fetch-site") != "cross-site"
        if not is_fine:
            problem = "glossaries and documents of a service without keys are not for pages of other sites"
            advice = "its operator can make keys, or allow its name with --names"
            raise Refused(f"{problem}: {advice}", status=403, code="other_site")

    def admit(self, texts: Sequence[str]) -> None:
        """Count the texts. Refused if they are too many or too long."""
        config = self.service.config
        if len(texts) > config.texts:
            problem = f"the request has {len(texts):,} texts: at most {config.texts:,} are allowed"
            raise Refused(f"{problem}; send several requests", status=413, code="too_many")
        longest = max(map(len, texts), default=0)
        if longest > config.text_characters:
            problem = f"a text has {longest:,} characters: at most {config.text_characters:,} are allowed"
            raise Refused(f"{problem}; send it in parts", status=413, code="too_long")
        self.charge(texts)

    def charge(self, texts: Sequence[str]) -> None:
        """Count the texts."""
        self.work.texts, self.work.characters = len(texts), sum(map(len, texts))
        self.service.keys.charge(self.work.owner, self.work.key, self.work.characters)


Handler = Callable[[Call], Response | Coroutine[Any, Any, Response]]
"""A coroutine, or a function that takes time, which runs in a thread."""
Show = Callable[[Refused], Response]
"""An error, as an API shows it."""


class Endpoint:
    """The way of a request to its handler, and back."""

    def __init__(self, service: Service, show: Show, operation: Operation) -> None:
        self.service, self.show, self.operation = service, show, operation
        self.is_open = operation.auth in ("open", "token")
        self.has_file = isinstance(operation.body, dict)
        config = service.config
        with_file, without = config.file_bytes + FORM_BYTES, FEW_BYTES if self.is_open else config.body_bytes
        self.most_bytes = with_file if self.has_file else without
        is_of_file = self.has_file or operation.auth == "token"  # files are kept so long
        self.seconds = 60 * config.file_minutes if is_of_file else config.request_seconds

    @property
    def __name__(self) -> str:
        """For the log and the metrics."""
        return self.operation.handle.__name__.rstrip("_")  # that of list_, which hides no name of Python's, is list

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call, begun = Call(Request(scope, receive), self.service), False
        call.is_known = self.is_open

        async def send_on(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        async def respond() -> None:
            handle = self.operation.handle
            response: Any = handle(call) if iscoroutinefunction(handle) else call.run(handle, call)
            await (await response)(scope, receive, send_on)

        try:
            await self.enter(call)
            await self.until_gone(call, respond())
        except (Exception, asyncio.CancelledError) as error:  # the server cancels what is still open when it ends
            refused = refusal(error, request=call.work.id) if isinstance(error, Exception) else Draining()
            if not begun:  # else the server cuts the connection, since the answer isn't whole
                await self.show(refused)(scope, receive, send)
        finally:
            self.service.bodies.give_back(call.address, call.size)

    async def enter(self, call: Call) -> None:
        """Find out who asks, and read the body."""
        request, operation, service = call.request, self.operation, self.service
        kind = request.headers.get("content-type", "")
        if request.scope["query_string"].count(b"&") >= MOST_FIELDS or len(kind) > MOST_KIND:  # they are read at once
            raise Refused(f"the query has more than {MOST_FIELDS:,} fields, or the content type is too long")
        if operation.auth == "own":
            call.refuse_other_sites()
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        given = given.strip() if scheme.lower() in SCHEMES else ""
        given = given or next((text for name in KEY_FIELDS if (text := request.query_params.get(name))), "")
        if not self.is_open and (given or not operation.key_in_body or not service.keys.file):
            call.identify(given)
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refused("the body is compressed: send it as it is", status=415)
        if self.has_file and not kind.lower().startswith("multipart/form-data"):
            raise Refused("file is missing: send a multipart form with the file in the field file", code="no_file")
        try:
            async with asyncio.timeout(service.config.body_seconds):
                data = await self.receive(call)
        except TimeoutError:
            problem = f"the body took more than {service.config.body_seconds:g} s to arrive"
            raise Refused(problem, status=408, code="too_slow") from None
        if len(data) + len(request.url.query) <= SMALL:
            self.read(call, kind, data)
        else:
            await call.run(self.read, call, kind, data)
        if not call.is_known:
            texts = [call.fields.get(name) for name in KEY_FIELDS]
            call.identify(next((text for text in texts if isinstance(text, str)), ""))

    async def receive(self, call: Call) -> bytes:
        """The body. Refused if it is too large, whether its head says so or not, or if it begins with no valid key."""
        problem = Refused(f"the body is too large: at most {self.most_bytes:,} bytes", status=413, code="too_large")
        length = call.request.headers.get("content-length", "")
        if length.isdecimal() and int(length[:18]) > self.most_bytes:
            raise problem
        data = bytearray()
        try:
            async for chunk in call.request.stream():
                if call.size + len(chunk) > self.most_bytes:
                    raise problem
                if not self.service.bodies.take(call.address, len(chunk)):
                    raise Busy(5)
                call.size += len(chunk)
                data += chunk
                if self.has_file and not call.is_known and len(data) > FEW_BYTES:
                    found = KEY_PART.search(data, 0, FEW_BYTES)
                    call.identify(found[1].decode("latin-1") if found else "")
        except ClientDisconnect:
            raise client_gone() from None
        return bytes(data)

    def read(self, call: Call, kind: str, data: bytes) -> None:
        """Make the fields and, if it is known who asks, the dataclass of the body; takes time."""
        call.fields = read_fields(call.request.query_params.multi_items(), kind, data)
        if self.operation.body and not self.has_file and call.is_known:
            given = {name: value for name, value in call.fields.items() if name not in KEY_FIELDS}
            call.body = read_value(given, self.operation.body, "the body")

    async def until_gone(self, call: Call, work: Coroutine[Any, Any, None]) -> None:
        """Wait for the end of the work. If the client hangs up, or the time is over, it is cancelled."""
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(hang_up(call.request))
        try:
            await asyncio.wait((task, gone), timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise client_gone() if gone.done() else TimeoutError
            task.result()
        finally:
            call.work.stop.set()
            task.cancel()
            gone.cancel()


def client_gone() -> Refused:
    """Made for each client: an error that is raised again keeps all that the calls before it had in memory."""
    return Refused("the client has hung up", status=499, code="hung_up")


async def hang_up(request: Request) -> None:
    """Return when the client hangs up. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
