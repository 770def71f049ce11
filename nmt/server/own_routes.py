"""The routes of our own API, /v1."""

from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from nmt.server.documents import FORM_BYTES
from nmt.server.endpoint import endpoint
from nmt.server.errors import Refused
from nmt.server.openapi import FILE, Operation, document
from nmt.server.own import Own
from nmt.server.own_bodies import (
    DocumentState,
    GlossaryEntries,
    GlossaryInfo,
    GlossaryList,
    ModelList,
    PutGlossary,
    Sentence,
    Translate,
    Translations,
    Uploaded,
    WordAlternatives,
    Words,
)
from nmt.server.own_glossaries import OwnGlossaries
from nmt.server.service import Call, Service

TEXT = {"type": "string"}
TOKEN = ("token",)  # in place of a key: a browser follows a link without one
CHOICE = TEXT | {"optional": True}
UPLOAD = {"file": FILE, "source": CHOICE, "target": TEXT, "glossary": CHOICE, "columns": CHOICE}
ALL = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def operations(service: Service) -> list[Operation]:
    """All that the API does."""
    own, glossaries = Own(service), OwnGlossaries(service)
    name, one = "/v1/glossaries/{name:path}", "/v1/documents/{id}"
    return [
        Operation("GET", "/v1/models", own.models, "The directions that can be translated.", ModelList),
        Operation(
            "POST",
            "/v1/translate",
            own.translate,
            "Translate texts.",
            Translations,
            body=Translate,
            events=(Sentence, Translations),
        ),
        Operation(
            "POST",
            "/v1/word_alternatives",
            own.word_alternatives,
            "Other words for a word of a translation.",
            Words,
            body=WordAlternatives,
        ),
        Operation("GET", "/v1/glossaries", glossaries.list, "The stored glossaries.", GlossaryList),
        Operation("GET", name, glossaries.get, "A glossary.", GlossaryEntries, query=("source", "target")),
        Operation("PUT", name, glossaries.put, "Store a glossary.", GlossaryInfo, body=PutGlossary),
        Operation("DELETE", name, glossaries.delete, "Delete a glossary.", None, status=204),
        Operation(
            "POST",
            "/v1/documents",
            own.upload,
            "Translate a document.",
            Uploaded,
            status=202,
            body=UPLOAD,
            most_bytes=service.config.file_bytes + FORM_BYTES,
        ),
        Operation("GET", one, own.state, "How far a document is.", DocumentState, query=TOKEN, is_open=True),
        Operation("GET", f"{one}/file", own.fetch, "The translated document.", "file", query=TOKEN, is_open=True),
    ]


def routes(service: Service) -> list[BaseRoute]:
    known = operations(service)

    async def openapi(_: Call) -> Response:
        return JSONResponse(document(known))

    async def unknown(call: Call) -> Response:
        problem = f"there is no {call.request.method} {call.request.url.path[:100]}: see /v1/openapi.json"
        raise Refused(problem, status=404, code="no_such_path")

    known.append(Operation("GET", "/v1/openapi.json", openapi, "This document.", dict, is_open=True))
    made = [Route(one.path, one.endpoint(service), methods=[one.method]) for one in known]
    return [*made, Route("/v1/{rest:path}", endpoint(service, unknown, is_open=True), methods=ALL)]
