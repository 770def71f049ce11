"""One table for each benchmark: rows of a run flow in, Markdown flows out. To add one, add its function to `TABLES`."""

import re
import statistics
from collections.abc import Sequence

from benchmarks.rows import Row

NAMES = {"ctranslate2": "CTranslate2", "eole": "Eole", "torch": "PyTorch", "vnni": "VNNI", "float32": "fp32"}


def listed(names: Sequence[str]) -> str:
    """Names as in "a, b and c"."""
    return re.sub(", ([^,]*)$", r" and \1", ", ".join(names))


def markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table; columns that are empty in all lines are left out. Figures are aligned right."""
    kept = [i for i in range(len(headings)) if any(line[i] for line in lines)]
    figures = [all(re.match(r"[-−+\d*]|$", line[i]) for line in lines) for i in range(len(headings))]
    rows = [headings, ["---:" if is_figure else "---" for is_figure in figures], *lines]
    return "\n".join("| " + " | ".join(row[i] for i in kept) + " |" for row in rows)


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


def system(row: Row) -> str:
    """A name such as "CTranslate2 int8"."""
    dtype, _, extra = str(row["dtype"]).partition(":")
    name = f"{NAMES.get(row['system'], row['system'])} {NAMES.get(dtype, dtype)}"
    return f"{name}, {'CUDA graphs' if extra == 'graphs' else f'shortlist {extra}'}" if extra else name


def train_speed(rows: Sequence[Row]) -> str:
    lines = [
        [
            system(row),
            median(row, "sentences_per_second"),
            median(row, "target_tokens_per_second"),
            median(row, "peak_memory_mib"),
            *(f"{100 * row[name]['median']:.0f}%" if name in row else "" for name in ("peak_share", "whole_share")),
            ratio(row, "ratios", "nmt"),
            ratio(row, "token_ratios", "nmt"),
        ]
        for row in rows
    ]
    ours = "nmt / this, "
    return markdown(
        [
            "system",
            "sentences/s",
            "target tokens/s",
            "peak MiB",
            "of peak",
            "in a whole run",
            *(f"{ours}{x}" for x in ("sentences", "tokens")),
        ],
        lines,
    )


def decode_speed(rows: Sequence[Row]) -> str:
    ours = list(dict.fromkeys(name for row in rows for name in row.get("ratios", {})))
    titles = {name: system({"system": "nmt", "dtype": name}) for name in ours}
    lines = [
        [
            str(row["beam"]),
            str(row["batch"]),
            system(row) + (f" ({row['mode']})" if row.get("mode") else ""),
            median(row, "sentences_per_second"),
            median(row, "tokens_per_second"),
            f"{row['bleu']:.2f}" if "bleu" in row else "",
            *(ratio(row, "ratios", name) for name in ours),
        ]
        for row in sorted(rows, key=lambda row: (-row["beam"], -row["batch"]))
    ]
    against = [f"{title} / this" for title in titles.values()]
    return markdown(["beam", "batch", "system", "sentences/s", "tokens/s", "BLEU", *against], lines)


def real_text(rows: Sequence[Row]) -> str:
    def share(row: Row, name: str) -> str:
        """Percent of the lines; after an arrow, if an earlier run is known."""
        before = f"{100 * row['before'][name]:.0f} → " if "before" in row else ""
        return f"{before}{100 * row[name] / row['lines']:.0f}"

    figures = ("right", "right_flagged", "flagged", "silent")
    lines = [[row["kind"], str(row["lines"]), *(share(row, name) for name in figures)] for row in rows]
    return markdown(["kind", "lines", "right, %", "of these flagged", "wrong, flagged", "wrong, no flag"], lines)


def items(rows: Sequence[Row]) -> str:
    figures = ("right", "reworded", "wrong_place", "lost")
    lines = [
        [row["form"], str(row["lines"]), *(f"{100 * row[name] / row['lines']:.1f}" for name in figures)] for row in rows
    ]
    return markdown(["item", "lines", "right place, %", "other words there", "wrong place", "lost"], lines)


def terms(rows: Sequence[Row]) -> str:
    ways = {"none": "no terms", "must": "must", "hint": "hints"}

    def line(row: Row) -> list[str]:
        shares = [f"{100 * row[name]:.1f}" for name in ("met", "right")]
        figures = [*shares, f"{row['bleu']:.1f}", f"{row['seconds']:.0f}"]
        return [row["model"], ways[row["way"]], row["form"], str(row["lines"]), *figures]

    headings = ["model", "terms", "form", "lines", "met, %", "reference's form, %", "BLEU", "seconds"]
    return markdown(headings, [line(row) for row in rows])


def doors(rows: Sequence[Row]) -> str:
    lines = [[row["door"], row["model"], row["compared"], row["result"], str(row["sentences"])] for row in rows]
    return markdown(["door", "model", "compared", "result", "sentences"], lines)


def fuzz(rows: Sequence[Row]) -> str:
    figures = ("lines", "characters", "seconds", "peak_memory_mib", "failures")
    lines = [[row["job"], *(f"{row[name]:,.0f}" for name in figures)] for row in rows]
    return markdown(["job", "lines", "characters", "processor seconds", "peak MiB", "failures"], lines)


def bf16_loss(rows: Sequence[Row]) -> str:
    def line(row: Row) -> list[str]:
        apart = [bf16 - fp32 for bf16, fp32 in zip(row["bf16"], row["fp32"], strict=True)]
        means = [f"{statistics.mean(row[dtype]):.4f}" for dtype in ("fp32", "bf16")]
        each = ", ".join(f"{seed:+.4f}" for seed in apart)
        return [f"{row['updates']:,}", *means, f"{statistics.mean(apart):+.4f}", each]

    headings = ["updates", "fp32, mean of seeds", "bf16", "difference", "difference, each seed"]
    return markdown(headings, [line(row) for row in rows])


def precision(rows: Sequence[Row]) -> str:
    names = ("fp32", "bf16", "int8")
    lines = [
        [
            f"{row['parameters'] / 1e6:.1f} million, {row['width']} wide",
            str(row["beam"]),
            *(" / ".join(f"{row['speeds'][batch][name]:,.0f}" for name in names) for batch in ("1", "64")),
            " / ".join(f"{row['bleu'][name]:.2f}" for name in names),
        ]
        for row in rows
    ]
    each = "fp32 / bf16 / int8"
    return markdown(["model", "beam", f"single sentences/s, {each}", "in batches of 64", f"BLEU, {each}"], lines)


def quality(rows: Sequence[Row]) -> str:
    def over_seeds(row: Row, name: str, digits: int) -> str:
        """The mean over the seeds, and their range."""
        figures = row[name]["rounds"]
        mean = f"{statistics.mean(figures):.{digits}f}"
        return f"{mean} ({min(figures):.{digits}f} to {max(figures):.{digits}f})" if len(figures) > 1 else mean

    lines = [
        [
            row["variant"],
            f"{row['parameters'] / 1e6:.2f}",
            over_seeds(row, "bleu", 2),
            over_seeds(row, "chrf", 2),
            over_seeds(row, "nll", 3),
            over_seeds(row, "minutes", 0),
            *(median(row, f"{kind}_speed") for kind in ("training", "greedy", "beam_5")),
        ]
        for row in rows
    ]
    speeds = ["training, sentences/s", "greedy", "beam 5"]
    return markdown(["variant", "million parameters", "BLEU", "chrF", "nats/piece", "minutes", *speeds], lines)


def adaptation(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        scores = [f"{row[name]:.1f}" if name in row else "" for name in ("val_bleu", "bleu", "bleu_before")]
        cost = [f"{row['trained']:,}", f"{row['mebibytes']:,.0f}", f"{row['minutes']:.1f}"] if "trained" in row else []
        lines.append([row["variant"], *scores, *(cost or [""] * 3), f"{row['megabytes']:.2f}"])
    sets = ["BLEU, new domain: val", "test", "BLEU, old domain"]
    costs = ["trained parameters", "memory of training, MiB", "minutes", "MB to deliver"]
    return markdown(["what is trained", *sets, *costs], lines)


def students(rows: Sequence[Row]) -> str:
    first, lines = rows[0], []
    for row in rows:
        search = f"beam {row['beam']}" + (f", shortlist {row['shortlist']}" if row["shortlist"] else "")
        speed, factor = median(row, "sentences_per_second"), ratio(row, "ratios", "teacher")
        lost = "" if row is first else f"{first['bleu'] - row['bleu']:+.2f}"
        scores = [f"{row['bleu']:.2f}", lost, f"{row['chrf']:.2f}"]
        lines.append([row["model"], system({"system": row["runtime"], **row}), search, f"{row['megabytes']:.1f}"])
        lines[-1] += [speed, factor, *scores]
    headings = ["model", "run by", "search", "MB", "sentences/s", "this / first line", "BLEU", "BLEU lost", "chrF"]
    return markdown(headings, lines)


def experts_speed(rows: Sequence[Row]) -> str:
    kinds = {"training": "training", "rows_320": "decoding 320 rows", "rows_1": "decoding 1 row"}
    lines = []
    for row in rows:
        figures = [part for kind in kinds for part in (median(row, kind), ratio(row, f"{kind}_ratios", "experts"))]
        lines.append([row["system"], row["dtype"], f"{row['parameters'] / 1e6:.2f}", *figures])
    headings = [part for name in kinds.values() for part in (f"{name}, pieces/s", "experts / this")]
    return markdown(["feed-forward layers", "dtype", "million parameters", *headings], lines)


def attention_cache(rows: Sequence[Row]) -> str:
    lines = [
        [
            row["kind"],
            f"{row['parameters'] / 1e6:.1f} M",
            f"{row['cache_bytes']['target']:,} ({row['cache_ratio']:.2f})",
            f"{row['cache_bytes']['source']:,}",
            median(row, "decoding"),
            ratio(row, "decoding_ratios", "multi-head"),
            median(row, "training"),
            ratio(row, "training_ratios", "multi-head"),
        ]
        for row in rows
    ]
    cache = [f"cache, bytes a {side} token" for side in ("target", "source")]
    speeds = [f"{name}{of}" for name in ("decoding", "training") for of in (", tokens/s", ", this / multi-head")]
    return markdown(["self-attention", "parameters", *cache, *speeds], lines)


def pair_scorer(rows: Sequence[Row]) -> str:
    def percent(row: Row, kind: str, system: str) -> str:
        return f"{100 * row[kind][system]:.0f}%" if system in row[kind] else ""

    columns = {
        "scorer, below 0.5: recall": ("dropped", "half"),
        "precision": ("precision", "half"),
        "scorer, 98% kept: recall": ("dropped", "scorer"),
        "precision ": ("precision", "scorer"),
        "translator, 98% kept: recall": ("dropped", "translator"),
        "lengths, 98% kept: recall": ("dropped", "lengths"),
        "area: scorer": ("area", "scorer"),
        "translator": ("area", "translator"),
        "lengths": ("area", "lengths"),
    }
    lines = [[row["way"], f"{row['pairs']:,}", *(percent(row, *column) for column in columns.values())] for row in rows]
    return markdown(["what is wrong", "pairs", *(title.strip() for title in columns)], lines)


def documents(rows: Sequence[Row]) -> str:
    def share(row: Row, name: str) -> str:
        return "" if row[name] is None else f"{100 * row[name] / row['texts']:.0f}%"

    lines = [
        [
            row["format"],
            str(row["texts"]),
            "yes" if row["identity"] else "no",
            "yes" if row["well_formed"] else "no",
            *(share(row, name) for name in ("tags_kept", "right", "reworded")),
            str(row["left"]),
            str(row["flagged"]),
        ]
        for row in rows
    ]
    tags = ["tags kept", "tag in the right place", "other words there"]
    return markdown(["format", "texts", "identity", "read again", *tags, "remarks on the file", "flagged"], lines)


def serve_speed(rows: Sequence[Row]) -> str:
    def times(row: Row, name: str) -> str:
        return " / ".join(f"{row[name][part]:,.0f}" for part in ("p50", "p95", "p99"))

    lines = [
        [
            str(row["clients"]),
            str(row.get("texts", 1)),
            f"{row['sentences_per_second']:,.0f}",
            f"{row['direct_per_second']:,.0f}",
            f"{row['share_of_direct']:.2f}",
            f"{row['processor_share']:.2f}",
            times(row, "times"),
            times(row, "times_of_load"),
            times(row, "direct_single"),
            str(row["failed"]),
        ]
        for row in rows
    ]
    waits = ["ms, each waits for its answer (p50 / p95 / p99)", "ms under load", "ms, direct calls of one sentence"]
    return markdown(
        ["clients", "texts each", "sentences/s", "direct", "service / direct", "by processor time", *waits, "failed"],
        lines,
    )


def serve_memory(rows: Sequence[Row]) -> str:
    lines = [
        [row["cache"], f"{row['requests']:,}", *(f"{size:,}" for size in row["megabytes"]), str(row["failed"])]
        for row in rows
    ]
    return markdown(["cache", "requests", *(f"MiB at {n}0%" for n in range(1, 11)), "failed"], lines)


def serve_peers(rows: Sequence[Row]) -> str:
    """The service beside another one with the same API."""
    lines = [
        [
            str(row["clients"]),
            str(row.get("texts", 1)),
            f"{row['sentences_per_second']:,.0f}",
            f"{row['other_per_second']:,.0f}",
            f"{row['sentences_per_second'] / row['other_per_second']:.1f}",
            *(" / ".join(f"{row[name][part]:,.0f}" for part in ("p50", "p95")) for name in ("times", "other_times")),
        ]
        for row in rows
    ]
    times = ["ms (p50 / p95), nmt", "LibreTranslate"]
    return markdown(
        ["clients", "texts each", "sentences/s, nmt", "LibreTranslate", "nmt / LibreTranslate", *times], lines
    )


def prepare_speed(rows: Sequence[Row]) -> str:
    def line(row: Row) -> list[str]:
        made, start, mapped = row["prepare"], row["load"], row["map"]
        memory = [f"{part['memory'] / 2**20:,.0f}" for part in (made, start, mapped)]
        speeds = [f"{part['pairs_a_second']:,.0f}" for part in (made, start)]
        seconds = [f"{part:.1f}" for part in (made["seconds"], start["seconds"], mapped["seconds"])]
        cells = [seconds[0], speeds[0], memory[0], seconds[1], memory[1], speeds[1], seconds[2], memory[2]]
        return [f"{row['pairs']:,}", *cells]

    headings = [
        "pairs",
        "prepare: s",
        "pairs/s",
        "MiB",
        "load: s",
        "MiB",
        "pairs/s in batches",
        "datasets.map: s",
        "MiB",
    ]
    return markdown(headings, [line(row) for row in rows])


def prepare_peers(rows: Sequence[Row]) -> str:
    names = {"prepare": "nmt.prepare", "sockeye": "Sockeye", "map": "datasets.map"}

    def line(row: Row) -> list[str]:
        return [
            f"{row['pairs']:,}",
            *(f"{row[key]['seconds']:.1f} ({row[key]['memory'] / 2**20:,.0f})" for key in names),
        ]

    return markdown(["pairs", *(f"{name}: s (MiB)" for name in names.values())], [line(row) for row in rows])


def steps(rows: Sequence[Row]) -> str:
    def worst(row: Row) -> str:
        found = [(kind, right) for kind, (right, _) in row["kinds"].items() if right > 0][:4]
        return ", ".join(f"{kind} {right}%" for kind, right in found)

    lines = [[row["step"], f"{row['of_1000']:.1f}", row["where"] if row["of_1000"] else "", worst(row)] for row in rows]
    return markdown(["without", "of 1,000 lines", "most in", "right translations lost, by kind"], lines)


TABLES = {
    table.__name__: table
    for table in (
        train_speed,
        decode_speed,
        real_text,
        items,
        terms,
        doors,
        fuzz,
        bf16_loss,
        precision,
        quality,
        experts_speed,
        attention_cache,
        pair_scorer,
        documents,
        prepare_speed,
        prepare_peers,
        serve_speed,
        serve_memory,
        serve_peers,
        students,
        adaptation,
        steps,
    )
} | {"documents_office": documents}
