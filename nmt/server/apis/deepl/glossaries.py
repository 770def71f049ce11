"""Glossaries of DeepL's API: of version 2, with one direction each, and of version 3, with any number of them."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

from nmt.server.apis.asking import find_direction
from nmt.server.apis.bodies import brief
from nmt.server.apis.operation import Call, Operation
from nmt.server.errors import Refused
from nmt.server.models import Models
from nmt.server.store.glossaries import Dictionary, Stored, read_entries, write_entries

TSV = "text/tab-separated-values"
MOST_DICTIONARIES = 100
NUMBERED = re.compile(r"dictionaries\[(\d+)\]\.(\w+)")  # as DeepL's clients for Node, Java and .NET send them in a form


async def pairs(call: Call) -> Response:
    known = call.service.models.languages
    pairs = [{"source_lang": a, "target_lang": b} for a, targets in known.items() for b in targets]
    return JSONResponse({"supported_languages": pairs})


def list_single(call: Call) -> Response:
    found = call.service.glossaries.all(call.work.key.hash)
    return JSONResponse({"glossaries": [single(stored) for stored in found if stored.dictionaries]})


def create_single(call: Call) -> Response:
    return JSONResponse(single(store_new(call, [dictionary_of(call.service.models, call.fields)])), 201)


def get_single(call: Call) -> Response:
    return JSONResponse(single(stored_of(call, is_single=True)))


def entries_single(call: Call) -> Response:
    [dictionary, *_] = stored_of(call, is_single=True).dictionaries
    return PlainTextResponse(write_entries(dictionary.entries), media_type=TSV)


def list_(call: Call) -> Response:
    return JSONResponse({"glossaries": [*map(multiple, call.service.glossaries.all(call.work.key.hash))]})


def create(call: Call) -> Response:
    return JSONResponse(multiple(store_new(call, dictionaries_of(call))), 201)


def get(call: Call) -> Response:
    return JSONResponse(multiple(stored_of(call)))


def change(call: Call) -> Response:
    """A new name, or more entries."""
    added, name = dictionaries_of(call), call.fields.text("name")

    def changed() -> Stored:
        stored = stored_of(call)
        for new in added:
            old = stored.find(new.direction)
            entries = {**(old.entries if old else {}), **new.entries}
            stored = stored.with_dictionary(Dictionary(new.source, new.target, entries))
        return replace(stored, name=name or stored.name)

    return JSONResponse(multiple(call.service.glossaries.change(changed)))


def delete(call: Call) -> Response:
    call.service.glossaries.delete(stored_of(call))
    return Response(status_code=204)


def entries(call: Call) -> Response:
    dictionary = chosen(call, stored_of(call))
    found = {"entries": write_entries(dictionary.entries), "entries_format": "tsv"}
    return JSONResponse({"dictionaries": [languages(dictionary) | found]})


def put(call: Call) -> Response:
    dictionary = dictionary_of(call.service.models, call.fields)
    call.service.glossaries.change(lambda: stored_of(call).with_dictionary(dictionary))
    return JSONResponse(counted(dictionary))


def drop(call: Call) -> Response:
    def changed() -> Stored:
        stored = stored_of(call)
        return stored.without(chosen(call, stored).direction)

    call.service.glossaries.change(changed)
    return Response(status_code=204)


def store_new(call: Call, dictionaries: Sequence[Dictionary]) -> Stored:
    return call.service.glossaries.create(call.work.key.hash, call.fields.text("name"), dictionaries)


def stored_of(call: Call, is_single: bool = False) -> Stored:
    """The glossary that the path names. Refused if there is none or, for version 2, if it has no direction."""
    stored = call.service.glossaries.get(call.work.key.hash, call.path["id"])
    if stored is None or (is_single and not stored.dictionaries):
        raise Refused("Glossary not found.", status=404, code="no_glossary")
    return stored


def chosen(call: Call, stored: Stored) -> Dictionary:
    """The dictionary for the direction that a request names."""
    direction = find_direction(call.service.models, call.fields.text("source_lang"), call.fields.text("target_lang"))
    found = stored.find(direction)
    if found is None:
        raise Refused("The glossary has no dictionary for these languages.", status=404, code="no_glossary")
    return found


def dictionaries_of(call: Call) -> list[Dictionary]:
    """Dictionaries, as clients write them. Refused, or ValueError, if one is none, or if two have one direction."""
    numbered: dict[str, dict[str, Any]] = {}
    for name, value in call.fields.items():
        if found := NUMBERED.fullmatch(name):
            numbered.setdefault(found[1], {})[found[2]] = value
    given = [*call.fields.listed("dictionaries"), *numbered.values()]
    if len(given) > MOST_DICTIONARIES:
        raise Refused(f"dictionaries has {len(given):,} items: at most {MOST_DICTIONARIES} are allowed")
    made = [dictionary_of(call.service.models, item) for item in given]
    if len({dictionary.direction for dictionary in made}) < len(made):
        raise Refused("dictionaries has two items for the same languages: send one for each direction")
    return made


def dictionary_of(models: Models, given: Any) -> Dictionary:
    """A dictionary, as clients write it. Refused, or ValueError, if it is none."""
    if not isinstance(given, dict):
        raise Refused(f"dictionaries has {brief(given)}: it must be a list of objects")
    for name in ("source_lang", "target_lang", "entries"):
        if not isinstance(given.get(name), str) or not given[name]:
            raise Refused(f"Parameter '{name}' not specified, or no text.", code="missing")
    form = given.get("entries_format", "tsv")
    if form not in ("tsv", "csv"):
        raise Refused("Value for 'entries_format' not supported: it must be tsv or csv.")
    direction = find_direction(models, given["source_lang"], given["target_lang"])
    return Dictionary(*direction, read_entries(given["entries"], form))


def languages(dictionary: Dictionary) -> dict[str, Any]:
    return {"source_lang": dictionary.source, "target_lang": dictionary.target}


def counted(dictionary: Dictionary) -> dict[str, Any]:
    return languages(dictionary) | {"entry_count": len(dictionary.entries)}


def single(stored: Stored) -> dict[str, Any]:
    """A glossary as version 2 shows it: with its first direction."""
    head = {"glossary_id": stored.id, "name": stored.name, "ready": True, "creation_time": stored.created}
    return head | counted(stored.dictionaries[0])


def multiple(stored: Stored) -> dict[str, Any]:
    """A glossary as version 3 shows it."""
    head = {"glossary_id": stored.id, "name": stored.name, "creation_time": stored.created}
    return head | {"dictionaries": [counted(dictionary) for dictionary in stored.dictionaries]}


V2, V3 = "/v2/glossaries", "/v3/glossaries"
of_client = partial(Operation, auth="own")
GLOSSARY_OPERATIONS = [
    Operation("GET", "/v2/glossary-language-pairs", pairs),
    of_client("GET", V2, list_single),
    of_client("POST", V2, create_single),
    of_client("GET", f"{V2}/{{id}}", get_single),
    of_client("GET", f"{V2}/{{id}}/entries", entries_single),
    of_client("DELETE", f"{V2}/{{id}}", delete),
    of_client("GET", V3, list_),
    of_client("POST", V3, create),
    of_client("GET", f"{V3}/{{id}}", get),
    of_client("PATCH", f"{V3}/{{id}}", change),
    of_client("DELETE", f"{V3}/{{id}}", delete),
    of_client("GET", f"{V3}/{{id}}/entries", entries),
    of_client("PUT", f"{V3}/{{id}}/dictionaries", put),
    of_client("DELETE", f"{V3}/{{id}}/dictionaries", drop),
]
