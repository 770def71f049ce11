"""Uploads of all APIs: a file flows in; its texts flow through the engine, a few at a time, into the same file.

The file is read, and written, in processes of their own (`nmt.server.work.processes`). The service itself has a few
texts in memory at once.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TextIO
from urllib.parse import quote

from starlette.responses import FileResponse, Response

from nmt.documents.archive import Limits
from nmt.documents.base import FORMATS, Answer, Options, Unit, format_of
from nmt.reading.request import Translation
from nmt.server.apis.asking import Asked
from nmt.server.apis.bodies import Upload
from nmt.server.apis.operation import FORM_BYTES, Call
from nmt.server.errors import Busy, Refused
from nmt.server.service import Service
from nmt.server.store.document_files import File
from nmt.server.work.processes import in_process, read_texts, write_result

UPLOAD = {"type": "object", "required": ["file"]}  # the form of a request (see `Operation.body`)
PATIENCE = 20  # times that a document waits because the engine is busy

ByText = Callable[[str], Awaitable[Asked]]
"""What a document is translated by if its language must be guessed, from the beginning of its texts."""


def upload_of(call: Call) -> Upload:
    """The file of a request. Refused if there is none, if there are several, or if it or its form is too large."""
    files, most = call.fields.listed("file"), call.service.config.file_bytes
    call.fields.pop("file", None)  # what needs the call while the file is translated has only its other fields
    upload = next((file for file in files if isinstance(file, Upload)), None)
    if upload is None:
        raise Refused("file is missing: send a multipart form with the file in the field file", code="no_file")
    call.charge([])  # which is refused if all characters are used; those of the file are counted when it was read
    if (n := len(files)) > 1:
        raise Refused(f"the form has {n:,} files: send each in a request of its own", code="too_many")
    if len(upload.data) > most:
        problem = f"the file has {len(upload.data):,} bytes: at most {most:,} are allowed"
        raise Refused(problem, status=413, code="too_large")
    if (n := call.size - len(upload.data)) > FORM_BYTES:
        problem = f"the form has {n:,} bytes beside the file: at most {FORM_BYTES:,} are allowed"
        raise Refused(problem, status=413, code="too_large")
    return upload


async def begin(call: Call, asked: Asked, name: str, data: bytes, by_text: ByText | None = None) -> tuple[File, str]:
    """Begin to translate a file with this name; also the token of the result. ValueError for an unknown format.

    The fields of the call may have `columns`, those of a table that are translated, with commas between them, and
    `encoding`, that of a text file. `by_text`: takes the place of `asked` when the file was read."""
    service, config = call.service, call.service.config
    path = PurePath(PurePath(name.replace("\\", "/")).name[-200:] or "document")
    form = format_of(path.name)
    source, target = asked.direction if by_text is None else ("", asked.direction[1])
    archives = Limits(config.zip_members, config.unpacked_bytes, config.zip_ratio)
    columns, encoding = tuple(filter(None, call.fields.text("columns").split(","))), call.fields.text("encoding")
    options = Options(source=source, target=target, columns=columns, encoding=encoding, zip=archives)
    stored = asyncio.Event()

    async def translate(file: File) -> None:
        await stored.wait()
        await translate_file(service, file, asked, form, options, by_text)

    translated = f"{path.stem}.{target}{path.suffix}"
    file, token = service.files.start(asked.work, translated, FORMATS[form].media_type, translate)
    try:
        await call.run((file.folder / "source").write_bytes, data)
    except BaseException:
        file.task.cancel()
        raise
    stored.set()
    return file, token


async def translate_file(
    service: Service, file: File, asked: Asked, form: str, options: Options, by_text: ByText | None
) -> None:
    async def apart(function: Callable[..., Any], *more: object) -> Any:
        """What a function says that runs in a process of its own."""
        work, parts = file.work, (file.folder, form, options)
        seconds = service.config.file_seconds
        return await service.file_places.run(work, in_process, work.stop, seconds, function, *parts, *more)

    file.of, characters, beginning = await apart(read_texts, service.engine.most_lines)
    asked = replace(await by_text(beginning) if by_text else asked, work=file.work)
    file.state, file.work.characters = "translating", characters
    service.keys.charge(file.work.owner, file.work.key, characters)
    with (file.folder / "texts").open(encoding="ascii") as texts, (file.folder / "answers").open("w") as answers:
        found = list[Answer]()
        while units := await service.places.run(file.work, go_on, texts, answers, found):
            found = await translate_units(asked, units)
            file.done += len(found)
    file.notes = await apart(write_result)
    for name in ("source", "texts", "answers"):
        (file.folder / name).unlink()


def send_file(file: File) -> Response:
    """A translated file, as a download. Refused if there is none, or none yet."""
    if file.state == "error":
        raise Refused(file.message)
    if file.state != "done":
        raise Refused(f"the document isn't ready: it is {file.state}", status=503, code="not_ready", retry_after=5)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"}
    headers["Content-Type"] = file.media_type  # as a header, since `media_type` would claim that texts are UTF-8
    return FileResponse(file.folder / "result", headers=headers)


def go_on(texts: TextIO, answers: TextIO, found: Sequence[Answer]) -> list[Unit]:
    """Write answers to a file, and read the next group of texts from another one; empty at its end."""
    answers.writelines(f"{json.dumps([answer.text, answer.flags])}\n" for answer in found)
    return [Unit(*parts) for parts in json.loads(texts.readline() or "[]")]


async def translate_units(asked: Asked, units: Sequence[Unit]) -> list[Answer]:
    """The answers of some units; waits while the engine is busy."""
    found: dict[bool, Iterator[list[Translation]]] = {}
    for is_markup in (False, True):
        texts = [unit.text for unit in units if unit.markup == is_markup]
        wanted = replace(asked, markup="html" if is_markup else "none")
        found[is_markup] = iter(await patiently(wanted, texts) if texts else ())
    return [Answer(best.text, best.flags) for best, *_ in (next(found[unit.markup]) for unit in units)]


async def patiently(asked: Asked, texts: list[str]) -> list[list[Translation]]:
    for _ in range(PATIENCE):
        try:
            return await asked.translate(texts)
        except Busy as busy:
            await asyncio.sleep(busy.retry_after)
    return await asked.translate(texts)
