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
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from nmt.extras import typed
from nmt.fields import Range, check_bounds, from_json, require
from nmt.files import write_json
from nmt.server.errors import Refused

LOG = logging.getLogger("nmt.server")
WINDOW = 60.0  # seconds
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
    """What a key has asked for."""

    recent: deque[tuple[float, int, int]] = field(default_factory=deque)
    """Time, requests and characters, in the last minute."""
    characters: int = 0
    """Since the service started."""


class Keys:
    """The keys of a service; a service without keys is open to all. The file is read again when it has changed."""

    def __init__(self, file: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """ValueError if the file is no file of keys."""
        self.file, self.clock = file, clock
        self.uses: defaultdict[str, Use] = defaultdict(Use)
        self.changed, self.keys = (file.stat().st_mtime_ns, read_keys(file)) if file else (0, [])

    def refresh(self) -> None:
        """Read the file again if it has changed. If it can't be read, the keys stay as they were."""
        try:
            changed = self.file.stat().st_mtime_ns if self.file else 0
            if self.file and changed != self.changed:
                self.changed, self.keys = changed, read_keys(self.file)
        except (OSError, ValueError) as error:
            LOG.error("keys not read", extra={"fields": {"problem": str(error)}})

    def find(self, text: str) -> Key | None:
        """The key with this text; None if there is none. All keys are compared, each in constant time."""
        if not self.file:
            return NO_KEY
        self.refresh()
        given = hash_of(text)
        return next(iter([key for key in self.keys if hmac.compare_digest(key.hash, given)]), None)

    def charge(self, key: Key, characters: int, requests: int = 1) -> None:
        """Count what a key asks for. Refused if it has asked for too much in the last minute; a request with more
        characters than a minute allows may come after a minute without any."""
        use, now = self.uses[key.hash], self.clock()
        while use.recent and use.recent[0][0] <= now - WINDOW:
            use.recent.popleft()
        n_requests = requests + sum(n for _, n, _ in use.recent)
        before = sum(n for _, _, n in use.recent)
        too_many = key.requests and requests and n_requests > key.requests
        too_long = key.characters and characters and before and before + characters > key.characters
        if too_many or too_long:
            share = f"{key.requests:,} requests" if too_many else f"{key.characters:,} characters"
            wait = max(1, math.ceil(WINDOW - (now - use.recent[0][0])))
            problem = f"this key may have {share} a minute: try again in {wait} seconds"
            raise Refused(problem, status=429, code="limit_reached", retry_after=wait)
        use.recent.append((now, requests, characters))
        use.characters += characters


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(file: Path) -> list[Key]:
    try:
        values = json.loads(file.read_text(encoding="utf8"))
        require(isinstance(values, list), "it must be a list")
        return [from_json(Key, value) for value in values]
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{file} is no file of keys: {error}; make one with {typed('keys')}") from error


def make_key(file: Path, name: str, requests: int = 0, characters: int = 0) -> str:
    """Add a key to a file, which is made if it is missing. The text of the key is returned, and stored nowhere.
    ValueError if there is a key with this name."""
    keys = read_keys(file) if file.exists() else []
    require(bool(name.strip()), "the key has no name: give one, such as the name of who gets it")
    require(all(key.name != name for key in keys), f"{file} has a key named {name!r}: choose another name")
    text = PREFIX + secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    key = Key(name=name, hash=hash_of(text), created=created, requests=requests, characters=characters)
    write_json(file, [*map(asdict, keys), asdict(key)])
    file.chmod(0o600)
    return text


def remove_key(file: Path, name: str) -> None:
    """Take a key out of a file; ValueError if there is none with this name."""
    keys = read_keys(file)
    known = ", ".join(key.name for key in keys) or "none"
    require(any(key.name == name for key in keys), f"{file} has no key named {name!r}; it has: {known}")
    write_json(file, [asdict(key) for key in keys if key.name != name])
