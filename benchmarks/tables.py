"""One table for each benchmark: rows of a run flow in, Markdown flows out.

A function with the name of the benchmark gives the cells of a row; its headings stand above it.
"""

import re
import statistics
from collections.abc import Callable, Iterable, Sequence

from benchmarks.rows import Row

NAMES = {"ctranslate2": "CTranslate2", "eole": "Eole", "torch": "PyTorch", "vnni": "VNNI", "float32": "fp32"}
TABLES: dict[str, Callable[[Sequence[Row]], str]] = {}
Cells = list[object]


def table(headings: str) -> Callable[[Callable[[Row], Cells]], Callable[[Row], Cells]]:
    """Makes the table of a benchmark from the function with its name. Between the headings stands " | "."""

    def register(cells: Callable[[Row], Cells]) -> Callable[[Row], Cells]:
        TABLES[cells.__name__] = lambda rows: markdown(headings.split(" | "), map(cells, rows))
        return cells

    return register


def markdown(headings: Sequence[str], lines: Iterable[Iterable[object]]) -> str:
    """A table; columns that are empty in all lines are left out. Figures are aligned right."""
    texts = [[str(cell) for cell in line] for line in lines]
    kept = [i for i in range(len(headings)) if any(line[i] for line in texts)]
    figures = [all(re.match(r"[-−+\d*]|$", line[i]) for line in texts) for i in range(len(headings))]
    rows = [headings, ["---:" if is_figure else "---" for is_figure in figures], *texts]
    return "\n".join("| " + " | ".join(row[i] for i in kept) + " |" for row in rows)


def listed(names: Sequence[str]) -> str:
    """Names as in "a, b and c"."""
    return re.sub(", ([^,]*)$", r" and \1", ", ".join(names))


def median(row: Row, name: str) -> str:
    if name not in row:
        return ""
    figure = row[name]["median"]
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def ratio(row: Row, name: str, to: str) -> str:
    """A ratio's median, and its range if there were several rounds."""
    found = row.get(name, {}).get(to)
    if not found:
        return ""
    several = found.get("min", found["median"]) != found.get("max", found["median"])
    return f"{found['median']:.2f}" + (f" ({found['min']:.2f} to {found['max']:.2f})" if several else "")


def over_seeds(row: Row, name: str, digits: int) -> str:
    """The mean over the seeds, and their range."""
    figures = row[name]["rounds"]
    mean = f"{statistics.mean(figures):.{digits}f}"
    return f"{mean} ({min(figures):.{digits}f} to {max(figures):.{digits}f})" if len(figures) > 1 else mean


def quantiles(times: dict[str, float], *names: str) -> str:
    return " / ".join(f"{times[name]:,.0f}" for name in names or ("p50", "p95", "p99"))


def mebibytes(part: Row) -> str:
    return f"{part['memory'] / 2**20:,.0f}"


EXTRAS = {"graphs": "CUDA graphs", "pytorch": "PyTorch"}


def system(row: Row) -> str:
    """A name such as "CTranslate2 int8"."""
    dtype, _, extra = str(row["dtype"]).partition(":")
    name = f"{NAMES.get(row['system'], row['system'])} {NAMES.get(dtype, dtype)}"
    return f"{name}, {EXTRAS.get(extra, f'shortlist {extra}')}" if extra else name


@table(
    "system | sentences/s | target tokens/s | peak MiB | of peak | in a whole run | nmt / this, sentences | "
    "nmt / this, tokens"
)
def train_speed(row: Row) -> Cells:
    figures = [median(row, name) for name in ("sentences_per_second", "target_tokens_per_second", "peak_memory_mib")]
    shares = [f"{100 * row[name]['median']:.0f}%" if name in row else "" for name in ("peak_share", "whole_share")]
    return [system(row), *figures, *shares, ratio(row, "ratios", "nmt"), ratio(row, "token_ratios", "nmt")]


def decode_speed(rows: Sequence[Row]) -> str:
    """The speed of nmt in each dtype is set beside that of each row."""
    ours = list(dict.fromkeys(name for row in rows for name in row.get("ratios", {})))
    against = [f"{system({'system': 'nmt', 'dtype': name})} / this" for name in ours]
    lines = [
        [
            row["beam"],
            row["batch"],
            system(row) + (f" ({row['mode']})" if row.get("mode") else ""),
            median(row, "sentences_per_second"),
            median(row, "tokens_per_second"),
            f"{row['bleu']:.2f}" if "bleu" in row else "",
            *(ratio(row, "ratios", name) for name in ours),
        ]
        for row in sorted(rows, key=lambda row: (-row["beam"], -row["batch"]))
    ]
    return markdown(["beam", "batch", "system", "sentences/s", "tokens/s", "BLEU", *against], lines)


