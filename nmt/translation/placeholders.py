"""Items pass through a model as something that it copies: lines flow in, their translations flow out.

A line with items (addresses, tags, placeholders of programs …) is translated with a placeholder in place of each (see
`nmt.text.marking`), if the model has learned to copy these. For other models, names that are the same in both languages
(`Words.names`) stand for the placeholders of programs: `{name} schläft` is read as `Anna schläft`, and `Frau {name}` as
`Frau Weber`, if that name is the most frequent one after this word in training (`names_after`). If one is missing in
the translation, or occurs twice, the line is translated as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from nmt.data.tokenizer import Tokenizer
from nmt.text.items import find_items
from nmt.text.marking import PLACEHOLDER, Mark, Marked, mark
from nmt.text.normalise import tidy
from nmt.text.restore import SINGLE, flatten
from nmt.translation.request import Moved, Request, Translate, Translation, with_flag
from nmt.translation.spans import tidy_cells

QUOTES = "\"'„“”‚‘’«»‹›"


@dataclass(frozen=True)
class Named:
    """A line with names in place of the placeholders of `marked`."""

    marked: Marked
    names: dict[str, str]
    """By their placeholders."""

    @property
    def text(self) -> str:
        return PLACEHOLDER.sub(lambda match: self.names[match[0]], self.marked.text)

    def placed(self, translation: str) -> str:
        """The translation with placeholders in place of the names; as it is if a name isn't there once."""
        found = {name: re.findall(rf"(?<!\w){name}(?!\w)", translation) for name in self.names.values()}
        if any(len(places) != 1 for places in found.values()):
            return translation
        for placeholder, name in self.names.items():
            translation = re.sub(rf"(?<!\w){name}(?!\w)", placeholder, translation)
        return translation


def translate_marked(
    requests: Sequence[Request], marked: Sequence[Marked | Named | None], translate: Translate, *, whole_lists: bool
) -> list[list[Translation]]:
    """As `translate`, with placeholders or names for items where `marked` has them. `whole_lists`: translations that
    have lost one aren't left out of a list; then the line is translated as it is.

    If a name is lost, the item's place in a sentence that lacks a word is a guess: the flag "items" says so."""
    pairs = list(zip(requests, marked, strict=True))
    inner = [r.inside(line.text, partial(put_back_if_whole, line=line)) if line else r for r, line in pairs]
    n_best = translate(inner)
    again: list[int] = []
    for n, line in enumerate(marked):
        if line:
            found = [restored for translation in n_best[n] if (restored := put_back(translation, line))]
            again += [n] if not found or (whole_lists and len(found) < len(n_best[n])) else []
            n_best[n] = found
    if again:
        for n, translations in zip(again, translate([requests[n] for n in again]), strict=True):
            lost = isinstance(marked[n], Named)
            n_best[n] = [with_flag(t, "items") for t in translations] if lost else translations
    return n_best


def mark_request(request: Request, tokenizer: Tokenizer) -> Marked | None:
    """The line with placeholders; None if it has none, or the constraints have items too."""
    line = tokenizer.readable(tidy_cells(request.text) if "\t" in request.text else tidy(request.text)[0])
    wanted = request.constraints
    texts = [wanted.prefix, *(target for term in wanted.must for target in term.targets)]
    if any(item.kind != "number" for text in texts if text for item in find_items(text, request.own)):
        return None
    marked = mark(flatten(line, request.own), request.own)
    written = tidy(request.text)[0]
    return marked and replace(marked, marks={key: as_written(one, written) for key, one in marked.marks.items()})


def as_written(mark: Mark, line: str) -> Mark:
    """A mark with the quotes around its item as they are in the line: the model may read others."""
    item = mark.text.strip(QUOTES)
    found = re.search(rf"[{QUOTES}]{re.escape(item)}[{QUOTES}]", line) if item and item != mark.text else None
    return replace(mark, text=found[0]) if found and len(found[0]) == len(mark.text) else mark


def name_request(request: Request, tokenizer: Tokenizer) -> Named | None:
    """The line with names in place of the placeholders of programs; None if it has none, too many, or other items."""
    if not tokenizer.words or not tokenizer.words.names:
        return None
    marked = mark_request(request, tokenizer)
    if marked is None or not all(stands_alone(one) for one in marked.marks.values()):
        return None
    after, names = dict(tokenizer.words.names_after), dict[str, str]()
    for placeholder in marked.marks:
        before = re.search(rf"([^\W\d_]+) {placeholder}", marked.text)
        fitting = [after[before[1]]] if before and before[1] in after else []
        free = (n for n in (*fitting, *tokenizer.words.names) if n not in marked.text and n not in names.values())
        if not (name := next(free, "")):
            return None
        names[placeholder] = name
    return Named(marked, names)


def stands_alone(mark: Mark) -> bool:
    """Whether this is a placeholder of a program, perhaps in quotes, that touches no word."""
    text = mark.text.strip(QUOTES)
    kinds = [(item.kind, item.text) for item in find_items(text)]
    return mark.sign == SINGLE and kinds == [("placeholder", text)] and not any(mark.touches)


def put_back(translation: Translation, line: Marked | Named) -> Translation | None:
    """The translation with the items; None if they can't be put back."""
    text = translation.text
    if isinstance(line, Named):
        text, line = line.placed(text), line.marked
    unmarked = line.restore(text)
    if unmarked is None:
        return None
    texts = line.line, line.text, line.places, unmarked.text, text, unmarked.places
    moved = Moved(*texts, skipped=translation.words_around[0]).around(translation.moved)
    return replace(translation, text=unmarked.text, moved=moved, words_around=(0, 0))


def put_back_if_whole(translation: Translation, line: Marked | Named) -> Translation:
    return put_back(translation, line) or translation


def without_others(text: str, line: str) -> str:
    """The text without placeholders that the line doesn't have: a model may invent some."""
    others = set(PLACEHOLDER.findall(text)).difference(line)
    return tidy(re.sub(f" ?[{''.join(others)}]", "", text))[0] if others else text
