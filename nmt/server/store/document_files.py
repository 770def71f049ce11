"""Documents in flight: an upload flows in; its translation is made in the background, kept for a while as a file of a
temporary folder, and given to whoever has its token."""

import asyncio
import contextlib
import hmac
import os
import secrets
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nmt.config.serve import ServeConfig
from nmt.files import locked
from nmt.server.errors import Busy, Refused, refusal
from nmt.server.store.keys import hash_of
from nmt.server.work.owners import Room, Work

PREFIX = "nmt-files-"
NEW = 60  # seconds in which a folder may not be locked yet
State = Literal["waiting", "translating", "done", "error"]


@dataclass(eq=False)
class File:
    """A document that is translated, or was."""

    id: str
    token_hash: str
    name: str
    """Of the file that its owner gets."""
    media_type: str
    folder: Path
    """Of its parts. `source`: as it was sent; `result`: translated."""
    work: Work
    state: State = "waiting"
    done: int = 0
    """Texts that are translated; `of`: texts of the document."""
    of: int = 0
    problem: Refused | None = None
    """What went wrong."""
    notes: list[str] = field(default_factory=list)
    """Remarks on the translated file, for its owner."""
    ended: float | None = None
    """When it was done or failed."""
    task: "asyncio.Task[None]" = field(init=False)

    @property
    def message(self) -> str:
        return self.problem.message if self.problem else ""


Translate = Callable[[File], Awaitable[None]]
"""Makes the translation of a document, and says in the `File` how far it is."""


class Files:
    """All documents of a service; not shared between processes."""

    def __init__(self, config: ServeConfig) -> None:
        self.config = config
        self.known: dict[str, File] = {}
        self.in_work = Room(config.files)
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.lock = contextlib.ExitStack()
        delete_abandoned()

    def start(self, owner: Work, name: str, media_type: str, translate: Translate) -> tuple[File, str]:
        """Begin to translate a document; also its token. Refused if files are switched off, Busy if too many are in
        work. Of who has most, the oldest result makes room."""
        if not self.config.files:
            raise Refused("this service translates no files", status=403, code="disabled")
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
            self.lock.enter_context(locked(Path(self.folder.name)))
        token, identity = secrets.token_hex(32).upper(), secrets.token_hex(16).upper()  # as DeepL's clients know them
        folder = Path(self.folder.name, identity)
        folder.mkdir(parents=True)  # before a place is taken: the disk may be full; what clears /tmp deletes parents
        if not self.in_work.take(owner.owner, 1):
            folder.rmdir()
            raise Busy(10)
        ended = [file for file in self.known.values() if file.ended is not None]
        if len(self.known) >= self.config.files and ended:
            held = Counter(file.work.owner for file in ended)
            of_most = (file for file in ended if file.work.owner == max(held, key=lambda owner: held[owner]))
            self.remove(min(of_most, key=lambda file: file.ended or 0.0).id)
        file = File(identity, hash_of(token), name, media_type, folder, Work(identity, owner.owner, owner.key))
        self.known[file.id] = file
        file.task = asyncio.get_running_loop().create_task(self.run(file, translate))
        # Not in `run`: of a task that is cancelled before its first step, nothing runs.
        file.task.add_done_callback(lambda task: self.end(file))
        return file, token

    async def run(self, file: File, translate: Translate) -> None:
        try:
            async with asyncio.timeout(60 * self.config.file_minutes):
                await translate(file)
            file.state = "done"
        except Exception as error:
            file.state, file.problem = "error", refusal(error, file=file.id)
        except asyncio.CancelledError:
            file.state, file.problem = "error", Refused("the translation was given up")
            raise

    def end(self, file: File) -> None:
        file.work.stop.set()
        file.ended = time.monotonic()
        self.in_work.give_back(file.work.owner, 1)
        asyncio.get_running_loop().call_later(60 * self.config.file_minutes, self.remove, file.id)

    def get(self, identity: str, token: str) -> File:
        """Refused if there is no such document, or for a wrong token: nobody learns which of both."""
        file = self.known.get(identity)
        fits = hmac.compare_digest(file.token_hash if file else "", hash_of(token))
        if file is None or not fits:
            minutes = f"{self.config.file_minutes:g}"
            kept = f"each is kept for up to {minutes} minutes, and at most {self.config.files:,} are kept"
            raise Refused(f"there is no such document with this token: {kept}", status=404, code="no_document")
        return file

    def remove(self, identity: str) -> None:
        """Delete a document, unless it had to make room."""
        if file := self.known.pop(identity, None):
            shutil.rmtree(file.folder, ignore_errors=True)

    def close(self) -> None:
        """End all work, and delete all files."""
        for file in self.known.values():
            file.work.stop.set()
            file.task.cancel()
        if self.folder:
            self.folder.cleanup()
        self.lock.close()


def delete_abandoned() -> None:
    """Delete the documents of services that were killed: of this user, and locked by no process."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with contextlib.suppress(OSError, ValueError):  # ValueError: its service runs
            about = folder.lstat()
            is_ours = about.st_uid == os.getuid() and not folder.is_symlink() and (folder / ".lock").exists()
            if is_ours and time.time() - about.st_mtime > NEW:
                with locked(folder):
                    shutil.rmtree(folder)