@table("kind | lines | right, % | of these flagged | wrong, flagged | wrong, no flag")
def real_text(row: Row) -> Cells:
    def share(name: str) -> str:
        """Percent of the lines; after an arrow, if an earlier run is known."""
        before = f"{100 * row['before'][name]:.0f} → " if "before" in row else ""
        return f"{before}{100 * row[name] / row['lines']:.0f}"

    return [row["kind"], row["lines"], *map(share, ("right", "right_flagged", "flagged", "silent"))]


@table("item | lines | right place, % | other words there | wrong place | lost")
def items(row: Row) -> Cells:
    shares = [f"{100 * row[name] / row['lines']:.1f}" for name in ("right", "reworded", "wrong_place", "lost")]
    return [row["form"], row["lines"], *shares]


@table("model | terms | form | lines | met, % | reference's form, % | BLEU | seconds")
def terms(row: Row) -> Cells:
    way = {"none": "no terms", "must": "must", "hint": "hints"}[row["way"]]
    shares = [f"{100 * row[name]:.1f}" for name in ("met", "right")]
    return [row["model"], way, row["form"], row["lines"], *shares, f"{row['bleu']:.1f}", f"{row['seconds']:.0f}"]


@table("door | model | compared | result | sentences")
def doors(row: Row) -> Cells:
    return [row[name] for name in ("door", "model", "compared", "result", "sentences")]


@table("job | lines | characters | processor seconds | peak MiB | failures")
def fuzz(row: Row) -> Cells:
    figures = ("lines", "characters", "seconds", "peak_memory_mib", "failures")
    return [row["job"], *(f"{row[name]:,.0f}" for name in figures)]


@table("updates | fp32, mean of seeds | bf16 | difference | difference, each seed")
def bf16_loss(row: Row) -> Cells:
    apart = [bf16 - fp32 for bf16, fp32 in zip(row["bf16"], row["fp32"], strict=True)]
    means = [f"{statistics.mean(row[dtype]):.4f}" for dtype in ("fp32", "bf16")]
    each = ", ".join(f"{seed:+.4f}" for seed in apart)
    return [f"{row['updates']:,}", *means, f"{statistics.mean(apart):+.4f}", each]


@table("model | beam | single, sentences/s: fp32 / bf16 / int8 | in batches of 64 | BLEU | lines as PyTorch's fp32, %")
def precision(row: Row) -> Cells:
    names = ("fp32", "bf16", "int8")
    speeds = [" / ".join(f"{row['speeds'][batch][name]:,.0f}" for name in names) for batch in ("1", "64")]
    bleu, same = (" / ".join(f"{row[kind][name]:.{n}f}" for name in names) for kind, n in (("bleu", 2), ("same", 1)))
    return [f"{row['parameters'] / 1e6:.1f} million, {row['width']} wide", row["beam"], *speeds, bleu, same]


@table("variant | million parameters | BLEU | chrF | nats/piece | minutes | training, sentences/s | greedy | beam 5")
def quality(row: Row) -> Cells:
    digits = {"bleu": 2, "chrf": 2, "nll": 3, "minutes": 0}
    figures = [over_seeds(row, name, n) for name, n in digits.items()]
    speeds = [median(row, f"{kind}_speed") for kind in ("training", "greedy", "beam_5")]
    return [row["variant"], f"{row['parameters'] / 1e6:.2f}", *figures, *speeds]


@table("training text | pairs | pieces | word dropout | steps | chrF of val, greedy")
def small_corpora(row: Row) -> Cells:
    figures = [f"{row[name]:,}" for name in ("pairs", "pieces", "word_dropout", "steps")]
    return [row["corpus"], *figures, f"{row['chrf']:.1f}"]


@table(
    "what is trained | BLEU, new domain: val | test | BLEU, old domain | trained parameters | "
    "memory of training, MiB | minutes | MB to deliver"
)
def adaptation(row: Row) -> Cells:
    scores = [f"{row[name]:.1f}" if name in row else "" for name in ("val_bleu", "bleu", "bleu_before")]
    cost = [f"{row['trained']:,}", f"{row['mebibytes']:,.0f}", f"{row['minutes']:.1f}"] if "trained" in row else []
    return [row["variant"], *scores, *(cost or [""] * 3), f"{row['megabytes']:.2f}"]


def students(rows: Sequence[Row]) -> str:
    """What is lost is counted from the first row, the teacher as its users run it."""
    lines = []
    for number, row in enumerate(rows):
        search = f"beam {row['beam']}" + (f", shortlist {row['shortlist']}" if row.get("shortlist") else "")
        lost = f"{rows[0]['bleu'] - row['bleu']:+.2f}" if number else ""
        lines.append([row["model"], system({"system": row["runtime"], **row}), search, f"{row['megabytes']:.1f}"])
        lines[-1] += [median(row, "sentences_per_second"), ratio(row, "ratios", "teacher")]
        lines[-1] += [f"{row['bleu']:.2f}", lost, f"{row['chrf']:.2f}"]
    headings = ["model", "run by", "search", "MB", "sentences/s", "this / first line", "BLEU", "BLEU lost", "chrF"]
    return markdown(headings, lines)


