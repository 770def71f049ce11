"""A page about a prepared corpus: clean pairs and their ledgers flow in; one HTML file with pictures flows out.

The page shows what was dropped, with examples; which of several corpora look bad; how long the texts are; their
scripts; the most frequent pieces, and the characters that are no pieces; and how much of val and test text occurs in
training text. It needs no other file, no script and no network. Text of the corpus is escaped.
"""

import html
import math
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from nmt.data.batches import Sequences
from nmt.data.cleaning import Ledger, Pair
from nmt.data.cleaning.filters import HeldOut
from nmt.data.cleaning.suspicious import length_ratios, suspicions
from nmt.data.sections import Section
from nmt.data.store.prepared import Prepared
from nmt.files import write_text
from nmt.text.languages import script_of
from nmt.vocabulary import SPACE, UNK

COUNTED = 200_000  # training pairs whose lengths, letters and overlap are shown: the first ones
BARS, ROWS = 30, 40  # of a histogram and of a table
LEAST_SHARE = 1e-5  # of a script that is shown
CAUSES = 3  # the most frequent ones of a corpus
STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5c6675; --line: #d8dde5; --back: #fcfcfd; --one: #2b6cb0;
  --two: #c05621; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa5b4; --line: #333b47; --back: #14181f;
  --one: #63a4e8; --two: #ef9a5f; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: 0; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .6rem; }
