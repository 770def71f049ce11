"""Documents of our own API: uploaded, asked for, and fetched with the token that came with the upload."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from nmt.server.access import admit, caller_of
from nmt.server.bodies import Fields
from nmt.server.document_files import File
from nmt.server.documents import begin, upload_of
from nmt.server.errors import Refused
from nmt.server.own import Own, send
from nmt.server.own_bodies import DocumentState, Translate, Uploaded
from nmt.server.service import Service


class OwnDocuments:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self.service, self.own = service, Own(service)

    async def upload(self, request: Request, fields: Fields) -> Response:
        caller = caller_of(self.service, request, fields)
        admit(self.service, request, caller, [])
        upload, data = await upload_of(fields, self.service.config.file_bytes)
        source, target = fields.text("source"), fields.text("target")
        if not target:
            raise Refused("target is missing: it must be the code of a language", code="missing")
        body = Translate(text="", source=source, target=target, glossary=fields.text("glossary"))
        asked = await self.own.ask(caller, body)
        file, token = begin(self.service, asked, upload.filename or "", data, fields.text("columns"))
        return send(Uploaded(file.id, token), 202)

    async def state(self, request: Request, fields: Fields) -> Response:
        file = self.find(request, fields)
        return send(DocumentState(file.state, file.done, file.of, file.message))

    async def fetch(self, request: Request, fields: Fields) -> Response:
        file = self.find(request, fields)
        if file.state != "done":
            raise Refused(f"the document is not ready: its state is {file.state}", code="not_ready")
        return send_file(self.service, file)

    def find(self, request: Request, fields: Fields) -> File:
        """The document that the path and the token name. A key isn't needed: a browser follows a link without it."""
        return self.service.files.get(request.path_params["id"], fields.text("token"))


def send_file(service: Service, file: File) -> Response:
    """A translated file, as a download."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"}
    return FileResponse(service.files.path(file), media_type=file.media_type, headers=headers)
