"""Who asks, and for how much: a request flows in; the key that it has flows out, or why it is refused."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request

from nmt.server.bodies import Fields
from nmt.server.endpoint import record_of
from nmt.server.errors import Refused
from nmt.server.keys import Key
from nmt.server.service import Service

SCHEMES = ("bearer", "deepl-auth-key")  # of the header Authorization
KEY_FIELDS = ("api_key", "apiKey", "auth_key")  # in which clients of other APIs send it


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


def caller_of(service: Service, request: Request, fields: Fields) -> Caller:
    """Who asks. Refused without a valid key, if the service needs one."""
    address = request.client.host if request.client else ""
    text = key_text(request, fields)
    key = service.keys.find(text)
    if key is None:
        if not text:
            problem = "this service needs a key: send it as Authorization: Bearer KEY; its operator can give you one"
            raise Refused(problem, status=401, code="no_key")
        raise Refused("this service has no such key: its operator can give you one", status=403, code="wrong_key")
    record_of(request).key = key.name
    return Caller(key, key.hash or address)


def key_text(request: Request, fields: Fields) -> str:
    """The key in a request: of the header Authorization, or of a field as other APIs send it; empty if none is."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in SCHEMES and given.strip():
        return given.strip()
    texts = [fields.get(name) for name in KEY_FIELDS]
    return next((text for text in texts if isinstance(text, str)), "")


def admit(service: Service, request: Request, caller: Caller, texts: Sequence[str]) -> None:
    """Count the texts of a request. Refused if they are too many or too long, or if the key has had its share."""
    config, record = service.config, record_of(request)
    record.texts, record.characters = len(texts), sum(map(len, texts))
    if len(texts) > config.texts:
        problem = f"the request has {len(texts):,} texts: at most {config.texts:,} are allowed; send several requests"
        raise Refused(problem, status=413, code="too_many")
    longest = max(map(len, texts), default=0)
    if longest > config.text_characters:
        problem = f"a text has {longest:,} characters: at most {config.text_characters:,} are allowed; send it in parts"
        raise Refused(problem, status=413, code="too_long")
    service.keys.charge(caller.key, record.characters)


def require_key(service: Service, request: Request, fields: Fields) -> str:
    """For whom the engine takes turns, for LibreTranslate's API. Refused without a valid key, or if
    the key has had its share."""
    caller = caller_of(service, request, fields)
    service.keys.charge(caller.key, sum(len(text) for text in fields.values.get("q", []) if isinstance(text, str)))
    return caller.client
