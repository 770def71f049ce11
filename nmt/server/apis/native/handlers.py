"""Our own API, /v1: what other APIs can't say of a translation. Bodies flow in as dataclasses (`bodies.py`), answers
flow out the same way; `nmt.server.apis.native.schema` describes both."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from nmt.fields import require_known
from nmt.reading.request import Constraints, Term, Translation
from nmt.reading.request import Request as Line
from nmt.server.apis.asking import MOST_PHRASES, Asked, find_direction
from nmt.server.apis.documents import begin, send_file, upload_of
from nmt.server.apis.native import bodies as v1
from nmt.server.apis.native.answers import answer_text, events, pieces_of
from nmt.server.apis.native.glossaries import GLOSSARY_OPERATIONS, find_glossary
from nmt.server.apis.native.schema import FILE, as_json, describe_all, send
from nmt.server.apis.native.words import focus, likely_words
from nmt.server.apis.operation import KEY_FIELDS, Call, Operation
from nmt.server.errors import Refused
from nmt.server.work.queue import put_back
from nmt.text.markup import Mode
from nmt.translation.translator import Translator

TEXT = {"type": "string"}
FIELDS = {"file": FILE} | dict.fromkeys(("source", "target", "glossary", "columns", "encoding"), TEXT)
UPLOAD = {"type": "object", "properties": FIELDS, "required": ["file", "target"], "additionalProperties": False}
AT_ONCE = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx would keep events back


def show(refused: Refused) -> Response:
    """An error as our own API shows it."""
    error = {"code": refused.code, "message": refused.message}
    return JSONResponse({"error": error}, refused.status, refused.headers)


def models(call: Call) -> Response:
    """All directions, with each adapter and with none; takes time, since a model of 100 languages has 9,900."""
    size = cache(size_of)  # of each translator once
    found = list[v1.Model]()
    for direction, served in call.service.models.by_direction.items():
        for name in ("", *served.adapters):
            translator = served.choose(name)  # which loads no model
            has_words = translator is None or bool(translator.engine.models)
            scored = direction in call.service.scorers
            features = v1.Features(alignments=True, scorer=scored, html=True, word_alternatives=has_words)
            loaded = translator is not None
            found.append(v1.Model(*direction, name or served.name, loaded, features, size(translator)))
    return send(v1.ModelList(found))


async def translate(call: Call) -> Response:
    started = time.perf_counter()
    body: v1.Translate = call.body
    texts = [body.text] if isinstance(body.text, str) else body.text
    call.admit(texts)
    if body.glossary and isinstance(body.glossary, str):
        call.refuse_other_sites()
    asked = await ask(call, body)
    requests, notes = await call.run(asked.make, texts)

    def answers(n_best: Sequence[Sequence[Translation]]) -> dict[str, Any]:
        """The whole answer, from the translations of each text; takes time."""
        stop = call.work.stop
        if body.quality:
            best = [[found[0]] for found in n_best]
            rated = call.service.scorers[asked.direction].rate(texts, best, asked.markup, stop)
            n_best = [[*scored, *found[1:]] for scored, found in zip(rated, n_best, strict=True)]
        rows = zip(texts, n_best, notes, strict=True)
        made = [answer_text(asked.translator, body, *row, stop) for row in rows]
        languages, seconds = v1.Languages(*asked.direction), round(time.perf_counter() - started, 4)
        return as_json(v1.Translations(made, languages, seconds))

    if not body.stream:
        n_best = await asked.translate_requests(requests)
        return await call.run(lambda: JSONResponse(answers(n_best)))
    context = asked.translator.context(asked.search, asked.markup)
    trees, pieces = await call.run(pieces_of, requests, context, call.service.engine.most_lines)

    async def finish(lists: list[list[Translation]]) -> dict[str, Any]:
        return await call.run(lambda: answers(put_back(trees, lists)))

    most = call.service.config.request_seconds
    seconds = most - (time.perf_counter() - started) - min(1, most / 10)  # in which an error can be told
    sent = events(pieces, asked.translate_requests, finish, seconds, call.work.id)
    return StreamingResponse(sent, headers=AT_ONCE, media_type="text/event-stream")


async def ask(call: Call, body: v1.Translate) -> Asked:
    """Check a request."""
    direction = find_direction(call.service.models, body.source, body.target)
    glossary = await call.run(find_glossary, call, body.glossary, direction) if body.glossary else None
    if body.quality and direction not in call.service.scorers:
        problem = f"quality is true, but there is no pair scorer for {' to '.join(direction)}: leave quality out"
        raise Refused(problem, code="no_scorer")
    translator = await call.service.models.wait_for(direction, body.model)
    search = v1.make_search(body.search, call.service.models.translator(direction).search)
    translator.check(search)
    few = body.must[: MOST_PHRASES + 1]  # one too many is refused
    must = tuple(Term((words,) if isinstance(words, str) else tuple(words)) for words in few)
    constraints = Constraints(body.prefix, must, tuple(body.must_not))
    markup: Mode = "html" if body.format == "html" else "none"
    return Asked(call.service.engine, call.work, direction, translator, search, markup, constraints, glossary)


async def word_alternatives(call: Call) -> Response:
    body: v1.WordAlternatives = call.body
    call.admit([body.text, body.translation])
    direction = find_direction(call.service.models, body.source, body.target)
    translator = await call.service.models.wait_for(direction, body.model)
    sentence = await call.run(focus, body.text, body.translation, body.word)
    found = await call.run(likely_words, translator, sentence.source, sentence.kept)
    search = replace(call.service.models.translator(direction).search, n_best=1, samples=0)
    asked = Asked(call.service.engine, call.work, direction, translator, search)
    requests = [Line(sentence.source, Constraints(f"{sentence.kept}{word}")) for word, _ in found]
    n_best = await asked.translate_requests(requests)
    words: dict[str, v1.Word] = {}
    for (word, probability), (best, *_) in zip(found, n_best, strict=True):
        text = f"{sentence.before}{best.text}{sentence.after}"
        words.setdefault(text, v1.Word(word, round(probability, 4), text))
    return send(v1.Words([*words.values()]))


async def upload(call: Call) -> Response:
    upload = upload_of(call)
    given = [name for name in call.fields if name not in KEY_FIELDS]
    require_known(given, FIELDS, "the form has no field")
    source, target = call.fields.text("source"), call.fields.text("target")
    if not target:
        raise Refused("target is missing: it must be the code of a language", code="missing")
    body = v1.Translate(text="", source=source, target=target, glossary=call.fields.text("glossary"))
    asked = await ask(call, body)
    file, token = await begin(call, asked, upload.name, upload.data)
    return send(v1.Uploaded(file.id, token), 202)


async def state(call: Call) -> Response:
    file = call.service.files.get(call.path["id"], call.fields.text("token"))
    return send(v1.DocumentState(file.state, file.done, file.of, file.message, file.notes))


async def fetch(call: Call) -> Response:
    return send_file(call.service.files.get(call.path["id"], call.fields.text("token")))


def size_of(translator: Translator | None) -> int | None:
    """The parameters of a translator; None if it isn't loaded, or if another library has them."""
    models = translator.engine.models if translator else ()
    return sum(p.numel() for model in models for p in model.parameters()) if models else None