p, summary, th { color: var(--soft); } summary { cursor: pointer; }
table { border-collapse: collapse; width: 100%; } th { font-weight: 500; text-align: right; }
th:first-child, th.text { text-align: left; }
td, th { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.side { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1.5rem; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.one { fill: var(--one); } .two { fill: var(--two); } figure { margin: 0; } figcaption { color: var(--soft); }
.pieces span { display: inline-block; padding: .1rem .5rem; margin: .15rem; border: 1px solid var(--line);
  border-radius: .4rem; }
"""


def write_report(prepared: Prepared) -> Path:
    """Write report.html into the folder of a prepared run, and return its path."""
    file = prepared.folder / "report.html"
    write_text(file, "".join(page(prepared)))
    return file


def page(prepared: Prepared) -> Iterator[str]:
    name, ledger = html.escape(prepared.name), prepared.ledgers["train"]
    unit = f"{ledger.unit}s"
    yield f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>{name}</title>'
    yield f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
    yield f"<h1>{name}</h1><p>{len(prepared.train):,} training {unit} of {ledger.read:,}"
    yield f" are kept: {len(prepared.train) / max(1, ledger.read):.1%}.</p>"
    yield from (f"<p>{html.escape(note)}</p>" for note in prepared.notes)
    for data_set, commit in prepared.commits.items():
        yield f"<p>{html.escape(data_set)} was read from the hub at commit {html.escape(commit)}.</p>"
    yield from ledgers(prepared.ledgers, prepared.dropped)
    encoded = prepared.encoded()
    _, _, numbers = zip(*encoded.columns(), strict=True)
    pairs, sections = prepared.train[:COUNTED], prepared.sections
    if numbers[0] is not None and ledger.parts:
        of_pairs = torch.cat(numbers)[:COUNTED].tolist()
        yield from corpora(ledger.parts, length_ratios(pairs, of_pairs, sections), sections)
    counted = encoded.first(COUNTED)
    yield from lengths(counted.source, counted.target)
    yield from scripts(pairs)
    yield from pieces(prepared.tokenizer.target, counted.target, pairs)
    yield from overlap(pairs, HeldOut({"val": prepared.val, **prepared.tests}))


def ledgers(splits: Mapping[str, Ledger], dropped: Mapping[str, Sequence[Pair]]) -> Iterator[str]:
    """What was dropped and repaired, by split and cause, with examples from the training text."""
    yield "<h2>Dropped and repaired</h2><table><tr><th>cause</th>"
    yield "".join(f"<th>{html.escape(split)}</th>" for split in splits) + "</tr>"
    for verb in ("dropped", "repaired"):
        counters: dict[str, Counter[str]] = {split: getattr(ledger, verb) for split, ledger in splits.items()}
        total = sum(counters.values(), Counter[str]())
        for cause, _ in total.most_common():
            shown = examples(dropped.get(cause, ())) if verb == "dropped" else ""
            title = html.escape(f"{verb}: {cause}")
            title = f"<details><summary>{title}</summary>{shown}</details>" if shown else title
            yield f"<tr><td>{title}</td>" + cells(f"{c[cause]:,}" if c[cause] else "" for c in counters.values())
    yield "</table>"


def corpora(parts: Mapping[str, Ledger], ratios: Mapping[str, float], sections: Sequence[Section]) -> Iterator[str]:
    """What was dropped of each corpus and direction, and which of them look bad."""
    yield '<h2>Corpora</h2><table><tr><th>corpus</th><th class="text">dropped most often</th><th>read</th><th>kept</th>'
    yield "<th>share kept</th><th>target characters for one of the source</th></tr>"
    for name, part in parts.items():
        ratio = f"{ratios[name]:.2f}" if name in ratios else ""
        figures = [f"{part.read:,}", f"{part.kept:,}", f"{part.kept / max(1, part.read):.1%}", ratio]
        causes = [f"{cause} ({n:,})" for cause, n in part.dropped.most_common(CAUSES)]
        yield f"<tr><td>{html.escape(name)}</td><td>{html.escape(', '.join(causes))}</td>{cells(figures)}"
    yield "</table><h2>Suspicious corpora</h2><ul>"
    found = [map(html.escape, both) for both in suspicions(parts, ratios, sections)]
    yield from (f"<li><b>{name}</b>: {why}.</li>" for name, why in found)
    yield "" if found else "<li>None: no corpus loses many more pairs than usual, and lengths are alike.</li>"
    yield "</ul><p>Pairs that are held out for val or test, or occur there, don't count here.</p>"


def cells(texts: Iterable[str]) -> str:
    """The rest of a row: cells with figures."""
    return "".join(f'<td class="n">{text}</td>' for text in texts) + "</tr>\n"


def examples(pairs: Sequence[Pair]) -> str:
    rows = ("".join(f'<td dir="auto">{html.escape(side)}</td>' for side in pair if side) for pair in pairs)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>" if pairs else ""


def lengths(source: Sequences, target: Sequences) -> Iterator[str]:
    """Histograms of the lengths in pieces, and of the ratio between target and source."""
    yield '<h2>Lengths</h2><div class="side">'
    sides = [("one", "source", source), ("two", "target", target)]
    for colour, name, ids in sides:
        sizes = ids.lengths_N.tolist()
        if any(sizes):
            middle = f"median {statistics.median(sizes):g}, longest {int(ids.lengths_N.max()):,}"
            yield histogram(sizes, colour, f"Pieces of a {name}: {middle}")
    both = (ids.lengths_N.tolist() for ids in (source, target))
    ratios = [t / s for s, t in zip(*both, strict=True) if s]
    if ratios:
        middle = f"median {statistics.median(ratios):.2f}"
        yield histogram([min(ratio, 4.0) for ratio in ratios], "one", f"Target pieces for a source piece: {middle}")
    yield "</div>"


def histogram(values: Sequence[float], colour: str, title: str) -> str:
    """An SVG picture: how many values lie in each of BARS equal ranges; of whole numbers, a range has at least one. The
    last bar has what is above the 99.5th percentile, too, so that one long text doesn't squeeze the rest."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[int(0.995 * (len(ordered) - 1))]
    width = (high - low) / BARS or 1.0
    if all(isinstance(value, int) for value in values):
        width = float(math.ceil(width))
    counts = Counter(min(BARS - 1, int((value - low) / width)) for value in values)
    most = max(counts.values())
    bars = "".join(
        f'<rect class="{colour}" x="{8 + 11 * n}" y="{130 - 115 * counts[n] / most:.1f}" width="10" '
        f'height="{115 * counts[n] / most:.1f}"><title>{low + n * width:.4g} to {low + (n + 1) * width:.4g}: '
        f"{counts[n]:,}</title></rect>"
        for n in range(BARS)
    )
    ticks = "".join(
        f'<text x="{8 + 330 * k / 3:.0f}" y="146" text-anchor="{anchor}">{low + BARS * width * k / 3:.3g}</text>'
        for k, anchor in enumerate(("start", "middle", "middle", "end"))
    )
    frame = f'viewBox="0 0 346 150" role="img" aria-label="{html.escape(title)}"'
    return f"<figure><svg {frame}>{bars}{ticks}</svg><figcaption>{html.escape(title)}</figcaption></figure>\n"


def scripts(pairs: Sequence[Pair]) -> Iterator[str]:
    """The share of each script among the letters of each side; those of less than LEAST_SHARE are left out."""
    yield "<h2>Scripts</h2><table><tr><th>share of letters</th><th>source</th><th>target</th></tr>"
    counts = [Counter(script for pair in pairs for script in map(script_of, pair[side]) if script) for side in (0, 1)]
    for script, _ in (counts[0] + counts[1]).most_common(ROWS):
        shares = [count[script] / max(1, count.total()) for count in counts]
        name = script if script == "CJK" else script.capitalize()
        if max(shares) >= LEAST_SHARE:
            yield f"<tr><td>{name}</td>{cells([f'{share:.3%}' for share in shares])}"
    yield "</table>"


def pieces(model: Any, target: Sequences, pairs: Sequence[Pair]) -> Iterator[str]:
    """The most frequent pieces of the target side, and the most frequent characters that are no pieces."""
    frequency = target.counts(model.vocab_size())
    order = frequency.argsort(descending=True).tolist()
    common = [(model.id_to_piece(n), int(frequency[n])) for n in order[:ROWS] if frequency[n]]
    names = (f'<span title="{n:,}">{html.escape(piece.replace(SPACE, "␣"))}</span>' for piece, n in common)
    yield f'<h2>Most frequent pieces of the target side</h2><p class="pieces">{"".join(names)}</p>'
    found = Counter(character for pair in pairs for side in pair for character in side)
    known = {
        character for character in found if any(model.piece_to_id(p) != UNK for p in (character, SPACE + character))
    }
    unknown = [(c, n) for c, n in found.most_common() if c not in known and not c.isspace()]
    yield "<h2>Characters without a piece</h2>"
    if not unknown:
        yield "<p>None.</p>"
        return
    yield f"<p>{len(unknown):,} different ones; the most frequent:</p><table>"
    for character, n in unknown[:ROWS]:
        title = f"{html.escape(character)} U+{ord(character):04X} {unicodedata.name(character, '').lower()}"
        yield f"<tr><td>{title}</td>{cells([f'{n:,}'])}"
    yield "</table>"


def overlap(pairs: Sequence[Pair], held_out: HeldOut) -> Iterator[str]:
    """How much training text repeats val and test text, also where no filter drops it."""
    causes = Counter(cause for pair in pairs if (cause := held_out.all.find(pair)))
    yield "<h2>Overlap of training text with val and test text</h2>"
    yield "<p>Without case, digits and punctuation; cleaning.contamination drops these.</p><table>"
    for cause, n in causes.most_common() or [("none", 0)]:
        yield f"<tr><td>{html.escape(cause)}</td>{cells([f'{n:,}'])}"
    yield "</table></html>\n"
