"""Quotes inside a line, if training had none: taken off before the line is translated, and put around the translations
of the words that they were around, by the word alignment."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from nmt.data.tokenizer import Tokenizer
from nmt.text.normalise import tidy
from nmt.text.restore import CLOSES, OPENS, Flat, Lifted, lift, restore
from nmt.text.suspicions import prose
from nmt.text.tokens import tokenize, word_links
from nmt.translation.alignment import Aligner
from nmt.translation.request import Request, Translate, Translation, with_flag

QUOTED = re.compile(
    r"(?<![^\s(\[])(?:([„“”])([^„“”«»\"]{1,200}+)[“”]|«([^„“”«»\"]{1,200}+)»|\"([^„“”«»\"]{1,200}+)\")(?!\w)"
)


def translate_quoted(
    requests: Sequence[Request], aligner: Aligner, quotes: tuple[str, str] | None, translate: Translate
) -> list[list[Translation]]:
    """As `translate`, which gets the lines without quotes that training lacked; `quotes`: of the target language."""
    lifted = [lift_quotes(request, aligner.tokenizer, quotes) for request in requests]
    pairs = list(zip(requests, lifted, strict=True))
    inner = [r.inside(one.text, partial(put_back, aligner, r, one)) if one else r for r, one in pairs]
    lists = zip(pairs, translate(inner), strict=True)
    return [[put_back(aligner, request, one, t) for t in row] if one else row for (request, one), row in lists]


def lift_quotes(request: Request, tokenizer: Tokenizer, quotes: tuple[str, str] | None) -> Lifted | None:
    """The line without its quotes; None if it has none that training lacked, or constraints."""
    line = tidy(request.text)[0]
    if tokenizer.words is None or request.constraints or "\t" in request.text:
        return None
    # Quotes right around an item belong to it.
    found = [match for match in QUOTED.finditer(line) if any(map(str.isalpha, prose(match[0], request.own)))]
    signs = {sign for match in found for sign in match[0][0] + tokenizer.readable(match[0][0])}
    if not found or not tokenizer.words.signs.isdisjoint(signs):
        return None
    own, marked = list(line), list(line)
    for match in found:
        start, end = match.start(), match.end() - 1
        marked[start], marked[end] = OPENS, CLOSES
        own[start], own[end] = quotes if quotes and line[start] != '"' else (line[start], line[end])
    return lift(Flat("".join(own), "".join(marked), [*range(len(line) + 1)]), request.own)


def put_back(aligner: Aligner, request: Request, lifted: Lifted, translation: Translation) -> Translation:
    target = translation.text, tokenize(translation.text, own=request.own)
    links = aligner.align_tokens(translation, (lifted.text, lifted.tokens), target)
    restored = restore(translation.text, lifted, links, request.own)
    places = tuple(word_links(restored.links, lifted.line, restored.text))
    whole = replace(translation, text=restored.text, links=places, moved=None, words_around=(0, 0))
    return whole if restored.is_whole else with_flag(whole, "items")
