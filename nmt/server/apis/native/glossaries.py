"""Glossaries of our own API, by name."""

from dataclasses import dataclass
from functools import partial

from starlette.responses import JSONResponse, Response

from nmt.server.apis.asking import find_direction
from nmt.server.apis.native import bodies as v1
from nmt.server.apis.native.schema import as_json
from nmt.server.apis.operation import Call, Operation
from nmt.server.codes import find_code
from nmt.server.errors import Refused
from nmt.server.models import Direction, Models
from nmt.server.store.glossaries import Dictionary, Glossaries, Stored, new
from nmt.server.work.owners import Work
from nmt.server.work.queue import Engine


def glossary_operations(api: "OwnGlossaries") -> list[Operation]:
    at = partial(Operation, auth="own")
    path, name, query = "/v1/glossaries", "/v1/glossaries/{name:path}", ("source", "target")
    return [
        at("GET", path, api.list, "The stored glossaries.", v1.GlossaryList),
        at("GET", name, api.get, "A glossary.", v1.GlossaryEntries, query=query),
        at("PUT", name, api.put, "Store a glossary.", v1.GlossaryInfo, body=v1.PutGlossary),
        at("DELETE", name, api.delete, "Delete a glossary, or its entries of a direction.", status=204, query=query),
    ]


def find_dictionary(store: Glossaries, work: Work, name: str, direction: Direction) -> Dictionary:
    """The entries of a stored glossary; takes time. Refused if there are none."""
    stored = store.named(work.key.hash, name)
    dictionary = stored.find(direction) if stored else None
    if dictionary is None:
        shown = repr(name[:60])
        missing = f"the glossary {shown} has no entries for {' to '.join(direction)}"
        raise Refused(missing if stored else f"there is no glossary {shown}", status=404, code="no_glossary")
    return dictionary


@dataclass(frozen=True)
class OwnGlossaries:
    """The handlers: each glossary has a name, and entries for a direction or several."""

    models: Models
    engine: Engine
    store: Glossaries

    async def list(self, call: Call) -> Response:
        found = await self.engine.places.run(call.work, self.store.all, call.work.key.hash)
        known = [(stored.name, dictionary) for stored in found for dictionary in stored.dictionaries]
        infos = [v1.GlossaryInfo(*one.direction, name, len(one.entries)) for name, one in known]
        return JSONResponse(as_json(v1.GlossaryList(infos)))

    async def get(self, call: Call) -> Response:
        """The entries of the direction that the query names; without one, of the first."""
        stored = await self.find(call)
        found = chosen(call, stored) or stored.dictionaries[0]
        return JSONResponse(as_json(v1.GlossaryEntries(*found.direction, found.entries, stored.name)))

    async def put(self, call: Call) -> Response:
        body: v1.PutGlossary = call.body
        direction = find_direction(self.models, body.source, body.target)
        owner, name, dictionary = call.work.key.hash, call.path["name"], Dictionary(*direction, body.entries)

        def change() -> Stored:
            stored = self.store.named(owner, name)
            return stored.with_dictionary(dictionary) if stored else new(owner, name, [dictionary])

        await self.engine.places.run(call.work, self.store.change, change)
        return JSONResponse(as_json(v1.GlossaryInfo(*direction, name, len(body.entries))))

    async def delete(self, call: Call) -> Response:
        """Delete the entries of the direction that the query names; without one, those of all."""
        stored = await self.find(call)
        dictionary = chosen(call, stored)
        await self.engine.places.run(call.work, self.store.delete, stored, dictionary and dictionary.direction)
        return Response(status_code=204)

    async def find(self, call: Call) -> Stored:
        """The glossary that the path names. Refused if there is none."""
        name = call.path["name"]
        stored = await self.engine.places.run(call.work, self.store.named, call.work.key.hash, name)
        if stored is None or not stored.dictionaries:
            raise Refused(f"there is no glossary {name[:60]!r}", status=404, code="no_glossary")
        return stored


def chosen(call: Call, stored: Stored) -> Dictionary | None:
    """The entries of the direction that the query names; None if it names none. Refused if there are none."""
    source, target = call.fields.text("source"), call.fields.text("target")
    sources, targets = zip(*(known.direction for known in stored.dictionaries), strict=True)
    dictionary = stored.find((find_code(source, sources) or "", find_code(target, targets) or ""))
    if dictionary is None and (source or target):
        has = ", ".join(f"{known.source} to {known.target}" for known in stored.dictionaries)
        problem = f"the glossary has no entries for {source[:20]!r} to {target[:20]!r}; it has {has}"
        raise Refused(problem, status=404, code="no_glossary")
    return dictionary
