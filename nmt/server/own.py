"""Our own API, /v1: what other APIs can't say of a translation. Bodies flow in as dataclasses (`own_bodies`), answers
flow out the same way; `nmt.server.openapi` describes both."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from nmt.reading.request import Constraints, Term, Translation
from nmt.reading.request import Request as Line
from nmt.server import own_bodies as v1
from nmt.server.answers import answer_text
from nmt.server.asking import Asked, find_direction
from nmt.server.document_files import File
from nmt.server.documents import FORM_BYTES, begin, send_file, upload_of
from nmt.server.errors import Refused
from nmt.server.glossaries import Dictionary, Stored, compile_entries
from nmt.server.models import Direction
from nmt.server.openapi import FILE, Operation, describe_all
from nmt.server.queue import put_back
from nmt.server.schema import as_json, read
from nmt.server.service import KEY_FIELDS, Call, Caller, Service, route
from nmt.server.stream import cut, events
from nmt.server.word_alternatives import focus, likely_words
from nmt.text.markup import Mode
from nmt.translation.glossary import Glossary

Body = TypeVar("Body")
TEXT = {"type": "string"}
UPLOAD = {
    "type": "object",
    "properties": {"file": FILE, "source": TEXT, "target": TEXT, "glossary": TEXT, "columns": TEXT},
    "required": ["file", "target"],
}
EVENTS = (v1.Sentence, v1.Translations)
TOKEN = ("token",)  # in place of a key: a browser follows a link without one
AT_ONCE = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx would keep events back


def operations(service: Service) -> list[Operation]:
    """All that the API does."""
    own, glossaries = Own(service), OwnGlossaries(service)
    name, document = "/v1/glossaries/{name:path}", "/v1/documents/{id}"
    most = service.config.file_bytes + FORM_BYTES
    return [
        Operation("GET", "/v1/models", own.models, "The directions that can be translated.", v1.ModelList),
        Operation(
            "POST", "/v1/translate", own.translate, "Translate texts.", v1.Translations, v1.Translate, events=EVENTS
        ),
        Operation(
            "POST",
            "/v1/word_alternatives",
            own.word_alternatives,
            "Other words for a word of a translation.",
            v1.Words,
            v1.WordAlternatives,
        ),
        Operation("GET", "/v1/glossaries", glossaries.list, "The stored glossaries.", v1.GlossaryList),
        Operation("GET", name, glossaries.get, "A glossary.", v1.GlossaryEntries, query=("source", "target")),
        Operation("PUT", name, glossaries.put, "Store a glossary.", v1.GlossaryInfo, v1.PutGlossary),
        Operation("DELETE", name, glossaries.delete, "Delete a glossary.", None, status=204),
        Operation(
            "POST", "/v1/documents", own.upload, "Translate a document.", v1.Uploaded, UPLOAD, 202, most_bytes=most
        ),
        Operation("GET", document, own.state, "How far a document is.", v1.DocumentState, query=TOKEN, is_open=True),
        Operation("GET", f"{document}/file", own.fetch, "The translated document.", FILE, query=TOKEN, is_open=True),
    ]


def routes(service: Service) -> list[BaseRoute]:
    known = operations(service)

    async def openapi(_: Call) -> Response:
        return JSONResponse(describe_all(known))

    async def unknown(call: Call) -> Response:
        problem = f"there is no {call.request.method} {call.request.url.path[:100]}: see /v1/openapi.json"
        raise Refused(problem, status=404, code="no_such_path")

    known.append(Operation("GET", "/v1/openapi.json", openapi, "This document.", {"type": "object"}, is_open=True))
    at = partial(route, service, show)
    made = [at(o.method, o.path, o.handle, most_bytes=o.most_bytes, is_open=o.is_open) for o in known]
    return [*made, at("GET POST PUT PATCH DELETE", "/v1/{rest:path}", unknown, is_open=True)]


def show(refused: Refused) -> Response:
    """An error as our own API shows it."""
    error = {"code": refused.code, "message": refused.message}
    return JSONResponse({"error": error}, refused.status, refused.headers)


def read_body(kind: type[Body], call: Call) -> Body:
    """The body of a request. ValueError, for the user, for the first member that is wrong."""
    body: Body = read(kind, {name: value for name, value in call.fields.items() if name not in KEY_FIELDS})
    return body


def send(value: Any, status: int = 200) -> Response:
    return JSONResponse(as_json(value), status)


class Own:
    """The handlers of models, translations and documents."""

    def __init__(self, service: Service) -> None:
        self.service, self.engine = service, service.engine

    async def models(self, call: Call) -> Response:
        known = self.service.models.by_direction.items()
        choices = [(direction, name) for direction, served in known for name in ("", *served.adapters)]
        return send(v1.ModelList([self.describe(*choice) for choice in choices]))

    def describe(self, direction: Direction, name: str) -> v1.Model:
        """A direction with an adapter, or with none, without loading its model."""
        served = self.service.models.by_direction[direction]
        translator = served.choose(name)
        loaded = translator.engine.models if translator else ()
        return v1.Model(
            *direction,
            name=name or served.name,
            loaded=translator is not None,
            features=v1.Features(
                alignments=True,
                scorer=direction in self.service.scorers,
                html=True,
                word_alternatives=bool(loaded) or translator is None,
            ),
            parameters=sum(p.numel() for model in loaded for p in model.parameters()) if loaded else None,
        )

    async def translate(self, call: Call) -> Response:
        started = time.perf_counter()
        body = read_body(v1.Translate, call)
        texts = [body.text] if isinstance(body.text, str) else body.text
        call.admit(texts)
        asked = await self.ask(call.caller, body)
        requests, notes = await self.engine.run(asked.make, texts)

        async def answer(n_best: Sequence[Sequence[Translation]]) -> v1.Translations:
            """The whole answer, from the translations of each text."""
            rated = await self.engine.run(self.rate, asked, texts, n_best) if body.quality else n_best
            rows = zip(texts, rated, notes, strict=True)
            made = await self.engine.run(lambda: [answer_text(asked.translator, body, *row) for row in rows])
            return v1.Translations(made, v1.Languages(*asked.direction), round(time.perf_counter() - started, 4))

        if not body.stream:
            return send(await answer(await asked.translate_requests(requests)))
        trees, pieces = cut(requests, asked.translator.context(asked.search, asked.markup))

        async def finish(lists: list[list[Translation]]) -> v1.Translations:
            return await answer(await self.engine.run(put_back, trees, lists))

        sent = events(pieces, asked.translate_requests, finish)
        return StreamingResponse(sent, headers=AT_ONCE, media_type="text/event-stream")

    async def ask(self, caller: Caller, body: v1.Translate) -> Asked:
        """Check a request."""
        direction = find_direction(self.service.models, body.source, body.target)
        glossary = await self.engine.run(self.find_glossary, body.glossary, direction, caller)
        if body.quality and direction not in self.service.scorers:
            problem = f"quality is true, but there is no pair scorer for {' to '.join(direction)}: leave quality out"
            raise Refused(problem, code="no_scorer")
        translator = await self.service.models.wait_for(direction, body.model)
        search = v1.make_search(body.search, self.service.models.translator(direction).search)
        translator.check(search)
        must = tuple(Term((words,) if isinstance(words, str) else tuple(words)) for words in body.must)
        constraints = Constraints(body.prefix, must, tuple(body.must_not))
        markup: Mode = "html" if body.format == "html" else "none"
        return Asked(self.service, caller, direction, translator, search, markup, constraints, glossary)

    def find_glossary(self, given: str | dict[str, str], direction: Direction, caller: Caller) -> Glossary | None:
        """The glossary of a request; None if it has none. Refused if there is no such glossary."""
        if isinstance(given, dict):
            return compile_entries(tuple(given.items())) if given else None
        if not given:
            return None
        stored = self.service.glossaries.named(caller.owner, given)
        dictionary = stored.find(direction) if stored else None
        if dictionary is None:
            missing = f"no entries for {' to '.join(direction)} in the glossary" if stored else "no glossary"
            raise Refused(f"there is {missing} {given[:60]!r}", status=404, code="no_glossary")
        return dictionary.compile()

    def rate(
        self, asked: Asked, texts: Sequence[str], n_best: Sequence[Sequence[Translation]]
    ) -> list[list[Translation]]:
        """The translations, the best of each text with its quality."""
        scorer = self.service.scorers[asked.direction]
        rated = scorer.rate(texts, [[best] for best, *_ in n_best], asked.markup)
        return [[best, *others] for (best,), (_, *others) in zip(rated, n_best, strict=True)]

    async def word_alternatives(self, call: Call) -> Response:
        body = read_body(v1.WordAlternatives, call)
        call.admit([body.text, body.translation])
        direction = find_direction(self.service.models, body.source, body.target)
        translator = await self.service.models.wait_for(direction, body.model)
        sentence = focus(body.text, body.translation, body.word)
        found = await self.engine.run(likely_words, translator, sentence.source, sentence.kept)
        search = replace(self.service.models.translator(direction).search, n_best=1, samples=0)
        asked = Asked(self.service, call.caller, direction, translator, search)
        requests = [Line(sentence.source, Constraints(f"{sentence.kept}{word}")) for word, _ in found]
        n_best = await asked.translate_requests(requests)
        words: dict[str, v1.Word] = {}
        for (word, probability), (best, *_) in zip(found, n_best, strict=True):
            text = f"{sentence.before}{best.text}{sentence.after}"
            words.setdefault(text, v1.Word(word, round(probability, 4), text))
        return send(v1.Words([*words.values()]))

    async def upload(self, call: Call) -> Response:
        call.admit([])
        upload, data = await upload_of(call.fields, self.service.config.file_bytes)
        source, target = call.fields.text("source"), call.fields.text("target")
        if not target:
            raise Refused("target is missing: it must be the code of a language", code="missing")
        body = v1.Translate(text="", source=source, target=target, glossary=call.fields.text("glossary"))
        asked = await self.ask(call.caller, body)
        file, token = begin(asked, upload.filename or "", data, call.fields.text("columns"))
        return send(v1.Uploaded(file.id, token), 202)

    async def state(self, call: Call) -> Response:
        file = self.find(call)
        return send(v1.DocumentState(file.state, file.done, file.of, file.message))

    async def fetch(self, call: Call) -> Response:
        file = self.find(call)
        if file.state != "done":
            raise Refused(f"the document is not ready: its state is {file.state}", code="not_ready")
        return send_file(self.service.files, file)

    def find(self, call: Call) -> File:
        """The document that the path and the token name. A key isn't needed: a browser follows a link without it."""
        return self.service.files.get(call.path["id"], call.fields.text("token"))


