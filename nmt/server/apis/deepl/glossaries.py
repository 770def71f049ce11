"""Glossaries of DeepL's API: of version 2, with one direction each, and of version 3, with any number of them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

from nmt.server.apis.asking import find_direction
from nmt.server.apis.bodies import Fields, brief
from nmt.server.apis.operation import Call, Operation
from nmt.server.errors import Refused
from nmt.server.models import Models
from nmt.server.store.glossaries import Dictionary, Glossaries, Stored, read_entries, write_entries
from nmt.server.work.queue import Engine

TSV = "text/tab-separated-values"
MOST_DICTIONARIES = 100
NUMBERED = re.compile(r"dictionaries\[(\d+)\]\.(\w+)")  # as DeepL's clients for Node, Java and .NET send them in a form


def operations(models: Models, engine: Engine, store: Glossaries) -> list[Operation]:
    api, v2, v3 = DeepLGlossaries(models, engine, store), "/v2/glossaries", "/v3/glossaries"
    of_client = partial(Operation, auth="own")
    return [
        Operation("GET", "/v2/glossary-language-pairs", api.pairs),
        of_client("GET", v2, api.list_single),
        of_client("POST", v2, api.create_single),
        of_client("GET", f"{v2}/{{id}}", api.get_single),
        of_client("GET", f"{v2}/{{id}}/entries", api.entries_single),
        of_client("DELETE", f"{v2}/{{id}}", api.delete),
        of_client("GET", v3, api.list),
        of_client("POST", v3, api.create),
        of_client("GET", f"{v3}/{{id}}", api.get),
        of_client("PATCH", f"{v3}/{{id}}", api.change),
        of_client("DELETE", f"{v3}/{{id}}", api.delete),
        of_client("GET", f"{v3}/{{id}}/entries", api.entries),
        of_client("PUT", f"{v3}/{{id}}/dictionaries", api.put),
        of_client("DELETE", f"{v3}/{{id}}/dictionaries", api.drop),
    ]


class DeepLGlossaries:
    """The handlers."""

    def __init__(self, models: Models, engine: Engine, store: Glossaries) -> None:
        self.models, self.run, self.store = models, engine.places.run, store

    async def pairs(self, call: Call) -> Response:
        known = self.models.languages
        pairs = [{"source_lang": a, "target_lang": b} for a, targets in known.items() for b in targets]
        return JSONResponse({"supported_languages": pairs})

    async def list_single(self, call: Call) -> Response:
        found = await self.run(call.work, self.store.all, call.work.key.hash)
        return JSONResponse({"glossaries": [single(stored) for stored in found if stored.dictionaries]})

    async def create_single(self, call: Call) -> Response:
        dictionary = await self.run(call.work, self.dictionary, call.fields)
        return JSONResponse(single(await self.store_new(call, [dictionary])), 201)

    async def get_single(self, call: Call) -> Response:
        return JSONResponse(single(await self.find(call)))

    async def entries_single(self, call: Call) -> Response:
        return PlainTextResponse(write_entries(first(await self.find(call)).entries), media_type=TSV)

    async def list(self, call: Call) -> Response:
        found = await self.run(call.work, self.store.all, call.work.key.hash)
        return JSONResponse({"glossaries": [multiple(stored) for stored in found]})

    async def create(self, call: Call) -> Response:
        dictionaries = await self.run(call.work, self.dictionaries, call.fields)
        return JSONResponse(multiple(await self.store_new(call, dictionaries)), 201)

    async def get(self, call: Call) -> Response:
        return JSONResponse(multiple(await self.find(call)))

    async def change(self, call: Call) -> Response:
        """A new name, or more entries."""
        added = await self.run(call.work, self.dictionaries, call.fields)
        name = call.fields.text("name")

        def more(stored: Stored) -> Stored:
            for new in added:
                old = stored.find(new.direction)
                entries = {**(old.entries if old else {}), **new.entries}
                stored = stored.with_dictionary(Dictionary(new.source, new.target, entries))
            return replace(stored, name=name or stored.name)

        return JSONResponse(multiple(await self.store_changed(call, more)))

    async def store_changed(self, call: Call, change: Callable[[Stored], Stored]) -> Stored:
        """The glossary that the path names, changed, while nobody else changes it. Refused if there is none."""
        return await self.run(call.work, self.store.change, lambda: change(self.stored(call)))

    async def store_new(self, call: Call, dictionaries: Sequence[Dictionary]) -> Stored:
        owner, name = call.work.key.hash, call.fields.text("name")
        return await self.run(call.work, self.store.create, owner, name, dictionaries)

    async def delete(self, call: Call) -> Response:
        await self.run(call.work, self.store.delete, await self.find(call))
        return Response(status_code=204)

    async def entries(self, call: Call) -> Response:
        dictionary = self.chosen(await self.find(call), call.fields)
        found = {"entries": write_entries(dictionary.entries), "entries_format": "tsv"}
        return JSONResponse({"dictionaries": [languages(dictionary) | found]})

    async def put(self, call: Call) -> Response:
        dictionary = await self.run(call.work, self.dictionary, call.fields)
        await self.store_changed(call, lambda stored: stored.with_dictionary(dictionary))
        return JSONResponse(counted(dictionary))

    async def drop(self, call: Call) -> Response:
        await self.store_changed(call, lambda stored: stored.without(self.chosen(stored, call.fields).direction))
        return Response(status_code=204)

    async def find(self, call: Call) -> Stored:
        return await self.run(call.work, self.stored, call)

    def stored(self, call: Call) -> Stored:
        """The glossary that the path names; takes time. Refused if there is none."""
        stored = self.store.get(call.work.key.hash, call.path["id"])
        if stored is None:
            raise not_found()
        return stored

    def chosen(self, stored: Stored, fields: Fields) -> Dictionary:
        """The dictionary for the direction that a request names."""
        direction = find_direction(self.models, fields.text("source_lang"), fields.text("target_lang"))
        found = stored.find(direction)
        if found is None:
            raise Refused("The glossary has no dictionary for these languages.", status=404, code="no_glossary")
        return found

    def dictionaries(self, fields: Fields) -> "Sequence[Dictionary]":
        """Dictionaries, as clients write them. Refused, or ValueError, if one is none, or if two have one direction."""
        numbered: dict[str, dict[str, Any]] = {}
        for name, value in fields.items():
            if found := NUMBERED.fullmatch(name):
                numbered.setdefault(found[1], {})[found[2]] = value
        given = [*fields.listed("dictionaries"), *numbered.values()]
        if len(given) > MOST_DICTIONARIES:
            raise Refused(f"dictionaries has {len(given):,} items: at most {MOST_DICTIONARIES} are allowed")
        made = [self.dictionary(item) for item in given]
        if len({dictionary.direction for dictionary in made}) < len(made):
            raise Refused("dictionaries has two items for the same languages: send one for each direction")
        return made

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
        direction = find_direction(self.models, given["source_lang"], given["target_lang"])
        return Dictionary(*direction, read_entries(given["entries"], form))


def not_found() -> Refused:
    return Refused("Glossary not found.", status=404, code="no_glossary")


def languages(dictionary: Dictionary) -> dict[str, Any]:
    return {"source_lang": dictionary.source, "target_lang": dictionary.target}


def counted(dictionary: Dictionary) -> dict[str, Any]:
    return languages(dictionary) | {"entry_count": len(dictionary.entries)}


def first(stored: Stored) -> Dictionary:
    """The only direction that version 2 shows. Refused if there is none."""
    if not stored.dictionaries:
        raise not_found()
    return stored.dictionaries[0]


def single(stored: Stored) -> dict[str, Any]:
    """A glossary as version 2 shows it."""
    head = {"glossary_id": stored.id, "name": stored.name, "ready": True, "creation_time": stored.created}
    return head | counted(first(stored))


def multiple(stored: Stored) -> dict[str, Any]:
    """A glossary as version 3 shows it."""
    head = {"glossary_id": stored.id, "name": stored.name, "creation_time": stored.created}
    return head | {"dictionaries": [counted(dictionary) for dictionary in stored.dictionaries]}
