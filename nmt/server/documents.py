"""Uploads of both APIs: a file flows in; its texts flow through the engine, a few at a time, into the same file."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.responses import FileResponse, Response

from nmt.documents.archive import Limits
from nmt.documents.base import FORMATS, Answer, Options, Unit, format_of, read_document
from nmt.reading.request import Translation
from nmt.server.asking import Asked
from nmt.server.bodies import Fields
from nmt.server.document_files import File, Files
from nmt.server.errors import Busy, Refused

AT_ONCE = 64  # texts of a document that are in the queue at once
FORM_BYTES = 2**16  # of an upload, beside the file
PATIENCE = 20  # times that a document waits because the engine is busy


async def upload_of(fields: Fields, most_bytes: int) -> tuple[UploadFile, bytes]:
    """The file of a request, and its bytes. Refused if there is none, or if it is too large."""
    upload = fields.file("file")
    if upload is None:
        raise Refused("file is missing: send a multipart form with the file in the field file", code="missing")
    data = await upload.read()
    if len(data) > most_bytes:
        problem = f"the file has {len(data):,} bytes: at most {most_bytes:,} are allowed"
        raise Refused(problem, status=413, code="too_large")
    return upload, data


def begin(asked: Asked, name: str, data: bytes, columns: str = "") -> tuple[File, str]:
    """Begin to translate a file with this name; also the token of the result. ValueError for an unknown format.

    `columns`: those of a table that are translated, separated by commas."""
    service, engine, limits = asked.service, asked.service.engine, asked.service.config
    path = PurePath(PurePath(name.replace("\\", "/")).name or "document")
    form = format_of(path.name)
    source, target = asked.direction
    archives = Limits(limits.zip_members, limits.unpacked_bytes, limits.zip_ratio)
    wanted = tuple(filter(None, columns.split(",")))
    options = Options(source=source, target=target, columns=wanted, zip=archives)
    translated = f"{path.stem}.{target}{path.suffix}"

    async def work(file: File) -> bytes:
        document = await engine.run(read_document, data, form, options)
        units = document.units
        file.of, file.characters, file.state = len(units), sum(len(unit.text) for unit in units), "translating"
        service.keys.charge(asked.caller.key, file.characters, requests=0)  # the upload was one
        answers: list[Answer] = []
        for start in range(0, len(units), AT_ONCE):
            answers += await translate_units(asked, units[start : start + AT_ONCE])
            file.done = len(answers)
        return await engine.run(document.join, answers)

    return service.files.start(translated, FORMATS[form].media_type, work)


async def translate_units(asked: Asked, units: Sequence[Unit]) -> list[Answer]:
    """The answers of some units; waits while the engine is busy."""
    found: dict[int, Answer] = {}
    for is_markup in (False, True):
        places = [n for n, unit in enumerate(units) if unit.markup == is_markup]
        wanted = replace(asked, markup="html" if is_markup else "none")
        texts = [units[n].text for n in places]
        lists = await patiently(wanted, texts) if texts else []
        found |= {n: Answer(best.text, best.flags) for n, (best, *_) in zip(places, lists, strict=True)}
    return [found[n] for n in range(len(units))]


async def patiently(asked: Asked, texts: list[str]) -> list[list[Translation]]:
    for _ in range(PATIENCE):
        try:
            return await asked.translate(texts)
        except Busy as busy:
            await asyncio.sleep(busy.retry_after)
    return await asked.translate(texts)


def send_file(files: Files, file: File) -> Response:
    """A translated file, as a download."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"}
    return FileResponse(files.path(file), media_type=file.media_type, headers=headers)
