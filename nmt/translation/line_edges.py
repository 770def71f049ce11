"""Marks around the text of a line (see `nmt.text.edges`) are taken off before it is translated, and put back."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from nmt.data.tokenizer import Tokenizer
from nmt.text.edges import Edges, take_off
from nmt.text.normalise import tidy
from nmt.translation.request import Request, Translate, Translation


def translate_inside(
    requests: Sequence[Request], tokenizer: Tokenizer, quotes: tuple[str, str] | None, final: str, translate: Translate
) -> list[list[Translation]]:
    """As `translate`, which gets the lines without their edges; `quotes`: of the target language; `final`: the mark
    that lines without one get (`Facts.final_mark`)."""
    edges = [find_edges(request, tokenizer, quotes, final) for request in requests]
    pairs = zip(requests, edges, strict=True)
    inner = [request.inside(one.text, partial(put_back, edges=one)) if one else request for request, one in pairs]
    n_best = translate(inner)
    # Corpora of plain text have "!" in few sentences, and a model may know this one with a full stop only.
    calm = {n: f"{one.text[:-1]}." for n, one in enumerate(edges) if one and one.stop and one.text.endswith("!")}
    others = translate([replace(inner[n], text=text) for n, text in calm.items()]) if calm else []
    for n, other in zip(calm, others, strict=True):
        n_best[n] = min(n_best[n], other, key=doubt)
    return [[put_back(t, one) for t in row] if one else row for row, one in zip(n_best, edges, strict=True)]


def doubt(translations: Sequence[Translation]) -> tuple[int, float]:
    """Of a list: lower is better."""
    return len(translations[0].flags), -translations[0].confidence


def find_edges(request: Request, tokenizer: Tokenizer, quotes: tuple[str, str] | None, final: str) -> Edges | None:
    """What stands around the text of a line; None if nothing does, or the translation has a given prefix."""
    edges = take_off(tidy(request.text)[0], tokenizer.knows, quotes, request.own, final)
    return edges if edges and not request.constraints.prefix and "\t" not in request.text else None


def put_back(translation: Translation, edges: Edges) -> Translation:
    return replace(translation, text=edges.put_back(translation.text), words_around=edges.words_around)
