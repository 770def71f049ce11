"""One table for each benchmark: rows of a run flow in, Markdown flows out.

A function with the name of the benchmark gives the cells of a row; its headings stand above it.
"""

import re
import statistics
from collections.abc import Callable, Iterable, Sequence

from benchmarks.rows import Row

NAMES = {
    "ctranslate2": "CTranslate2",
    "eole": "Eole",
    "joeynmt": "JoeyNMT",
    "torch": "PyTorch",
    "vnni": "VNNI",
    "float32": "fp32",
}
TABLES: dict[str, Callable[[Sequence[Row]], str]] = {}
Cells = list[object]
LOSS = 9.0  # chrF: a kind of line that loses less in all languages isn't shown


def table(headings: str) -> Callable[[Callable[[Row], Cells]], Callable[[Row], Cells]]:
    """Makes the table of a benchmark from the function with its name."""

    def register(cells: Callable[[Row], Cells]) -> Callable[[Row], Cells]:
        TABLES[cells.__name__] = lambda rows: markdown(headings, map(cells, rows))
        return cells

    return register


def markdown(heading: str, lines: Iterable[Iterable[object]]) -> str:
    """A table; columns that are empty in all lines are left out. Figures are aligned right. Between the headings stands
    " | "."""
    headings = heading.split(" | ")
    texts = [[str(cell) for cell in line] for line in lines]
    kept = [i for i in range(len(headings)) if any(line[i] for line in texts)]
    figures = [all(re.match(r"[-−+\d*]|$", line[i]) for line in texts) for i in range(len(headings))]
    rows = [headings, ["---:" if is_figure else "---" for is_figure in figures], *texts]
    return "\n".join("| " + " | ".join(row[i] for i in kept) + " |" for row in rows)


def machine(run: Row) -> str:
    has = run["machine"]
    found = ["AVX-512" if has["avx512"] else "AVX2", *(NAMES.get(name, name) for name in ("bf16", "vnni") if has[name])]
    return ", ".join([has.get("gpu") or has["cpu"] or "CPU", f"{has['cores']} cores", *found])


def versions(run: Row) -> str:
    return ", ".join(f"{NAMES.get(name, name)} {version}" for name, version in run["versions"].items())


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


def quantiles(times: dict[str, float]) -> str:
    return " / ".join(f"{times[name]:,.0f}" for name in ("p50", "p95", "p99"))


def mebibytes(part: Row) -> str:
    return f"{part['memory'] / 2**20:,.0f}"


EXTRAS = {"ids": "ids to ids", "pytorch": "PyTorch", "patience": "searching as long as nmt"}


def system(row: Row) -> str:
    """A name such as "CTranslate2 int8"."""
    dtype, _, extra = str(row["dtype"]).partition(":")
    name = f"{NAMES.get(row['system'], row['system'])} {NAMES.get(dtype, dtype)}"
    return f"{name}, {EXTRAS.get(extra, f'shortlist {extra}')}" if extra else name


@table("file | MB | memory: MB | search | speed | BLEU | lines as nmt's")
def one_file(row: Row) -> Cells:
    file = " ".join([row["format"], row["quantization"]])
    unit = "words/s" if "words_per_s" in row else "sentences/s"
    speed = f"{median(row, unit.replace('/', '_per_'))} {unit}"
    scores = [f"{row['bleu']:.1f}" if "bleu" in row else "", f"{row['equal']} of {row['lines']:,}"]
    return [file, row["megabytes"], row.get("memory", ""), row["search"], speed, *scores]


@table("system | sentences/s | target pieces/s | peak MiB | of peak | nmt / this, sentences | nmt / this, pieces")
def train_speed(row: Row) -> Cells:
    figures = [median(row, name) for name in ("sentences_per_second", "target_tokens_per_second", "peak_memory_mib")]
    share = f"{100 * row['peak_share']['median']:.0f}%" if "peak_share" in row else ""
    return [system(row), *figures, share, ratio(row, "ratios", "nmt"), ratio(row, "token_ratios", "nmt")]


