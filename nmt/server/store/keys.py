"""Keys of the service: random texts of 256 bits, of which only the hash is stored, and what each may ask for.

A file of keys is JSON: a list of objects with name, hash (SHA-256), created, requests and characters a minute. A random
key needs no slow hash: nobody can try 2**256 keys.
"""

import hashlib
import hmac
import json
import logging
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from nmt.extras import typed
from nmt.fields import Range, check_bounds, read_value, require
from nmt.files import locked, write_json
from nmt.server.errors import Refused

LOG = logging.getLogger("nmt.server")
MINUTE = 60.0  # seconds
MOST_OWNERS = 10_000  # whose use is known; then those are forgotten that asked for nothing in the last minute
PREFIX = "nmt-"  # so that a key in a file or a log can be recognised as one


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key, without its text. A limit of 0 means none."""

    name: str
    hash: str
    created: str = ""
    requests: Annotated[int, Range(0)] = 0
    """Requests in a minute."""
    characters: Annotated[int, Range(0)] = 0
    """Characters to translate in a minute."""

    def __post_init__(self) -> None:
        check_bounds("key", self)


NO_KEY = Key(name="", hash="")
"""Who asks a service that needs no key."""


@dataclass
class Use:
    """What an owner may still ask for, and has asked for."""

    at: float
    """When `requests` and `characters` were right: what is left of a minute's share, below 0 if more was used."""
    requests: float
    characters: float
    used: int = 0
    """Characters, since the service started."""


class Keys:
    """The keys of a service; a service without keys is open to all. The file is read again when it has changed."""

    def __init__(
        self, file: Path | None = None, anyone: Key = NO_KEY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`anyone`: the limits of each address, if there are no keys. ValueError if the file is no file of keys."""
        self.file, self.anyone, self.clock = file, anyone, clock
        self.uses: dict[str, Use] = {}
        self.most_uses = MOST_OWNERS
        self.changed, self.keys = (file.stat().st_mtime_ns, read_keys(file)) if file else (0, [])

    def find(self, text: str) -> Key | None:
        """The key with this text; None if there is none. All keys are compared, each in constant time."""
        if not self.file:
            return self.anyone
        try:
            changed = self.file.stat().st_mtime_ns
            if changed != self.changed:
                self.changed, self.keys = changed, read_keys(self.file)
        except (OSError, ValueError) as error:  # the keys stay as they were
            LOG.error("keys not read", extra={"fields": {"problem": str(error)}})
        given = hash_of(text)
        return next(iter([key for key in self.keys if hmac.compare_digest(key.hash, given)]), None)

    def admit(self, owner: str, key: Key) -> None:
        """Count a request of an owner. Refused if it has none left."""
        use = self.use(owner, key)
        if key.requests and use.requests < 1:
            raise self.limit_reached("requests", key.requests, 1 - use.requests)
        use.requests -= 1 if key.requests else 0  # a limit that comes later counts from then on

    def charge(self, owner: str, key: Key, characters: int) -> None:
        """Count characters to translate. Refused if an owner has used its own: a request may have more than are left,
        and then the next one waits until they are paid for."""
        use = self.use(owner, key)
        if key.characters and use.characters <= 0:
            raise self.limit_reached("characters", key.characters, -use.characters)
        use.characters -= characters if key.characters else 0  # else it would never be forgotten
        use.used += characters

    def limit_reached(self, name: str, limit: int, missing: float) -> Refused:
        wait = max(1, math.ceil(missing * MINUTE / limit))
        whose = "this key" if self.file else "your address"
        problem = f"{whose} may have {limit:,} {name} a minute: try again in {wait} seconds"
        return Refused(problem, status=429, code="limit_reached", retry_after=wait)

    def use(self, owner: str, key: Key) -> Use:
        """What an owner may have now."""
        now = self.clock()
        if len(self.uses) >= self.most_uses and owner not in self.uses:  # addresses
            self.uses = {o: use for o, use in self.uses.items() if now - use.at < MINUTE or use.characters < 0}
            self.most_uses = max(MOST_OWNERS, 2 * len(self.uses))  # so that looking through all of them is rare
        use = self.uses.setdefault(owner, Use(now, key.requests, key.characters))
        share = (now - use.at) / MINUTE
        use.requests = min(key.requests, use.requests + share * key.requests)
        use.characters = min(key.characters, use.characters + share * key.characters)
        use.at = now
        return use


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(file: Path) -> list[Key]:
    try:
        return list(read_value(json.loads(file.read_text(encoding="utf8")), list[Key], "it"))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{file} is no file of keys: {error}; make one with {typed('keys')}") from error


def make_key(file: Path, name: str, requests: int = 0, characters: int = 0) -> str:
    """Add a key to a file, which is made if it is missing. The text of the key is returned, and stored nowhere.
    ValueError if there is a key with this name."""
    is_readable = name.isprintable() and bool(name.strip())  # `list` shows names on lines and in columns
    require(is_readable, f"{name!r} is no name for a key: give one, such as the name of who gets it")
    text = PREFIX + secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    key = Key(name=name, hash=hash_of(text), created=created, requests=requests, characters=characters)
    with locked(file.parent, wait=True):  # who adds another key at the same time
        is_new = not file.exists()
        keys = [] if is_new else read_keys(file)
        require(all(known.name != name for known in keys), f"{file} has a key named {name!r}: choose another name")
        write_json(file, [*map(asdict, keys), asdict(key)])
        if is_new:  # else whoever may read it stays able to, such as the service
            file.chmod(0o600)
    return text


def remove_key(file: Path, name: str) -> None:
    """Take a key out of a file; ValueError if there is none with this name."""
    with locked(file.parent, wait=True):
        keys = read_keys(file)
        known = ", ".join(key.name for key in keys) or "none"
        require(any(key.name == name for key in keys), f"{file} has no key named {name!r}; it has: {known}")
        write_json(file, [asdict(key) for key in keys if key.name != name])
