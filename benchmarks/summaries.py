"""Tables of the README and of the start of benchmarks/README.md: rows of several results flow in, Markdown flows out.

A function has the name of its table; its argument is the folder of the results.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.rows import Row, all_rows, last_run
from benchmarks.tables import machine, markdown, system, versions


class Comparison(NamedTuple):
    """A figure of nmt beside that of another system: "how" says what both did."""

    how: str
    ours: Row
    theirs: Row
    name: str  # of the figure
    less_is_better: bool = False

    @property
    def ratio(self) -> float:
        """Above 1: nmt is better. Of rounds, the median of the ratios within a round."""
        ours, theirs = self.ours[self.name], self.theirs[self.name]
        if isinstance(ours, dict):
            rounds = [a / b for a, b in zip(ours["rounds"], theirs["rounds"], strict=True)]
            ratio = sorted(rounds)[len(rounds) // 2]
        else:
            ratio = ours / theirs
        return 1 / ratio if self.less_is_better else ratio


def rivals(results: Path) -> str:
    """nmt beside other systems: speed, memory and quality, each in its fastest mode."""
    return compared(comparisons(results), results)


def worse(results: Path) -> str:
    """What others do better."""
    return compared([found for found in comparisons(results) if found.ratio < 1], results)


def compared(found: Sequence[Comparison], results: Path) -> str:
    headings = ["measured", "nmt", "the other system", "nmt is better by"]
    lines = [[c.how, shown(c.ours[c.name]), f"{other(c.theirs)}: {shown(c.theirs[c.name])}", times(c)] for c in found]
    return f"{markdown(headings, lines)}\n\n{origins([row for c in found for row in (c.ours, c.theirs)])}"


def shown(figure: object) -> str:
    number = float(figure["median"] if isinstance(figure, dict) else figure)  # type: ignore[arg-type]
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2g}"


def times(comparison: Comparison) -> str:
    """The ratio; bold where nmt is worse."""
    return f"{comparison.ratio:.2f}" if comparison.ratio >= 1 else f"**{comparison.ratio:.2f}**"


def other(row: Row) -> str:
    return system(row) if "dtype" in row else str(row["system"])


def comparisons(results: Path) -> list[Comparison]:
    """All that rows give, with the best of the others for each figure."""
    found = list[Comparison]()
    for name, how in (("train_speed", "fp32, two threads"), ("train_bf16", "bf16, one thread")):
        ours, *others = last_run(results / f"{name}.jsonl")
        fastest = max(others, key=lambda row: float(row["target_tokens_per_second"]["median"]))
        least = min(others, key=lambda row: float(row["peak_memory_mib"]["median"]))
        found.append(Comparison(f"training, {how}: target pieces/s", ours, fastest, "target_tokens_per_second"))
        found.append(Comparison(f"training, {how}: memory, MiB", ours, least, "peak_memory_mib", True))
    models = {"decode_small": "1.8 million parameters", "decode_reference": "7.6 million parameters", "batch_1": ""}
    for name, model in models.items():
        for beam in (5, 1):
            rows = [row for row in last_run(results / f"{name}.jsonl") if row["beam"] == beam]
            ours, theirs = (
                max((row for row in rows if (row["system"] == "nmt") == is_ours), key=speed_of)
                for is_ours in (True, False)
            )
            search = f"beam {beam}" if beam > 1 else "greedy"
            how = f"translating, {search}, {model or 'one sentence at a time'}: "
            found.append(Comparison(f"{how}sentences/s", ours, theirs, "sentences_per_second"))
            if name != "batch_1":
                found.append(Comparison(f"{how}BLEU", ours, theirs, "bleu"))
    for row in last_run(results / "serve_peers.jsonl"):
        clients = f"{row['clients']} client{'s' if row['clients'] > 1 else ''}"
        ours = row | {"speed": row["sentences_per_second"]}
        theirs = row | {"speed": row["other_per_second"], "system": "LibreTranslate"}
        how = f"service, {clients}, {row['texts']} text{'s' if row['texts'] > 1 else ''} each: sentences/s"
        found.append(Comparison(how, ours, theirs, "speed"))
    teacher, *systems = last_run(results / "students.jsonl")
    exported = next(row for row in systems if (row["model"], row["runtime"]) == ("teacher", "ctranslate2"))
    sizes = teacher | {"system": "nmt"}, exported | {"system": "ctranslate2"}
    found.append(Comparison("the 1.8 million parameters on the disk: MB", *sizes, "megabytes", True))
    row = last_run(results / "prepare_peers.jsonl")[-1]
    for name, how in (("seconds", "seconds"), ("memory", "memory, MiB")):
        ours, theirs = (
            row | {"part": row[part][name] / (2**20 if name == "memory" else 1), "system": part.capitalize()}
            for part in ("prepare", "sockeye")
        )
        found.append(Comparison(f"preparing {row['pairs']:,} pairs: {how}", ours, theirs, "part", True))
    return found


def speed_of(row: Row) -> float:
    return float(row["sentences_per_second"]["median"])


def results_of_runs(results: Path) -> str:
    """What the commands of the README give: the last row of each, and the run that the pictures show."""
    rows = {row["name"]: row for row in all_rows(results / "runs.jsonl")}
    run = last_run(results / "multi30k_run.jsonl")[-1]
    [translated] = [
        row
        for row in last_run(results / "decode_small.jsonl")
        if (row["system"], row["dtype"], row["beam"]) == ("nmt", "fp32", 5)
    ]
    pictured = {"test": "multi30k test_2016_flickr", "bleu": translated["bleu"], "steps": run["step"]}
    lines = [(row["name"], row | {"test": f"{row['corpus']} {row['test']}"}) for row in rows.values()]
    lines.append(("make train-de-en CORPUS=multi30k", run | {"bleu": 0} | pictured))
    headings = [
        "command",
        "1,000 sentences of",
        "BLEU",
        "chrF",
        "steps",
        "minutes",
        "memory, MiB",
        "folder, MB",
        "machine",
    ]
    cells = [
        [
            f"`{name}`",
            row["test"],
            f"{row['bleu']:.1f}",
            f"{row['chrf']:.1f}" if "chrf" in row else "–",
            f"{row['steps']:,}",
            f"{row['minutes']:.0f}" if "minutes" in row else "–",
            f"{row['peak_memory_mib']:,}" if "peak_memory_mib" in row else "–",
            f"{row['megabytes']:.0f}" if "megabytes" in row else "–",
            f"{machine(row)}, {row['date'][:10]}",
        ]
        for name, row in lines
    ]
    return markdown(headings, cells)


def origins(rows: Sequence[Row]) -> str:
    """The machines, versions and dates of rows."""
    machines = dict.fromkeys(machine(row) for row in rows)
    parts = dict.fromkeys(part for row in rows for part in versions(row).split(", "))
    dates = sorted({row["date"][:10] for row in rows})
    return f"{'; '.join(machines)}; {', '.join(parts)}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."


SUMMARIES: dict[str, Callable[[Path], str]] = {"rivals": rivals, "worse": worse, "results": results_of_runs}
