"""Documents in flight: an upload flows in; its translation is made in the background, kept for a while as a file of a
temporary folder, and given to whoever has its token."""

import asyncio
import hmac
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nmt.config.serve import ServeConfig
from nmt.server.errors import Busy, Refused, refusal
from nmt.server.keys import hash_of

State = Literal["waiting", "translating", "done", "error"]


@dataclass(eq=False)
class File:
    """A document that is translated, or was."""

    id: str
    token_hash: str
    name: str
    """Of the file that its owner gets."""
    media_type: str
    state: State = "waiting"
    done: int = 0
    """Texts that are translated; `of`: texts of the document."""
    of: int = 0
    characters: int = 0
    """Of these texts."""
    message: str = ""
    """What went wrong."""
    ended: float | None = None
    """When it was done or failed."""
    task: "asyncio.Task[None] | None" = None


Work = Callable[[File], Awaitable[bytes]]
"""Makes the translation of a document, and says in the `File` how far it is."""


class Files:
    """All documents of a service; not shared between processes."""

    def __init__(self, config: ServeConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self.config, self.clock = config, clock
        self.known: dict[str, File] = {}
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def start(self, name: str, media_type: str, work: Work) -> tuple[File, str]:
        """Begin to translate a document; also its token. Refused if files are switched off, Busy if too many are in
        work. The oldest results make room."""
        if not self.config.files:
            raise Refused("this service translates no files", status=403, code="disabled")
        self.forget()
        while len(self.known) >= self.config.files:
            ended = [(file.ended, file.id) for file in self.known.values() if file.ended is not None]
            if not ended:
                raise Busy(10)
            self.remove(self.known[min(ended)[1]])
        token = secrets.token_urlsafe(32)
        file = File(secrets.token_hex(16), hash_of(token), name, media_type)
        self.known[file.id] = file
        file.task = asyncio.get_running_loop().create_task(self.run(file, work))
        return file, token

    async def run(self, file: File, work: Work) -> None:
        try:
            data = await work(file)
            await asyncio.to_thread(self.path(file).write_bytes, data)
            file.state = "done"
        except Exception as error:
            file.state, file.message = "error", refusal(error, file=file.id).message
        file.ended = self.clock()

    def get(self, identity: str, token: str) -> File:
        """Refused if there is no such document, or for a wrong token: nobody learns which of both."""
        self.forget()
        file = self.known.get(identity)
        fits = hmac.compare_digest(file.token_hash if file else "", hash_of(token))
        if file is None or not fits:
            minutes = f"{self.config.file_minutes:g}"
            problem = f"there is no such document with this token; documents are deleted after {minutes} minutes"
            raise Refused(problem, status=404, code="no_document")
        return file

    def path(self, file: File) -> Path:
        """Where the translation is."""
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="nmt-files-")
        return Path(self.folder.name, file.id)

    def forget(self) -> None:
        """Delete what is too old."""
        oldest = self.clock() - 60 * self.config.file_minutes
        for file in [*self.known.values()]:
            if file.ended is not None and file.ended < oldest:
                self.remove(file)

    def remove(self, file: File) -> None:
        del self.known[file.id]
        self.path(file).unlink(missing_ok=True)

    def close(self) -> None:
        """End all work, and delete all files."""
        for file in self.known.values():
            if file.task:
                file.task.cancel()
        if self.folder:
            self.folder.cleanup()
