"""DeepL's API, versions 2 and 3, so that its clients work unchanged: texts, documents, languages and usage.

Fields, answers and errors are those of its published description. Fields that mean nothing to these models (formality,
context, model_type, splitting_tags …) are accepted; those that would change the result, and can't, are refused.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from starlette.responses import JSONResponse, Response

from nmt.server.apis.asking import Asked, find_direction
from nmt.server.apis.bodies import Fields
from nmt.server.apis.deepl.glossaries import GLOSSARY_OPERATIONS
from nmt.server.apis.documents import UPLOAD, begin, send_file, upload_of
from nmt.server.apis.operation import Call, Operation
from nmt.server.codes import find_code, likeliest, name_of
from nmt.server.errors import Refused
from nmt.server.models import Direction
from nmt.server.store.glossaries import Dictionary
from nmt.text.languages import short_code
from nmt.text.markup import Mode
from nmt.text.normalise import BREAK, with_blanks
from nmt.translation.glossary import Glossary

NO_LIMIT = 10**12  # characters: what DeepL says where there is none
VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}  # its clients refuse EN and PT as targets
MOST_GLOSSARIES, MOST_NAMES = 5, 1_000  # of a request; of a list
FORMALITIES = ("default", "more", "less", "prefer_more", "prefer_less")
SPLITS = ("0", "1", "nonewlines")
NOT_HERE = ("style_id", "custom_instructions", "translation_memory_id", "output_format")
TAG = re.compile(r"[\w:.-]{1,100}")
OPENING = re.compile(r"<([\w:.-]{1,100})(?=[\s/>])")
KEEP = ' translate="no"'
MARKED = re.compile(rf"<([\w:.-]{{1,100}}){KEEP}")


def show(refused: Refused) -> Response:
    """An error as DeepL shows it. A missing key is 403 there too."""
    status = 403 if refused.status == 401 else refused.status
    return JSONResponse({"message": refused.message}, status, refused.headers)


async def translate(call: Call) -> Response:
    texts = call.fields.texts("text")
    if not texts:
        raise Refused("Parameter 'text' not specified.", code="missing")
    call.admit(texts)
    if call.fields.get("glossary_id") or call.fields.get("glossary_ids"):
        call.refuse_other_sites()
    tags = choice(call.fields, "tag_handling", ("xml", "html"))
    ignored = {name for name in names_in(call.fields, "ignore_tags") if TAG.fullmatch(name)} if tags else set()
    target = target_of(call)
    sources, found = await sources_of(call, texts, target), [*texts]
    asked = {source: await ask(call, source, target) for source in dict.fromkeys(sources) if source != target}
    for source, wanted in asked.items():  # what is in the target language already stays
        places = [n for n, other in enumerate(sources) if other == source]
        given = [fold(texts[n], call.fields) for n in places]
        if ignored:
            given = await call.run(protect, given, ignored)
        markup: Mode = "html" if tags else "none"
        lists = await replace(wanted, markup=markup).translate(given)
        for n, (best, *_) in zip(places, lists, strict=True):
            found[n] = unprotect(best.text, ignored) if tags else with_blanks(texts[n], best.text)
    billed = call.fields.get("show_billed_characters") in (True, "1", "true", "True")
    answers = []
    for source, text, translation in zip(sources, texts, found, strict=True):
        answer: dict[str, Any] = {"detected_source_language": short_code(source).upper(), "text": translation}
        answer |= {"billed_characters": len(text)} if billed else {}
        answers.append(answer | ({"model_type_used": "quality_optimized"} if call.fields.get("model_type") else {}))
    return JSONResponse({"translations": answers})


async def sources_of(call: Call, texts: Sequence[str], target: str) -> list[str]:
    """The source language of each text: the one that is given, else the one that it seems to have. It may be the
    target language."""
    known = [source for source, targets in call.service.models.languages.items() if find_code(target, targets)]
    if given := call.fields.text("source_lang"):
        source = find_code(given, [*known, target])
        if source is None:
            raise Refused(f"Value for 'source_lang' not supported with this 'target_lang': {given[:20]!r}.")
        return [source] * len(texts)
    if len(known) == 1:
        return known * len(texts)
    known.append(target)
    return [code for code, _ in [await call.run(likeliest, text, known) for text in texts]]


def target_of(call: Call) -> str:
    """The target language, as a model writes it."""
    given = call.fields.text("target_lang")
    if not given:
        raise Refused("Parameter 'target_lang' not specified.", code="missing")
    target = find_code(given, call.service.models.targets)
    if target is None:
        raise Refused(f"Value for 'target_lang' not supported: {given[:20]!r}.", code="unknown_direction")
    return target


async def ask(call: Call, source: str, target: str) -> Asked:
    """Check what texts and documents have in common."""
    choice(call.fields, "formality", FORMALITIES)
    for name in NOT_HERE:
        if call.fields.get(name):
            raise Refused(f"Parameter '{name}' is not supported by this service: leave it out.")
    if source == target:
        raise Refused("Source and target language are equal.")
    direction = find_direction(call.service.models, source, target)
    glossary = await glossary_of(call, direction)
    translator = await call.service.models.wait_for(direction)
    search = replace(translator.search, n_best=1)
    if choice(call.fields, "split_sentences", SPLITS) == "0":
        search = replace(search, split_above=10_000)
    return Asked(call.service.engine, call.work, direction, translator, search, glossary=glossary)


async def glossary_of(call: Call, direction: Direction) -> Glossary | None:
    """The glossary, or several as one: of two translations of a term, the one of the first counts."""
    ids = names_in(call.fields, "glossary_ids") or names_in(call.fields, "glossary_id")
    if ids and not call.fields.text("source_lang"):
        raise Refused("Use of a glossary requires the source_lang parameter to be specified.")
    if len(ids) > MOST_GLOSSARIES:
        raise Refused(f"At most {MOST_GLOSSARIES} glossaries can be used.")
    entries: dict[str, str] = {}
    for identity in ids:
        stored = await call.run(call.service.glossaries.get, call.work.key.hash, identity)
        if stored is None:
            raise Refused(f"Glossary not found: {identity[:60]}.", status=404, code="no_glossary")
        dictionary = stored.find(direction)
        if dictionary is None:
            raise Refused("The language pair of the glossary does not match that of the request.")
        entries = dictionary.entries | entries
    return await call.run(Dictionary(*direction, entries).compile) if entries else None


async def languages(call: Call) -> Response:
    kind = choice(call.fields, "type", ("source", "target"))
    known = call.service.models.languages
    if kind != "target":
        return JSONResponse([{"language": code.upper(), "name": name_of(code)} for code in known])
    found = [(code, variant) for code in call.service.models.targets for variant in VARIANTS.get(code, (code.upper(),))]
    return JSONResponse([{"language": v, "name": name_of(code), "supports_formality": False} for code, v in found])


async def all_languages(call: Call) -> Response:
    """Version 3: each language, and what it can be used for."""
    known, targets = call.service.models.languages, call.service.models.targets
    codes = dict.fromkeys([*known, *targets])
    other = {"status": "stable", "features": {name: {"status": "stable"} for name in ("tag_handling", "glossary")}}
    rows = [(code, code in known, code in targets and code not in VARIANTS) for code in codes]
    rows += [(v[:3].lower() + v[3:], False, True) for code in targets for v in VARIANTS.get(code, ())]
    found = [
        {"lang": code, "name": name_of(code), "usable_as_source": source, "usable_as_target": target} | other
        for code, source, target in rows
    ]
    return JSONResponse(found)


async def usage(call: Call) -> Response:
    """Characters of this key since the service started."""
    used = call.service.keys.use(call.work.owner, call.work.key).used
    return JSONResponse({"character_count": used, "character_limit": NO_LIMIT})


async def upload(call: Call) -> Response:
    upload = upload_of(call)
    name, target = call.fields.text("filename") or upload.name, target_of(call)

    async def by_text(beginning: str) -> Asked:
        [source] = await sources_of(call, [beginning], target)
        return await ask(call, source, target)

    asked, guess = await by_text(""), None if call.fields.text("source_lang") else by_text
    try:
        file, key = await begin(call, asked, name, upload.data, guess)
    except ValueError as error:
        raise Refused(f"Invalid file: {error}") from None
    return JSONResponse({"document_id": file.id, "document_key": key})


async def state(call: Call) -> Response:
    file = call.service.files.get(call.path["id"], call.fields.text("document_key"))
    answer: dict[str, Any] = {"document_id": file.id, "status": file.state.replace("waiting", "queued")}
    if file.state == "translating":
        answer["seconds_remaining"] = max(1, (file.of - file.done) // 20)
    elif file.state == "done":
        answer["billed_characters"] = file.work.characters
    elif file.state == "error":
        answer |= {"error_message": file.message, "message": file.message}
    return JSONResponse(answer)


async def result(call: Call) -> Response:
    return send_file(call.service.files.get(call.path["id"], call.fields.text("document_key")))


def choice(fields: Fields, name: str, values: Sequence[str]) -> str:
    """The value of a field that has few; empty if it isn't given. Refused for another value."""
    given = fields.get(name)
    text = str(int(given)) if isinstance(given, bool | int) and given in (0, 1) else fields.text(name)
    if text and text.lower() not in values:
        raise Refused(f"Value for '{name}' not supported: {text[:20]!r}. It must be one of {', '.join(values)}.")
    return text.lower()


