"""Glossaries of our own API, by name."""

from functools import partial

from starlette.responses import Response

from nmt.server.apis.asking import find_direction
from nmt.server.apis.native import bodies as v1
from nmt.server.apis.native.schema import send
from nmt.server.apis.operation import Call, Operation
from nmt.server.codes import find_code
from nmt.server.errors import Refused
from nmt.server.models import Direction
from nmt.server.store.glossaries import Dictionary, Stored, compile_entries, new
from nmt.translation.glossary import Glossary


def find_glossary(call: Call, given: str | dict[str, str], direction: Direction) -> Glossary:
    """The glossary of a request; takes time. Refused if there is no such glossary."""
    if isinstance(given, dict):
        return compile_entries(tuple(given.items()))
    stored = call.service.glossaries.named(call.work.key.hash, given)
    dictionary = stored.find(direction) if stored else None
    if dictionary is None:
        shown = repr(given[:60])
        missing = f"the glossary {shown} has no entries for {' to '.join(direction)}"
        raise Refused(missing if stored else f"there is no glossary {shown}", status=404, code="no_glossary")
    return dictionary.compile()


def list_(call: Call) -> Response:
    found = call.service.glossaries.all(call.work.key.hash)
    known = [(stored.name, dictionary) for stored in found for dictionary in stored.dictionaries]
    return send(v1.GlossaryList([v1.GlossaryInfo(*d.direction, name, len(d.entries)) for name, d in known]))


def get(call: Call) -> Response:
    """The entries of the direction that the query names; without one, of the first."""
    stored = stored_of(call)
    found = chosen(call, stored) or stored.dictionaries[0]
    return send(v1.GlossaryEntries(*found.direction, found.entries, stored.name))


def put(call: Call) -> Response:
    body: v1.PutGlossary = call.body
    direction, store = find_direction(call.service.models, body.source, body.target), call.service.glossaries
    owner, name, dictionary = call.work.key.hash, call.path["name"], Dictionary(*direction, body.entries)

    def changed() -> Stored:
        stored = store.named(owner, name)
        return stored.with_dictionary(dictionary) if stored else new(owner, name, [dictionary])

    store.change(changed)
    return send(v1.GlossaryInfo(*direction, name, len(body.entries)))


def delete(call: Call) -> Response:
    """Delete the entries of the direction that the query names; without one, those of all."""
    stored = stored_of(call)
    dictionary = chosen(call, stored)
    call.service.glossaries.delete(stored, dictionary.direction if dictionary else None)
    return Response(status_code=204)


def stored_of(call: Call) -> Stored:
    """The glossary that the path names. Refused if there is none."""
    name = call.path["name"]
    stored = call.service.glossaries.named(call.work.key.hash, name)
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


PATH, NAMED, DIRECTION = "/v1/glossaries", "/v1/glossaries/{name:path}", ("source", "target")
at = partial(Operation, auth="own")
GLOSSARY_OPERATIONS = [
    at("GET", PATH, list_, "The stored glossaries.", v1.GlossaryList),
    at("GET", NAMED, get, "A glossary.", v1.GlossaryEntries, query=DIRECTION),
    at("PUT", NAMED, put, "Store a glossary.", v1.GlossaryInfo, body=v1.PutGlossary),
    at("DELETE", NAMED, delete, "Delete a glossary, or its entries of a direction.", status=204, query=DIRECTION),
]
