"""LibreTranslate's API, so that its clients work unchanged: texts in any form of request in, translations out.

Codes, paths, fields and errors are those of its interface; what several clients need is in `nmt.server.apis.bodies`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from nmt.documents.base import FORMATS, require_readable
from nmt.server import codes
from nmt.server.apis.asking import Asked, find_direction
from nmt.server.apis.bodies import Fields
from nmt.server.apis.documents import UPLOAD, begin, send_file, upload_of
from nmt.server.apis.native.bodies import Search, make_search
from nmt.server.apis.operation import Call, Operation
from nmt.server.codes import find_code, likeliest, name_of
from nmt.server.errors import Refused
from nmt.server.models import Direction, Models
from nmt.text.languages import Guess
from nmt.text.markup import Mode
from nmt.version import __version__

SUFFIXES = sorted({suffix for form in FORMATS.values() for suffix in form.suffixes})
DOWNLOAD = "/download_file/{id}/{token}/{name}"
KEY_ERRORS = {  # as clients know them
    "no_file": (400, "Invalid request: missing file parameter"),
    "no_key": (400, "Please contact the server operator to get an API key"),
    "wrong_key": (403, "Invalid API key"),
}


def show(refused: Refused) -> Response:
    """An error as LibreTranslate shows it."""
    status, message = KEY_ERRORS.get(refused.code, (refused.status, refused.message))
    return JSONResponse({"error": f"{'Slowdown: ' * (status == 429)}{message}"}, status, refused.headers)


def missing(name: str) -> Refused:
    return Refused(f"Invalid request: missing {name} parameter", code="missing")


def languages_of(fields: Fields) -> tuple[str, str]:
    """The codes of source and target. Refused if one is missing."""
    for name in ("source", "target"):
        if not fields.text(name):
            raise missing(name)
    return fields.text("source"), fields.text("target")


def listed(models: Models) -> dict[str, list[str]]:
    """The targets of each language; clients want targets to be languages of the list too."""
    return models.languages | {target: [] for target in models.targets if target not in models.languages}


async def languages(call: Call) -> Response:
    known = listed(call.service.models).items()
    return JSONResponse([{"code": code, "name": name_of(code), "targets": targets} for code, targets in known])


async def settings(call: Call) -> Response:
    config = call.service.config
    source, targets = next(iter(call.service.models.languages.items()))
    languages, needs_key = {"source": source, "target": targets[0]}, bool(config.keys)
    return JSONResponse(
        {
            "apiKeys": needs_key,
            "charLimit": config.text_characters,
            "filesTranslation": config.files > 0,
            "frontendTimeout": 500,
            "keyRequired": needs_key,
            "language": {side: {"code": code, "name": name_of(code)} for side, code in languages.items()},
            "suggestions": False,
            "supportedFilesFormat": SUFFIXES if config.files else [],
        }
    )


async def spec(call: Call) -> Response:
    responses = {"200": {"description": "The answer."}, "400": {"description": "What is wrong."}}
    paths = {
        operation.path: {
            operation.methods.split()[-1].lower(): {
                "parameters": [{"name": name, "in": "query"} for name in operation.query],
                "responses": responses,
            }
        }
        for operation in OPERATIONS
        if operation.query or operation.auth == "open"
    }
    about = {"title": "LibreTranslate's API, as nmt answers it", "version": __version__}
    return JSONResponse({"openapi": "3.1.0", "info": about, "paths": paths})


async def detect(call: Call) -> Response:
    texts = call.fields.texts("q")
    if not texts:
        raise missing("q")
    check_texts(call, texts)
    found = await call.run(codes.detect, "\n".join(texts), [*listed(call.service.models)])
    return JSONResponse([shown(guess) for guess in found] or [{"confidence": 0.0, "language": "en"}])


async def suggest(call: Call) -> Response:
    raise Refused("Suggestions are disabled on this server.", status=403, code="disabled")


def check_texts(call: Call, texts: Sequence[str]) -> None:
    """Count the texts, and refuse too many or too long ones."""
    config = call.service.config
    for size, most in ((len(texts), config.texts), (max(map(len, texts), default=0), config.text_characters)):
        if size > most:
            raise Refused(f"Invalid request: request ({size}) exceeds text limit ({most})", code="too_long")
    call.charge(texts)


async def translate(call: Call) -> Response:
    texts = call.fields.texts("q")
    if texts is None:
        raise missing("q")
    source, target = languages_of(call.fields)
    form = call.fields.text("format") or "text"
    if form not in ("text", "html"):
        raise Refused(f"{form[:20]} format is not supported", code="unknown_format")
    alternatives = max(0, call.fields.number("alternatives"))
    if alternatives > (most := call.service.config.alternatives):
        raise Refused(f"Invalid request: alternatives parameter must be <= {most}", code="too_many")
    check_texts(call, texts)
    guesses = await guesses_of(call, texts, source, target)
    sources = [code for code, _ in guesses]
    found = await translate_texts(call, texts, sources, target, "html" if form == "html" else "none", alternatives)
    is_list = isinstance(call.fields["q"], list)
    answer: dict[str, Any] = {"translatedText": [best for best, *_ in found]}
    if source == "auto":
        answer["detectedLanguage"] = [shown(guess) for guess in guesses]
    if alternatives:
        answer["alternatives"] = [others for _, *others in found]
    return JSONResponse(answer if is_list else {name: values[0] for name, values in answer.items()})


def find(models: Models, code: str) -> str:
    known = find_code(code, listed(models))
    if known is None:
        raise Refused(f"{code[:20]} is not supported", code="unknown_language")
    return known


async def guesses_of(call: Call, texts: Sequence[str], source: str, target: str) -> list[Guess]:
    """The source language of each text; of equally probable ones, auto is one that is translated to the target."""
    models = call.service.models
    if source != "auto":
        return [(find(models, source), 1.0)] * len(texts)
    known = sorted(models.languages, key=lambda code: find_code(target, models.languages[code]) is None)
    return [await call.run(likeliest, text, known) for text in texts]


async def translate_texts(
    call: Call, texts: Sequence[str], sources: Sequence[str], target: str, markup: Mode, alternatives: int
) -> list[list[str]]:
    """The translation of each text, and alternatives; a text in the target language, or a blank one, is copied."""
    models, results, wanted = call.service.models, [[text] for text in texts], find(call.service.models, target)
    groups: dict[Direction, list[int]] = {}
    for n, (text, source) in enumerate(zip(texts, sources, strict=True)):
        if not text.strip() or source == wanted:
            continue
        code = find_code(target, models.languages.get(source, ()))
        if code is None:
            pair = f"{name_of(wanted)} ({wanted}) is not available as a target language from"
            raise Refused(f"{pair} {name_of(source)} ({source})", code="unknown_direction")
        groups.setdefault((source, code), []).append(n)
    for direction, places in groups.items():
        translator = await models.wait_for(direction)
        search = make_search(Search(n_best=1 + alternatives), translator.search)
        asked = Asked(call.service.engine, call.work, direction, translator, search, markup)
        lists = await asked.translate([texts[n] for n in places])
        for n, translations in zip(places, lists, strict=True):
            different = dict.fromkeys(translation.text for translation in translations)
            results[n] = [*different][: 1 + alternatives]
    return results


async def translate_file(call: Call) -> Response:
    """Waits until the file is translated, as clients expect; if the client hangs up, that is given up."""
    service = call.service
    if not service.config.files:
        raise Refused("Files translation are disabled on this server.", status=403, code="disabled")
    upload = upload_of(call)
    source, target = languages_of(call.fields)
    require_readable(upload.name)
    if not upload.name.lower().endswith(tuple(SUFFIXES)):
        raise Refused("Invalid request: file format not supported", code="unknown_format")

    async def ask(code: str) -> Asked:
        direction = find_direction(service.models, code, target)
        translator = await service.models.wait_for(direction)
        return Asked(service.engine, call.work, direction, translator, translator.search)

    async def by_text(beginning: str) -> Asked:
        [(code, _)] = await guesses_of(call, [beginning], "auto", target)
        return await ask(code)

    known = [code for code, targets in service.models.languages.items() if find_code(target, targets)]
    asked = await ask(source if source != "auto" else (known or [""])[0])
    guess = by_text if source == "auto" and len(known) > 1 else None
    file, token = await begin(call, asked, upload.name, upload.data, guess)
    try:
        await file.task
    finally:
        file.task.cancel()
    if file.problem:
        return show(file.problem)  # raised, it would keep the call, which has the file in memory
    path = DOWNLOAD.format(id=file.id, token=token, name=quote(file.name, safe=""))
    return JSONResponse({"translatedFileUrl": f"{str(call.request.base_url).rstrip('/')}{path}"})


async def download_file(call: Call) -> Response:
    return send_file(call.service.files.get(call.path["id"], call.path["token"]))


def shown(guess: Guess) -> dict[str, Any]:
    code, probability = guess
    return {"confidence": round(100 * probability, 1), "language": code}


operation = partial(Operation, key_in_body=True)
OPERATIONS = [
    operation("GET", "/languages", languages, auth="open"),
    operation("GET POST", "/frontend/settings", settings, auth="open"),
    operation("POST", "/detect", detect, query=("q",)),
    operation("GET POST", "/translate", translate, query=("q", "source", "target", "format", "alternatives")),
    operation("POST", "/suggest", suggest),
    operation("GET", "/spec", spec, auth="open"),
    operation("POST", "/translate_file", translate_file, auth="own", body=UPLOAD, query=("file", "source", "target")),
    operation("GET", DOWNLOAD, download_file, auth="token"),
]