@table(
    "self-attention | parameters | cache, bytes a target token | cache, bytes a source token | decoding, tokens/s | "
    "decoding, this / multi-head | training, tokens/s | training, this / multi-head"
)
def attention_cache(row: Row) -> Cells:
    target, source = row["cache_bytes"]["target"], row["cache_bytes"]["source"]
    cache = [f"{target:,} ({row['cache_ratio']:.2f})", f"{source:,}"]
    kinds = ("decoding", "training")
    speeds = [part for kind in kinds for part in (median(row, kind), ratio(row, f"{kind}_ratios", "multi-head"))]
    return [row["kind"], f"{row['parameters'] / 1e6:.1f} M", *cache, *speeds]


@table(
    "what is wrong | pairs | scorer, below 0.5: recall | precision | scorer, 98% kept: recall | precision | "
    "translator, 98% kept: recall | lengths, 98% kept: recall | area: scorer | translator | lengths"
)
def pair_scorer(row: Row) -> Cells:
    columns = [("dropped", "half"), ("precision", "half"), ("dropped", "scorer"), ("precision", "scorer")]
    columns += [("dropped", "translator"), ("dropped", "lengths")]
    columns += [("area", name) for name in ("scorer", "translator", "lengths")]
    shares = [f"{100 * row[kind][name]:.0f}%" if name in row[kind] else "" for kind, name in columns]
    return [row["way"], f"{row['pairs']:,}", *shares]


@table(
    "format | texts | identity | read again | tags kept | tag in the right place | other words there | "
    "remarks on the file | flagged"
)
def documents(row: Row) -> Cells:
    checks = ["yes" if row[name] else "no" for name in ("identity", "well_formed")]
    tags = [row[name] for name in ("tags_kept", "right", "reworded")]
    shares = ["" if n is None else f"{100 * n / row['texts']:.0f}%" for n in tags]
    return [row["format"], row["texts"], *checks, *shares, row["left"], row["flagged"]]


@table(
    "clients | texts each | sentences/s | direct | service / direct | by processor time | "
    "ms, each waits for its answer (p50 / p95 / p99) | ms under load | ms, direct calls of one sentence | failed"
)
def serve_speed(row: Row) -> Cells:
    speeds = [f"{row[name]:,.0f}" for name in ("sentences_per_second", "direct_per_second")]
    shares = [f"{row[name]:.2f}" for name in ("share_of_direct", "processor_share")]
    times = [quantiles(row[name]) for name in ("times", "times_of_load", "direct_single")]
    return [row["clients"], row.get("texts", 1), *speeds, *shares, *times, row["failed"]]


@table(f"cache | requests | {' | '.join(f'MiB at {n}0%' for n in range(1, 11))} | failed")
def serve_memory(row: Row) -> Cells:
    return [row["cache"], f"{row['requests']:,}", *(f"{size:,}" for size in row["megabytes"]), row["failed"]]


@table(
    "clients | texts each | sentences/s, nmt | LibreTranslate | nmt / LibreTranslate | ms (p50 / p95), nmt | "
    "LibreTranslate"
)
def serve_peers(row: Row) -> Cells:
    """The service beside another one with the same API."""
    ours, theirs = row["sentences_per_second"], row["other_per_second"]
    times = [quantiles(row[name], "p50", "p95") for name in ("times", "other_times")]
    return [row["clients"], row.get("texts", 1), f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f}", *times]


@table("pairs | prepare: s | pairs/s | MiB | load: s | MiB | pairs/s in batches | datasets.map: s | MiB")
def prepare_speed(row: Row) -> Cells:
    made, start, mapped = row["prepare"], row["load"], row["map"]
    seconds = [f"{part['seconds']:.1f}" for part in (made, start, mapped)]
    speeds = [f"{part['pairs_a_second']:,.0f}" for part in (made, start)]
    of_start = [seconds[1], mebibytes(start), speeds[1]]
    return [f"{row['pairs']:,}", seconds[0], speeds[0], mebibytes(made), *of_start, seconds[2], mebibytes(mapped)]


@table("pairs | nmt.prepare: s (MiB) | Sockeye: s (MiB) | datasets.map: s (MiB)")
def prepare_peers(row: Row) -> Cells:
    parts = (row[name] for name in ("prepare", "sockeye", "map"))
    return [f"{row['pairs']:,}", *(f"{part['seconds']:.1f} ({mebibytes(part)})" for part in parts)]


@table("without | of 1,000 lines | most in | right translations lost, by kind")
def steps(row: Row) -> Cells:
    found = [(kind, right) for kind, (right, _) in row["kinds"].items() if right > 0][:4]
    worst = ", ".join(f"{kind} {right}%" for kind, right in found)
    return [row["step"], f"{row['of_1000']:.1f}", row["where"] if row["of_1000"] else "", worst]


TABLES |= {"decode_speed": decode_speed, "students": students, "documents_office": TABLES["documents"]}