async def openapi(_: Call) -> Response:
    return JSONResponse(DESCRIBED)


async def unknown(call: Call) -> Response:
    problem = f"there is no {call.request.method} {call.request.url.path[:100]}: see /v1/openapi.json"
    raise Refused(problem, status=404, code="no_such_path")


DOCUMENT = "/v1/documents/{id}"
WORDS, OTHER = "/v1/word_alternatives", "Other words for a word of a translation."
translation = partial(Operation, body=v1.Translate, events=(v1.Sentence, v1.Translations))
with_token = partial(Operation, auth="token", query=("token",))  # not a key: a browser follows a link without one
KNOWN = [
    Operation("GET", "/v1/models", models, "The directions that can be translated.", v1.ModelList),
    translation("POST", "/v1/translate", translate, "Translate texts.", v1.Translations),
    Operation("POST", WORDS, word_alternatives, OTHER, v1.Words, body=v1.WordAlternatives),
    *GLOSSARY_OPERATIONS,
    Operation("POST", "/v1/documents", upload, "Translate a document.", v1.Uploaded, "own", UPLOAD, status=202),
    with_token("GET", DOCUMENT, state, "How far a document is.", v1.DocumentState),
    with_token("GET", f"{DOCUMENT}/file", fetch, "The translated document.", FILE),
    Operation("GET", "/v1/openapi.json", openapi, "This document.", {"type": "object"}, auth="open"),
]
DESCRIBED = describe_all(KNOWN)
OPERATIONS = [*KNOWN, Operation("GET POST PUT PATCH DELETE", "/v1/{rest:path}", unknown, auth="open")]