def decode_speed(rows: Sequence[Row]) -> str:
    """The speed of nmt in int8, its fastest way, is set beside that of each row."""
    lines = [
        [
            row["beam"],
            system(row),
            median(row, "sentences_per_second"),
            f"{row['bleu']:.2f}" if "bleu" in row else "",
            ratio(row, "ratios", "int8"),
        ]
        for row in sorted(rows, key=lambda row: (-row["beam"], -row["batch"]))
    ]
    return markdown("beam | system | sentences/s | BLEU | nmt int8 / this", lines)


def real_text(rows: Sequence[Row]) -> str:
    """Kinds with equal figures share a line; of those that lose nothing it has only the number."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        shares = (f"{100 * row[name] / row['lines']:.0f}" for name in ("right", "right_flagged", "flagged", "silent"))
        alike.setdefault(tuple(shares), []).append(row["kind"])
    perfect = alike.pop(("100", "0", "0", "0"), [])
    lines = [["; ".join(kinds), *shares] for shares, kinds in alike.items()]
    lines += [[f"each other kind ({len(perfect)})", "100", "0", "0", "0"]] if perfect else []
    return markdown("kinds | right, % | of these flagged | wrong, flagged | wrong, no flag", lines)


def real_lines(rows: Sequence[Row]) -> str:
    """The judgements of each kind of text and of each language, in percent of its lines."""
    groups: dict[str, list[Row]] = {}
    for name in ("kind", "language"):
        for row in rows:
            groups.setdefault(row[name], []).append(row)
    lines = []
    for name, group in [*groups.items(), ("all", list(rows))]:
        verdicts = [
            f"{row['judgement']}{' flagged' * (row['judgement'] == 'wrong' and bool(row['flags']))}" for row in group
        ]
        shares = [verdicts.count(name) for name in ("right", "small", "wrong flagged", "wrong")]
        lines.append([name, len(group), *(f"{100 * n / len(group):.0f}" for n in shares)])
    return markdown("text | lines | right, % | small fault | wrong, flagged | wrong, no flag", lines)


def any_language(rows: Sequence[Row]) -> str:
    """The chrF that each kind of line loses in each language, if several have it; of those that lose little, only their
    number."""
    languages, kinds = (list(dict.fromkeys(row[name] for row in rows)) for name in ("languages", "kind"))
    lost = {(row["kind"], row["languages"]): row["plain"] - row["chrf"] for row in rows}
    of_plain = [row["plain"] for row in rows if row["kind"] == "plain"]
    lines = [["(chrF of plain lines)", *(f"{plain:.1f}" for plain in of_plain)]]
    cells = {kind: [lost.get((kind, language)) for language in languages] for kind in kinds}
    least = min(2, len(languages))
    several = {kind: found for kind, found in cells.items() if sum(x is not None for x in found) >= least}
    shown = {kind: found for kind, found in several.items() if max(x for x in found if x is not None) >= LOSS}
    for kind, found in shown.items():
        lines.append([kind, *("" if x is None else f"{x:+.1f}" for x in found)])
    lines.append([f"{len(several) - len(shown)} other kinds: below {LOSS:g}", *[""] * len(languages)])
    return markdown(" | ".join(["loss of chrF", *languages]), lines)


@table("model | terms | form | lines | met, % | reference's form, % | BLEU | seconds")
def terms(row: Row) -> Cells:
    way = {"none": "no terms", "must": "must", "hint": "hints"}[row["way"]]
    shares = [f"{100 * row[name]:.1f}" for name in ("met", "right")]
    return [row["model"], way, row["form"], row["lines"], *shares, f"{row['bleu']:.1f}", f"{row['seconds']:.0f}"]


def doors(rows: Sequence[Row]) -> str:
    """A line for each conversion and model; of several beam searches, that with the fewest equal translations."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        figures = found.setdefault((row["door"], row["model"]), {})
        kind = next((kind for kind in ("greedy", "beam") if row["compared"].startswith(kind)), "largest")
        figures[kind] = min(figures.get(kind, row["result"]), row["result"], key=lambda text: float(text.rstrip("%")))
    lines = [[*names, *(f.get(kind, "") for kind in ("largest", "greedy", "beam"))] for names, f in found.items()]
    return markdown("conversion | model | log-probabilities differ by at most | greedy: equal | beam: equal", lines)


