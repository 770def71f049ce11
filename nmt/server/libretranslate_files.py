"""Files in LibreTranslate's API: an upload flows in; when it is translated, the address of the result flows out."""

from collections.abc import Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nmt.documents.base import FORMATS
from nmt.server.access import caller_of
from nmt.server.asking import Asked, find_direction
from nmt.server.bodies import Fields
from nmt.server.documents import begin, upload_of
from nmt.server.errors import Refused
from nmt.server.own_documents import send_file
from nmt.server.service import Service

DOWNLOAD = "/download_file/{id}/{token}/{name}"
Missing = Callable[[str], Refused]


def suffixes() -> list[str]:
    """Those of all formats."""
    return sorted({suffix for known in FORMATS.values() for suffix in known.suffixes})


class Files:
    """The handlers. `missing`: makes the error for a field that isn't given."""

    def __init__(self, service: Service, missing: Missing) -> None:
        self.service, self.config, self.missing = service, service.config, missing

    async def translate_file(self, request: Request, fields: Fields) -> Response:
        """Waits until the file is translated, as clients expect; if the client hangs up, that is given up."""
        caller = caller_of(self.service, request, fields)
        if not self.config.files:
            raise Refused("Files translation are disabled on this server.", status=403, code="disabled")
        if fields.file("file") is None:
            raise self.missing("file")
        source, target = fields.text("source"), fields.text("target")
        for name, value in (("source", source), ("target", target)):
            if not value:
                raise self.missing(name)
        upload, data = await upload_of(fields, self.config.file_bytes)
        name = upload.filename or ""
        if not name.lower().endswith(tuple(suffixes())):
            raise Refused("Invalid request: file format not supported", code="unknown_format")
        direction = find_direction(self.service, "" if source == "auto" else source, target)
        translator = await self.service.engine.models.wait_for(direction)
        asked = Asked(caller, direction, translator, translator.search)
        file, token = begin(self.service, asked, name, data, fields.text("columns"))
        assert file.task
        try:
            await file.task
        finally:
            file.task.cancel()
        if file.state == "error":
            raise Refused(file.message, code="broken_file")
        path = DOWNLOAD.format(id=file.id, token=token, name=quote(file.name, safe=""))
        return JSONResponse({"translatedFileUrl": f"{str(request.base_url).rstrip('/')}{path}"})

    async def download_file(self, request: Request, _: Fields) -> Response:
        return send_file(self.service, self.service.files.get(request.path_params["id"], request.path_params["token"]))
