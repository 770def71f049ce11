"""Glossaries of DeepL's API: of version 2, with one direction each, and of version 3, with any number of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

from nmt.server.asking import find_direction
from nmt.server.bodies import Fields, brief
from nmt.server.errors import Refused
from nmt.server.glossaries import Dictionary, Stored, read_entries, write_entries
from nmt.server.service import Call, Service

TSV = "text/tab-separated-values"


class DeepLGlossaries:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self.service, self.store, self.run = service, service.glossaries, service.engine.run

    async def pairs(self, call: Call) -> Response:
        known = self.service.models.languages
        pairs = [{"source_lang": a, "target_lang": b} for a, targets in known.items() for b in targets]
        return JSONResponse({"supported_languages": pairs})

    async def list_single(self, call: Call) -> Response:
        found = await self.run(self.store.all, call.caller.owner)
        return JSONResponse({"glossaries": [single(stored) for stored in found if stored.dictionaries]})

    async def create_single(self, call: Call) -> Response:
        dictionary = self.dictionary(call.fields)
        stored = await self.run(self.store.create, call.caller.owner, call.fields.text("name"), [dictionary])
        return JSONResponse(single(stored), 201)

    async def get_single(self, call: Call) -> Response:
        stored = await self.find(call)
        return JSONResponse(single(stored))

    async def entries_single(self, call: Call) -> Response:
        stored = await self.find(call)
        return PlainTextResponse(write_entries(first(stored).entries), media_type=TSV)

    async def list(self, call: Call) -> Response:
        found = await self.run(self.store.all, call.caller.owner)
        return JSONResponse({"glossaries": [multiple(stored) for stored in found]})

    async def create(self, call: Call) -> Response:
        dictionaries = self.dictionaries(call.fields)
        stored = await self.run(self.store.create, call.caller.owner, call.fields.text("name"), dictionaries)
        return JSONResponse(multiple(stored), 201)

    async def get(self, call: Call) -> Response:
        return JSONResponse(multiple(await self.find(call)))

    async def change(self, call: Call) -> Response:
        """A new name, or more entries."""
        stored = await self.find(call)
        for new in self.dictionaries(call.fields):
            old = stored.find((new.source, new.target))
            entries = {**(old.entries if old else {}), **new.entries}
            stored = stored.with_dictionary(Dictionary(new.source, new.target, entries))
        stored = replace(stored, name=call.fields.text("name") or stored.name)
        return JSONResponse(multiple(await self.run(self.store.store, stored)))

    async def delete(self, call: Call) -> Response:
        stored = await self.find(call)
        await self.run(self.store.delete, stored)
        return Response(status_code=204)

    async def entries(self, call: Call) -> Response:
        stored = await self.find(call)
        dictionary = self.chosen(stored, call.fields)
        found = {"entries": write_entries(dictionary.entries), "entries_format": "tsv"}
        return JSONResponse({"dictionaries": [languages(dictionary) | found]})

    async def put(self, call: Call) -> Response:
        stored = await self.find(call)
        dictionary = self.dictionary(call.fields)
        await self.run(self.store.store, stored.with_dictionary(dictionary))
        return JSONResponse(counted(dictionary))

    async def drop(self, call: Call) -> Response:
        stored = await self.find(call)
        unwanted = self.chosen(stored, call.fields)
        kept = tuple(dictionary for dictionary in stored.dictionaries if dictionary != unwanted)
        await self.run(self.store.store, replace(stored, dictionaries=kept))
        return Response(status_code=204)

    async def find(self, call: Call) -> Stored:
        """The glossary that the path names. Refused if there is none."""
        stored = await self.run(self.store.get, call.caller.owner, call.path["id"])
        if stored is None:
            raise Refused("Glossary not found.", status=404, code="no_glossary")
        return stored

    def chosen(self, stored: Stored, fields: Fields) -> Dictionary:
        """The dictionary for the direction that a request names."""
        direction = find_direction(self.service.models, fields.text("source_lang"), fields.text("target_lang"))
        found = stored.find(direction)
        if found is None:
            raise Refused("The glossary has no dictionary for these languages.", status=404, code="no_glossary")
        return found

    def dictionaries(self, fields: Fields) -> "Sequence[Dictionary]":
        return [self.dictionary(given) for given in fields.listed("dictionaries")]

    def dictionary(self, given: Any) -> Dictionary:
        """A dictionary, as clients write it. Refused, or ValueError, if it is none."""
        if not isinstance(given, dict):
            raise Refused(f"dictionaries has {brief(given)}: it must be a list of objects")
        for name in ("source_lang", "target_lang", "entries"):
            if not isinstance(given.get(name), str) or not given[name]:
                raise Refused(f"Parameter '{name}' not specified, or no text.", code="missing")
        form = given.get("entries_format", "tsv")
        if form not in ("tsv", "csv"):
            raise Refused("Value for 'entries_format' not supported: it must be tsv or csv.")
        direction = find_direction(self.service.models, given["source_lang"], given["target_lang"])
        return Dictionary(*direction, read_entries(given["entries"], form))


def languages(dictionary: Dictionary) -> dict[str, Any]:
    return {"source_lang": dictionary.source, "target_lang": dictionary.target}


def counted(dictionary: Dictionary) -> dict[str, Any]:
    return languages(dictionary) | {"entry_count": len(dictionary.entries)}


def first(stored: Stored) -> Dictionary:
    """The only direction that version 2 shows. Refused if there is none."""
    if not stored.dictionaries:
        raise Refused("Glossary not found.", status=404, code="no_glossary")
    return stored.dictionaries[0]


def single(stored: Stored) -> dict[str, Any]:
    """A glossary as version 2 shows it."""
    head = {"glossary_id": stored.id, "name": stored.name, "ready": True, "creation_time": stored.created}
    return head | counted(first(stored))


def multiple(stored: Stored) -> dict[str, Any]:
    """A glossary as version 3 shows it."""
    head = {"glossary_id": stored.id, "name": stored.name, "creation_time": stored.created}
    return head | {"dictionaries": [counted(dictionary) for dictionary in stored.dictionaries]}