def fuzz(rows: Sequence[Row]) -> str:
    """All jobs together."""
    sums = [f"{sum(row[name] for row in rows):,.0f}" for name in ("lines", "characters", "seconds", "failures")]
    cells = [len(rows), *sums, f"{max(row['peak_memory_mib'] for row in rows):,.0f}"]
    return markdown("jobs | lines | characters | processor seconds | failures | peak MiB", [cells])


@table("model | beam | single, sentences/s: fp32 / bf16 / int8 | in batches of 64 | BLEU | lines as PyTorch's fp32, %")
def precision(row: Row) -> Cells:
    names = ("fp32", "bf16", "int8")
    speeds = [" / ".join(f"{row['speeds'][batch][name]:,.0f}" for name in names) for batch in ("1", "64")]
    bleu, same = (" / ".join(f"{row[kind][name]:.{n}f}" for name in names) for kind, n in (("bleu", 2), ("same", 1)))
    return [f"{row['parameters'] / 1e6:.1f} million, {row['width']} wide", row["beam"], *speeds, bleu, same]


@table("variant | million parameters | BLEU | chrF | nats/piece | training, sentences/s | greedy | beam 5")
def quality(row: Row) -> Cells:
    digits = {"bleu": 2, "chrf": 2, "nll": 3}
    figures = [over_seeds(row, name, n) for name, n in digits.items()]
    speeds = [median(row, f"{kind}_speed") for kind in ("training", "greedy", "beam_5")]
    return [row["variant"], f"{row['parameters'] / 1e6:.2f}", *figures, *speeds]


@table("command | test set | BLEU | chrF | exact, % | steps | minutes | folder, MB")
def runs(row: Row) -> Cells:
    """What a training gave, and what it cost; minutes if they were measured."""
    scores = [f"{row[name]:.1f}" for name in ("bleu", "chrf", "exact")]
    minutes = f"{row['minutes']:.0f}" if "minutes" in row else ""
    test = f"{row['corpus']} {row['test']}, {row['sentences']:,} sentences"
    name = f"`{row['name']}`" + (f", {row['models']} models together" if "models" in row else "")
    return [name, test, *scores, f"{row['steps']:,}", minutes, f"{row['megabytes']:.0f}"]


@table("corpus | direction | pairs | system | minutes of training, in all | BLEU of test | chrF of test")
def small_corpora_peers(row: Row) -> Cells:
    times = f"{row['minutes']:g}, {row['whole']:.1f}"
    scores = [f"{row[name]:.1f}" for name in ("bleu", "chrf")]
    return [
        row["corpus"],
        row["direction"],
        f"{row['pairs']:,}",
        NAMES.get(row["system"], row["system"]),
        times,
        *scores,
    ]


@table("what is trained | BLEU, new domain: val | test | BLEU, old domain | memory of training, MiB | MB to deliver")
def adaptation(row: Row) -> Cells:
    scores = [f"{row[name]:.1f}" if name in row else "" for name in ("val_bleu", "bleu", "bleu_before")]
    memory = f"{row['mebibytes']:,.0f}" if "mebibytes" in row else ""
    return [row["variant"], *scores, memory, f"{row['megabytes']:.2f}"]


