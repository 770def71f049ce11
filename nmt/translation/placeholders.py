"""Items pass through models that have learned to copy placeholders: lines flow in, their translations flow out.

A line with items (addresses, tags, placeholders of programs …) is translated with a placeholder in place of each (see
`nmt.text.marking`). If one is missing in the translation, or occurs twice, the line is translated as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from nmt.data.tokenizer import Tokenizer
from nmt.text.items import find_items
from nmt.text.marking import PLACEHOLDER, Marked, mark
from nmt.text.normalise import tidy
from nmt.text.restore import flatten
from nmt.translation.request import Moved, Request, Translate, Translation
from nmt.translation.spans import tidy_cells


def translate_marked(
    requests: Sequence[Request], marked: Sequence[Marked | None], translate: Translate, *, whole_lists: bool
) -> list[list[Translation]]:
    """As `translate`, with placeholders for items where `marked` has them. `whole_lists`: translations that have lost
    placeholders aren't left out of a list; then the line is translated as it is."""
    pairs = list(zip(requests, marked, strict=True))
    n_best = translate([replace(request, text=line.text) if line else request for request, line in pairs])
    again: list[int] = []
    for n, line in enumerate(marked):
        if line:
            found = [restored for translation in n_best[n] if (restored := put_back(translation, line))]
            again += [n] if not found or (whole_lists and len(found) < len(n_best[n])) else []
            n_best[n] = found
    if again:
        for n, translations in zip(again, translate([requests[n] for n in again]), strict=True):
            n_best[n] = translations
    return n_best


def mark_request(request: Request, tokenizer: Tokenizer) -> Marked | None:
    """The line with placeholders; None if it has none, or the constraints have items too."""
    line = tokenizer.readable(tidy_cells(request.text) if "\t" in request.text else tidy(request.text)[0])
    wanted = request.constraints
    texts = [wanted.prefix, *(target for term in wanted.must for target in term.targets)]
    if any(item.kind != "number" for text in texts if text for item in find_items(text, request.own)):
        return None
    return mark(flatten(line, request.own), request.own)


def put_back(translation: Translation, line: Marked) -> Translation | None:
    """The translation with the items; None if they can't be put back."""
    unmarked = line.restore(translation.text)
    if unmarked is None:
        return None
    texts = line.line, line.text, line.places, unmarked.text, translation.text, unmarked.places
    moved = Moved(*texts, skipped=translation.words_around[0])
    return replace(translation, text=unmarked.text, moved=moved, words_around=(0, 0))


def without_others(text: str, line: str) -> str:
    """The text without placeholders that the line doesn't have: a model may invent some."""
    others = set(PLACEHOLDER.findall(text)).difference(line)
    return tidy(re.sub(f" ?[{''.join(others)}]", "", text))[0] if others else text