def names_in(fields: Fields, name: str) -> list[str]:
    """The values of a field that is a list, or texts with commas. Refused if there are too many."""
    given = fields.texts(name) or []
    if len(given) + sum(text.count(",") for text in given[:MOST_NAMES]) > MOST_NAMES:
        raise Refused(f"Parameter '{name}' has too many values: at most {MOST_NAMES:,} are allowed.")
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def fold(text: str, fields: Fields) -> str:
    """With split_sentences nonewlines a line break is a blank, as it is in mark-up anyway."""
    folds = choice(fields, "split_sentences", SPLITS) == "nonewlines" and not fields.get("tag_handling")
    return "\t".join(BREAK.sub(" ", cell) for cell in text.split("\t")) if folds else text


def protect(texts: Sequence[str], names: Collection[str]) -> list[str]:
    """Mark elements with these names as not to be translated; `unprotect` takes the marks away again. Takes time."""
    return [OPENING.sub(lambda found: found[0] + KEEP * (found[1] in names), text) for text in texts]


def unprotect(text: str, names: Collection[str]) -> str:
    return MARKED.sub(lambda found: f"<{found[1]}" if found[1] in names else found[0], text) if names else text


OPERATIONS = [
    Operation("GET POST", "/v2/translate", translate, key_in_body=True),
    Operation("GET POST", "/v2/languages", languages, key_in_body=True),
    Operation("GET", "/v3/languages", all_languages),
    Operation("GET POST", "/v2/usage", usage, auth="own", key_in_body=True),
    Operation("POST", "/v2/document", upload, auth="own", body=UPLOAD),
    # To which DeepL's client for Java sends what is no file on disk.
    Operation("POST", "/v2/document/", upload, auth="own", body=UPLOAD),
    Operation("GET POST", "/v2/document/{id}", state, auth="token"),
    Operation("GET POST", "/v2/document/{id}/result", result, auth="token"),
    *GLOSSARY_OPERATIONS,
]