def students(rows: Sequence[Row]) -> str:
    """What is lost is counted from the first row, the teacher as its users run it."""
    lines = []
    for number, row in enumerate(rows):
        lost = f"{rows[0]['bleu'] - row['bleu']:+.2f}" if number else ""
        lines.append([row["model"], system({"system": row["runtime"], **row}), row["beam"], f"{row['megabytes']:.1f}"])
        lines[-1] += [median(row, "sentences_per_second"), ratio(row, "ratios", "teacher"), f"{row['bleu']:.2f}", lost]
    return markdown("model | run by | beam | MB | sentences/s | this / first line | BLEU | BLEU lost", lines)


@table(
    "self-attention | cache, bytes a target piece | cache, bytes a source piece | decoding, pieces/s | "
    "decoding, this / multi-head | training, this / multi-head"
)
def attention_cache(row: Row) -> Cells:
    target, source = row["cache_bytes"]["target"], row["cache_bytes"]["source"]
    cache = [f"{target:,} ({row['cache_ratio']:.2f})", f"{source:,}"]
    times = [ratio(row, f"{kind}_ratios", "multi-head") for kind in ("decoding", "training")]
    return [row["kind"], *cache, median(row, "decoding"), *times]


@table("what is wrong | pairs | scorer, below 0.5 | scorer, 98% kept | translator, 98% kept | lengths, 98% kept")
def pair_scorer(row: Row) -> Cells:
    """The share of the false pairs that is dropped."""
    shares = [f"{100 * row['dropped'][name]:.0f}%" for name in ("half", "scorer", "translator", "lengths")]
    return [row["way"], f"{row['pairs']:,}", *shares]


def documents(rows: Sequence[Row]) -> str:
    """Formats with equal figures share a line."""

    def figures(row: Row) -> tuple[str, ...]:
        checks = ["yes" if row[name] else "no" for name in ("identity", "well_formed")]
        tags = [row[name] for name in ("tags_kept", "right", "reworded")]
        shares = ["" if n is None else f"{100 * n / row['texts']:.0f}%" for n in tags]
        return (str(row["texts"]), *checks, *shares, str(row["left"]))

    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        alike.setdefault(figures(row), []).append(row["format"])
    headings = "formats | texts | identity | read again | tags kept | right place | other words there | remarks"
    return markdown(headings, ([", ".join(names), *found] for found, names in alike.items()))


@table(
    "clients | texts each | sentences/s | direct | service / direct | by processor time | "
    "ms, each waits for its answer (p50 / p95 / p99) | ms under load | ms, direct calls of one sentence | failed"
)
def serve_speed(row: Row) -> Cells:
    speeds = [f"{row[name]:,.0f}" for name in ("sentences_per_second", "direct_per_second")]
    shares = [f"{row[name]:.2f}" for name in ("share_of_direct", "processor_share")]
    times = [quantiles(row[name]) for name in ("times", "times_of_load", "direct_single")]
    return [row["clients"], row.get("texts", 1), *speeds, *shares, *times, row["failed"]]


@table("pairs | prepare: s | MiB | load: s | MiB")
def prepare_speed(row: Row) -> Cells:
    parts = [cell for name in ("prepare", "load") for cell in (f"{row[name]['seconds']:.1f}", mebibytes(row[name]))]
    return [f"{row['pairs']:,}", *parts]


def steps(rows: Sequence[Row]) -> str:
    """The steps without which something is lost."""
    lines = []
    for row in (row for row in rows if row["of_1000"]):
        worst = [f"{kind} {right}%" for kind, (right, *_) in row["kinds"].items() if right > 0]
        lines.append([row["step"], f"{row['of_1000']:.1f}", row["where"], "; ".join(worst[:2])])
    return markdown("without | of 1,000 lines | most in | right translations lost, by kind", lines)


WITH_ALL_ROWS = (any_language, decode_speed, real_lines, real_text, doors, fuzz, students, documents, steps)
TABLES["prepare_peers"] = TABLES["prepare_speed"]
TABLES |= {function.__name__: function for function in WITH_ALL_ROWS}
