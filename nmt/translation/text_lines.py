"""Texts of several lines: a request flows in, a request for each of its lines flows out; their translations flow in,
those of the text flow out, with its line breaks. A line never shares a search with another line of its text."""

import re
from collections.abc import Callable, Sequence

from nmt.text.normalise import tidy
from nmt.translation.alignment import Aligner
from nmt.translation.request import Request, Translate, Translation, combined, ranks
from nmt.translation.spans import share

BREAK = re.compile("(\r\n|[\n\x0b\x0c\r\x85\u2028\u2029])")


def translate_lines(requests: Sequence[Request], aligner: Aligner, translate: Translate) -> list[list[Translation]]:
    """As `translate`, which gets each line of a text as a request of its own."""
    lines_of = [split_lines(request, aligner.tokenizer.readable) for request in requests]
    found = iter(translate([line for lines in lines_of for line in lines]))
    lists = [[next(found) for _ in lines] for lines in lines_of]
    pairs = zip(requests, lists, strict=True)
    return [some[0] if len(some) == 1 else join_lines(aligner, request, some) for request, some in pairs]


def split_lines(request: Request, readable: Callable[[str], str]) -> list[Request]:
    """A request for each line of a text; only the request itself if it has one line. Blanks at the ends of the text,
    which a translation doesn't have, may be line breaks too. `readable`: a text as the model reads it."""
    text = request.text.strip() if isinstance(request.text, str) and BREAK.search(request.text) else ""
    lines = BREAK.split(text)[::2]
    if len(lines) == 1:
        return [request]
    shared = share(request.constraints, [readable(tidy(line)[0]) for line in lines])
    return [Request(line, constraints, request.own) for line, constraints in zip(lines, shared, strict=True)]


def join_lines(aligner: Aligner, request: Request, n_best: Sequence[Sequence[Translation]]) -> list[Translation]:
    """The translations of a text, from those of its lines: each with the line breaks and blanks of the text."""
    return [join_rank(aligner, BREAK.split(request.text.strip()), chosen) for chosen in ranks(n_best)]


def join_rank(aligner: Aligner, parts: Sequence[str], chosen: Sequence[Translation]) -> Translation:
    """One translation of a text. `parts`: its lines, with a break after each but the last."""
    texts, links, n_source, n_target = list[str](), list[tuple[int, int]](), 0, 0
    # Words of a line that was copied are in no part.
    is_apart = [one.links is not None or one.moved or any(one.words_around) or not one.parts for one in chosen]
    has_links = any(is_apart)
    for line, gap, one in zip(parts[::2], [*parts[1::2], ""], chosen, strict=True):
        start, end = len(line) - len(line.lstrip()), len(line.rstrip())
        texts += [line[:start], one.text, line[max(start, end) :], gap]
        if has_links:
            links += [(n_source + i, n_target + j) for i, j in aligner.align(one)]
            n_source, n_target = (
                n_source + len(aligner.tokenizer.readable(tidy(line)[0]).split()),
                n_target + len(one.text.split()),
            )
    return combined("".join(texts), chosen, tuple(links) if has_links else None)
