"""Pictures of kept figures: rows of benchmarks/results flow in, SVG files flow out.

    python -m benchmarks.pictures

The same rows give the same bytes. Each picture has its own background, which follows the reader's light or dark scheme,
so that it can be read on any page. The colours are those of Okabe and Ito, which colour-blind people can tell apart.
"""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import RESULTS, Row, all_rows, last_run, run_script
from benchmarks.summaries import TOOLKITS
from benchmarks.tables import machine, system, versions

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH, MARGIN = 680, 20
PAIRS = {"cherokee-1000": 1_000, "cherokee": 3_000, "cherokee-all": 11_638}
# Of rows of small_corpora.jsonl, with what they had where a row doesn't say it.
SETTINGS: Row = {"weight_decay": 0.01}
SETTINGS |= dict.fromkeys(("corpus", "pairs", "pieces", "width", "steps", "r_drop", "word_dropout"), 0)
SETTINGS |= dict.fromkeys(("label_smoothing", "teacher"), 0)
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.note { font-size: 11px; fill: #59636e }
.end { text-anchor: end }
.middle { text-anchor: middle }
.page { fill: #ffffff }
.grid { stroke: #d1d9e0 }
.nmt { fill: #0072b2 }
.peer { fill: #999999 }
.line { stroke-width: 2.5; fill: none }
.over { stroke: #ffffff; stroke-width: 4px; paint-order: stroke }
.of-nmt { stroke: #0072b2 }
.of-peer { stroke: #999999 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .note { fill: #9198a1 }
  .page { fill: #0d1117 }
  .grid { stroke: #3d444d }
  .over { stroke: #0d1117 }
  .nmt { fill: #56b4e9 }
  .of-nmt { stroke: #56b4e9 }
}
"""


def main() -> int:
    pictures = {
        "learning": equal_time(all_rows(RESULTS / "learning_peers.jsonl")),
        "pieces": over_setting(all_rows(RESULTS / "small_corpora.jsonl"), "pieces"),
        "weight-decay": over_setting(all_rows(RESULTS / "small_corpora.jsonl"), "weight_decay"),
        "pairs": over_pairs(last_run(RESULTS / "first_language.jsonl")),
        "learning-gpu": learning(last_run(RESULTS / "gpu_run.jsonl")),
        "speed": speed(
            *(last_run(RESULTS / f"{n}.jsonl") for n in ("decode_small", "decode_reference", "train_speed"))
        ),
    }
    for name, picture in pictures.items():
        (PICTURES / f"{name}.svg").write_text(picture, encoding="utf8")
    return 0


def svg(width: float, height: float, about: str, parts: Sequence[str], style: str = STYLE) -> str:
    """A picture; `about`: what it shows, for those who can't see it."""
    size = f'width="{width:.0f}" height="{height:.0f}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
    page = f'<rect class="page" {size} rx="6"/>'
    return "\n".join([start, f"<title>{escape(about)}</title>", f"<style>{style}</style>", page, *parts, "</svg>\n"])


def text(x: float, y: float, words: str, kind: str = "", turn: int = 0) -> str:
    """`kind`: classes of STYLE; `turn`: degrees, around the start of the text."""
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named}{turned}>{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def ticks(least: float, greatest: float) -> list[float]:
    """Round numbers from at most `least` to at least `greatest`, five to ten of them."""
    rough = (greatest - least) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [n * step for n in range(math.floor(least / step), math.ceil(greatest / step) + 1)]


class Curve(NamedTuple):
    """Points, such as minutes and BLEU, and what stands at the last one."""

    xs: Sequence[float]
    ys: Sequence[float]
    name: str
    kind: str = "nmt"
    with_values: bool = False


def learning(rows: Sequence[Row]) -> str:
    """Validation BLEU over minutes of training."""
    bleus = [row["bleu"] for row in rows]
    about = f"Validation BLEU while training on {rows[0]['name']}"
    said = [rows[0]["about"], machine(rows[0]), *filter(None, [rows[0].get("note")])]
    return chart(about, ["; ".join(said)], [Curve([row["minutes"] for row in rows], bleus, f"{bleus[-1]:.1f}")])


def equal_time(rows: Sequence[Row]) -> str:
    """Test BLEU after trainings of several lengths, of nmt and its peers."""
    curves = list[Curve]()
    for name in dict.fromkeys(row["system"] for row in rows):
        points = sorted((row["minutes"], row["bleu"]) for row in rows if row["system"] == name)
        minutes, bleus = zip(*points, strict=True)
        curves.append(Curve(minutes, bleus, f"{TOOLKITS[name]} {bleus[-1]:.1f}", "nmt" if name == "nmt" else "peer"))
    first, versions_of_all = rows[0], {name: version for row in rows for name, version in row["versions"].items()}
    about = f"Test BLEU after some minutes of training on one thread: {first['corpus']}, {first['direction']}"
    return chart(about, [machine(first), versions({"versions": versions_of_all})], curves)


def over_setting(rows: Sequence[Row], setting: str) -> str:
    """chrF of `val` for values of a setting, of trainings that are equal but for this setting."""
    alike: dict[tuple[Any, ...], dict[float, Row]] = {}
    for row in rows:
        values = SETTINGS | row
        others = tuple(values[name] for name in SETTINGS if name != setting)
        alike.setdefault(others, {}).setdefault(values[setting], row)
    curves = list[Curve]()
    for xs, compared in (zip(*sorted(found.items()), strict=True) for found in alike.values() if len(found) > 1):
        name = f"{compared[0]['corpus'].split(',')[0]}, {compared[0]['pairs']:,} pairs"
        curves.append(Curve(xs, [row["chrf"] for row in compared], name))
    words = setting.replace("_", " ")
    about = f"chrF of validation text, by {words}"
    return chart(about, ["One seed; as many steps for all points of a line"], curves, "chrF", words)


def over_pairs(rows: Sequence[Row]) -> str:
    """Test BLEU and chrF of trainings on the first pairs of a corpus."""
    pairs = [PAIRS[row["corpus"]] for row in rows]
    curves = [Curve(pairs, [row[kind.lower()] for row in rows], kind, with_values=True) for kind in ("BLEU", "chrF")]
    said = [f"{machine(rows[0])}; {versions(rows[0])}", rows[0]["note"]]
    return chart("Cherokee into English: scores of the test set", said, curves, "", "pairs of training")


def chart(
    about: str,
    said: Sequence[str],
    curves: Sequence[Curve],
    up_name: str = "BLEU",
    across_name: str = "minutes of training, validations included",
) -> str:
    """Curves. `said`: lines below the title; `up_name`, `across_name`: what the axes show."""
    left, top, width, height = 60, 88, WIDTH - 220, 240
    across = ticks(0, max(max(curve.xs) for curve in curves))
    up = ticks(min(min(curve.ys) for curve in curves), max(max(curve.ys) for curve in curves))

    def place(x: float, y: float) -> tuple[float, float]:
        return left + width * x / across[-1], top + height * (up[-1] - y) / (up[-1] - up[0])

    parts = [text(MARGIN, 30, about, "title")]
    parts += [text(MARGIN, 48 + 16 * n, line, "note") for n, line in enumerate(said)]
    parts.append(text(left - 8, top - 10, up_name, "note end"))
    for value in up:
        _, y = place(0, value)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}h{width}"/>')
        parts.append(text(left - 8, y + 4, f"{value:g}", "end"))
    for value in across:
        parts.append(text(place(value, 0)[0], top + height + 20, f"{value:,g}", "middle"))
    parts.append(text(left + width / 2, top + height + 42, across_name, "note middle"))
    names, named = list[str](), list[tuple[float, float]]()
    for curve in sorted(curves, key=lambda curve: -curve.ys[-1]):
        points = [place(*point) for point in zip(curve.xs, curve.ys, strict=True)]
        line = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path class="line of-{curve.kind}" d="M{line}"/>')
        parts += [f'<circle class="{curve.kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
        if curve.with_values:
            names += [
                text(x, y - 10, f"{value:.1f}", "middle over") for (x, y), value in zip(points, curve.ys, strict=True)
            ]
        x, y = points[-1][0] + 8, points[-1][1] + 4
        while any(abs(x - other_x) < 150 and abs(y - other_y) < 14 for other_x, other_y in named):
            y += 7  # so that names don't cover each other
        named.append((x, y))
        names.append(text(x, y, curve.name, "over"))
    return svg(WIDTH, top + height + 56, about, [*parts, *names])


def speed(small: Sequence[Row], decoding: Sequence[Row], training: Sequence[Row]) -> str:
    """Bars of sentences a second, of nmt and its peers. `small`: translation with the model of make train-de-en."""
    shown = {
        "Translation, model of make train-de-en, beam 5": [row for row in small if row["beam"] == 5],
        "Translation, the same model, greedy": [row for row in small if row["beam"] == 1],
        "Translation, reference model, beam 5": [r for r in decoding if (r["beam"], r["batch"]) == (5, 64)],
        "Training, reference model, batches of 4,096 tokens": training,
    }
    parts, y = [], 32.0
    for title, rows in shown.items():
        where = f"{machine(rows[0])}; {versions(rows[0])}"
        parts += [text(MARGIN, y, f"{title}: sentences a second", "title"), text(MARGIN, y + 18, where, "note")]
        y += 32
        for row in sorted(rows, key=lambda row: -row["sentences_per_second"]["median"]):
            figure = row["sentences_per_second"]["median"]
            length = 440 * figure / max(other["sentences_per_second"]["median"] for other in rows)
            parts += [
                text(170, y + 15, system(row), "end"),
                rectangle(180, y, length, 20, "nmt" if row["system"] == "nmt" else "peer"),
            ]
            parts.append(text(186 + length, y + 15, f"{figure:.0f}"))
            y += 26
        y += 34
    return svg(WIDTH, y - 34, "Sentences a second of nmt and of other systems, translating and training", parts)


if __name__ == "__main__":
    run_script(main)
