"""Glossaries of our own API: each has a name, and entries for a direction or several."""

from starlette.requests import Request
from starlette.responses import Response

from nmt.server.access import Caller, caller_of
from nmt.server.asking import find_direction
from nmt.server.bodies import Fields
from nmt.server.errors import Refused
from nmt.server.glossaries import Dictionary, Stored
from nmt.server.own import read_body, send
from nmt.server.own_bodies import GlossaryEntries, GlossaryInfo, GlossaryList, PutGlossary
from nmt.server.service import Service


class OwnGlossaries:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self.service, self.store, self.run = service, service.glossaries, service.engine.run

    async def list(self, request: Request, fields: Fields) -> Response:
        caller = caller_of(self.service, request, fields)
        found = await self.run(self.store.all, caller.owner)
        pairs = [(one, dictionary) for one in found for dictionary in one.dictionaries]
        return send(GlossaryList([GlossaryInfo(one.name, d.source, d.target, len(d.entries)) for one, d in pairs]))

    async def get(self, request: Request, fields: Fields) -> Response:
        """The entries of the direction that the query names; without one, of the first."""
        caller = caller_of(self.service, request, fields)
        stored = await self.find(request, caller)
        source, target = fields.text("source"), fields.text("target")
        dictionary = stored.find((source, target)) if source or target else stored.dictionaries[0]
        if dictionary is None:
            has = ", ".join(f"{one.source} to {one.target}" for one in stored.dictionaries)
            problem = f"the glossary has no entries for {source[:20]!r} to {target[:20]!r}; it has {has}"
            raise Refused(problem, status=404, code="no_glossary")
        return send(GlossaryEntries(stored.name, dictionary.source, dictionary.target, dictionary.entries))

    async def put(self, request: Request, fields: Fields) -> Response:
        caller = caller_of(self.service, request, fields)
        body = read_body(PutGlossary, fields)
        direction = find_direction(self.service, body.source, body.target)
        dictionary, name = Dictionary(*direction, body.entries), request.path_params["name"]

        def store() -> None:
            stored = self.store.named(caller.owner, name)
            if stored:
                self.store.store(stored.with_dictionary(dictionary))
            else:
                self.store.create(caller.owner, name, [dictionary])

        await self.run(store)
        return send(GlossaryInfo(name, *direction, len(body.entries)))

    async def delete(self, request: Request, fields: Fields) -> Response:
        """Delete a glossary with its entries of all directions."""
        stored = await self.find(request, caller_of(self.service, request, fields))
        await self.run(self.store.delete, stored)
        return Response(status_code=204)

    async def find(self, request: Request, caller: Caller) -> Stored:
        """The glossary that the path names. Refused if there is none."""
        name = request.path_params["name"]
        stored = await self.run(self.store.named, caller.owner, name)
        if stored is None or not stored.dictionaries:
            raise Refused(f"there is no glossary {name[:60]!r}", status=404, code="no_glossary")
        return stored
