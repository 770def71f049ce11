"""Glossaries of our own API: each has a name, and entries for a direction or several."""

from starlette.responses import Response

from nmt.server.asking import find_direction
from nmt.server.errors import Refused
from nmt.server.glossaries import Dictionary, Stored
from nmt.server.own import read_body, send
from nmt.server.own_bodies import GlossaryEntries, GlossaryInfo, GlossaryList, PutGlossary
from nmt.server.service import Call, Service


class OwnGlossaries:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self.service, self.store, self.run = service, service.glossaries, service.engine.run

    async def list(self, call: Call) -> Response:
        found = await self.run(self.store.all, call.caller.owner)
        pairs = [(one, dictionary) for one in found for dictionary in one.dictionaries]
        return send(GlossaryList([GlossaryInfo(one.name, d.source, d.target, len(d.entries)) for one, d in pairs]))

    async def get(self, call: Call) -> Response:
        """The entries of the direction that the query names; without one, of the first."""
        stored = await self.find(call)
        source, target = call.fields.text("source"), call.fields.text("target")
        dictionary = stored.find((source, target)) if source or target else stored.dictionaries[0]
        if dictionary is None:
            has = ", ".join(f"{one.source} to {one.target}" for one in stored.dictionaries)
            problem = f"the glossary has no entries for {source[:20]!r} to {target[:20]!r}; it has {has}"
            raise Refused(problem, status=404, code="no_glossary")
        return send(GlossaryEntries(stored.name, dictionary.source, dictionary.target, dictionary.entries))

    async def put(self, call: Call) -> Response:
        body = read_body(PutGlossary, call)
        direction = find_direction(self.service.models, body.source, body.target)
        dictionary, name = Dictionary(*direction, body.entries), call.path["name"]

        def store() -> None:
            stored = self.store.named(call.caller.owner, name)
            if stored:
                self.store.store(stored.with_dictionary(dictionary))
            else:
                self.store.create(call.caller.owner, name, [dictionary])

        await self.run(store)
        return send(GlossaryInfo(name, *direction, len(body.entries)))

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