class OwnGlossaries:
    """The handlers of glossaries: each has a name, and entries for a direction or several."""

    def __init__(self, service: Service) -> None:
        self.service, self.store, self.run = service, service.glossaries, service.engine.run

    async def list(self, call: Call) -> Response:
        found = await self.run(self.store.all, call.caller.owner)
        infos = [
            v1.GlossaryInfo(stored.name, dictionary.source, dictionary.target, len(dictionary.entries))
            for stored in found
            for dictionary in stored.dictionaries
        ]
        return send(v1.GlossaryList(infos))

    async def get(self, call: Call) -> Response:
        """The entries of the direction that the query names; without one, of the first."""
        stored = await self.find(call)
        source, target = call.fields.text("source"), call.fields.text("target")
        dictionary = stored.find((source, target)) if source or target else stored.dictionaries[0]
        if dictionary is None:
            has = ", ".join(f"{known.source} to {known.target}" for known in stored.dictionaries)
            problem = f"the glossary has no entries for {source[:20]!r} to {target[:20]!r}; it has {has}"
            raise Refused(problem, status=404, code="no_glossary")
        return send(v1.GlossaryEntries(stored.name, dictionary.source, dictionary.target, dictionary.entries))

    async def put(self, call: Call) -> Response:
        body = read_body(v1.PutGlossary, call)
        direction = find_direction(self.service.models, body.source, body.target)
        dictionary, name = Dictionary(*direction, body.entries), call.path["name"]

        def store() -> None:
            stored = self.store.named(call.caller.owner, name)
            if stored:
                self.store.store(stored.with_dictionary(dictionary))
            else:
                self.store.create(call.caller.owner, name, [dictionary])

        await self.run(store)
        return send(v1.GlossaryInfo(name, *direction, len(body.entries)))

    async def delete(self, call: Call) -> Response:
        """Delete a glossary with its entries of all directions."""
        stored = await self.find(call)
        await self.run(self.store.delete, stored)
        return Response(status_code=204)

    async def find(self, call: Call) -> Stored:
        """The glossary that the path names. Refused if there is none."""
        name = call.path["name"]
        stored = await self.run(self.store.named, call.caller.owner, name)
        if stored is None or not stored.dictionaries:
            raise Refused(f"there is no glossary {name[:60]!r}", status=404, code="no_glossary")
        return stored
