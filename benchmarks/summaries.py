"""Tables of the README and of the start of benchmarks/README.md: rows of several results flow in, Markdown flows out.

A function has the name of its table; its argument is the folder of the results.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from benchmarks.rows import Row, all_rows, last_run, ratios
from benchmarks.tables import machine, markdown, system, versions

TOOLKITS = {"nmt": "nmt", "transformers": "MarianMT", "joeynmt": "JoeyNMT", "eole": "Eole"}


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
        ratio = ratios(ours["rounds"], theirs["rounds"])["median"] if isinstance(ours, dict) else ours / theirs
        return 1 / ratio if self.less_is_better else ratio


def rivals(results: Path) -> str:
    """nmt beside other systems: speed, memory and quality, each in its fastest mode."""
    return compared(comparisons(results))


def worse(results: Path) -> str:
    """What others do better: of each system and figure the worst for nmt."""
    worst: dict[tuple[str, str], Comparison] = {}
    for found in comparisons(results):
        known = worst.get(kind := (found.theirs["system"], found.name), found)
        worst[kind] = min(known, found, key=lambda comparison: comparison.ratio)
    return compared([found for found in worst.values() if found.ratio < 1])


def compared(found: Sequence[Comparison]) -> str:
    lines = [[c.how, shown(c.ours[c.name]), f"{other(c.theirs)}: {shown(c.theirs[c.name])}", times(c)] for c in found]
    rows = [row for c in found for row in (c.ours, c.theirs)]
    return with_origins("measured | nmt | the other system | nmt is … times as good", lines, rows)


def shown(figure: object) -> str:
    number = float(figure["median"] if isinstance(figure, dict) else figure)  # type: ignore[arg-type]
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2g}"


def times(comparison: Comparison) -> str:
    """The ratio; bold where nmt is worse."""
    return f"{comparison.ratio:.2f}" if comparison.ratio >= 1 else f"**{comparison.ratio:.2f}**"


def other(row: Row) -> str:
    return system(row) if "dtype" in row else TOOLKITS.get(name := str(row["system"]), name)


def comparisons(results: Path) -> list[Comparison]:
    """All that rows give, with the best of the others for each figure."""
    found = after_equal_time(results / "small_corpora_peers.jsonl")
    for name, how in (("train_speed", "fp32, two threads"), ("train_bf16", "bf16, two threads")):
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
            row | {name: row[part][name] / (2**20 if name == "memory" else 1), "system": part.capitalize()}
            for part in ("prepare", "sockeye")
        )
        found.append(Comparison(f"preparing {row['pairs']:,} pairs: {how}", ours, theirs, name, True))
    return found


def gpu(results: Path) -> str:
    """nmt beside other systems on a GPU."""
    ours, theirs = last_run(results / "train_gpu.jsonl")
    found = [Comparison("training, base model: target pieces/s", ours, theirs, "target_tokens_per_second")]
    rows = all_rows(results / "decode_gpu.jsonl")
    for ours in (row for row in rows if row["system"] == "nmt"):
        theirs = max((r for r in rows if r["system"] != "nmt" and r["batch"] == ours["batch"]), key=speed_of)
        way = "ids to ids" if ours["dtype"].endswith(":ids") else "text to text"
        how = f"beam 5, batches of {ours['batch']}, {way}: sentences/s"
        found.append(Comparison(how, ours, theirs, "sentences_per_second"))
    return compared(found)


Task = tuple[str, str, int, float]
"""Corpus, direction, number of pairs, minutes of training."""


def after_equal_time(file: Path) -> list[Comparison]:
    """What corpora gave nmt and the best of the toolkits in the same minutes."""
    found = list[Comparison]()
    for (corpus, direction, pairs, minutes), (ours, *others) in small_corpora(file):
        how = f"{minutes:g} minutes of training, {corpus}, {direction}, {pairs:,} pairs: chrF"
        if has_toolkits(others):
            found.append(Comparison(how, ours, max(others, key=lambda row: float(row["chrf"])), "chrf"))
    return found


def small_corpora(file: Path) -> Iterator[tuple[Task, list[Row]]]:
    """The newest row of nmt and of each other system for each task."""
    tasks: dict[Task, dict[str, Row]] = {}
    for row in all_rows(file):
        task = row["corpus"], row["direction"], row["pairs"], row["minutes"]
        tasks.setdefault(task, {})[row["system"]] = row
    for task, systems in tasks.items():
        if "nmt" in systems:
            yield task, [systems.pop("nmt"), *systems.values()]


def has_toolkits(rows: Sequence[Row]) -> bool:
    return any(row["system"] not in ("nmt", "transformers") for row in rows)


def equal_time(results: Path, toolkits: bool = True) -> str:
    """BLEU and chrF of nmt and others after the same minutes of training: of toolkits, or of MarianMT alone."""
    compared = [(task, rows) for task, rows in small_corpora(results / "small_corpora_peers.jsonl") if len(rows) > 1]
    found = [(task, rows) for task, rows in compared if has_toolkits(rows) == toolkits]
    names = [name for name in TOOLKITS if any(row["system"] == name for _, rows in found for row in rows)]
    lines = []
    for (corpus, direction, pairs, minutes), rows in found:
        scores = {row["system"]: f"{row['bleu']:.1f}, {row['chrf']:.1f}" for row in rows}
        lines.append([corpus, direction, f"{pairs:,}", f"{minutes:g}", *(scores.get(name, "") for name in names)])
    headings = ["corpus", "direction", "pairs", "minutes", *(TOOLKITS[name] for name in names)]
    return with_origins(" | ".join(headings), lines, [row for _, rows in found for row in rows])


def speed_of(row: Row) -> float:
    return float(row["sentences_per_second"]["median"])


PUBLISHED = {  # figures of translators from scratch, on the test sets of these directions
    "chr-en": ("BLEU", 15.8, "Zhang et al. 2020"),
    "en-chr": ("BLEU", 12.7, "Zhang et al. 2020"),
    "es-gn": ("chrF", 22.0, "AmericasNLP 2021"),
    "es-shp": ("chrF", 13.9, "AmericasNLP 2021"),
}


def published(results: Path) -> str:
    """nmt beside published figures: the mean of several seeds, and their models together, or the longest training."""
    lines, rows = list[list[str]](), list[Row]()
    for direction, (metric, figure, source) in PUBLISHED.items():
        last = f"{figure} ({source})"
        if direction in CHEROKEE:
            seeds, together = seeds_and_together(results, CHEROKEE[direction])
            lines.append([direction, f"mean of {len(seeds)}", metric, f"{mean_of(seeds)['bleu']:.1f}", last])
            lines.append([direction, f"{together['models']} together", metric, f"{together['bleu']:.1f}", last])
            rows += [*seeds, together]
        else:
            row = longest(results, direction)
            lines.append([direction, f"{row['minutes']:g} minutes", metric, f"{row[metric.lower()]:.1f}", last])
            rows.append(row)
    return with_origins("direction | models | metric | nmt | published", lines, rows)


def longest(results: Path, direction: str) -> Row:
    """Of the longest trainings of nmt for a direction, the newest."""
    rows = [row for row in all_rows(results / "small_corpora_peers.jsonl") if row["system"] == "nmt"][::-1]
    return max((row for row in rows if row["direction"] == direction), key=lambda row: float(row["minutes"]))


IN_README = ("ja-en",)
CHEROKEE = {
    "chr-en": 'make train-chr-en CORPUS=chr-en ARGS="--training.max_steps 7000"',
    "en-chr": 'make train-en-chr CORPUS=chr-en ARGS="--training.max_steps 7000 --training.denoise_steps 2100"',
}


def results_of_runs(results: Path) -> str:
    """What the commands of the README give: seeds of Multi30k's recipes, other languages, and the phrasebook."""
    name = "make train-de-en CORPUS=multi30k"
    named = named_runs(results)
    short, long = named[name], named[f'{name} ARGS="--config recipes/multi30k-long.yaml --name long"']
    cherokee, together = seeds_and_together(results, CHEROKEE["chr-en"])
    rows = [mean_of(short), mean_of(long), mean_of(cherokee)]
    rows.append(together)
    for direction in IN_README:
        row = longest(results, direction)
        name = f'make train-{direction} CORPUS={row["corpus"]} ARGS="--training.max_minutes {row["minutes"]:.0f}"'
        rows.append(row | {"name": name, "test": "test", "precision": f"{automatic(row)}, {row['threads']} thread"})
    rows.append(named["make train-de-en CORPUS=phrasebook"][-1])
    forms = {"bleu": "{:.1f}", "chrf": "{:.1f}", "precision": "{}", "steps": "{:,}", "minutes": "{:.0f}"}
    lines = [
        [
            f"`{row['name']}`" if "models" not in row else f"{row['models']} such models together",
            f"{row['corpus']} {row['test']}",
            *(form.format(row[name]) if name in row else "" for name, form in forms.items()),
        ]
        for row in rows
    ]
    headings = "command | test set | BLEU | chrF | computed in | steps | minutes"
    return with_origins(headings, lines, [*rows, *short, *long, *cherokee])


def named_runs(results: Path) -> dict[str, list[Row]]:
    """The newest row of each seed of finished runs, by what the tables call them."""
    newest = {(row["name"], row.get("seed")): row for row in all_rows(results / "runs.jsonl")}
    named: dict[str, list[Row]] = {}
    for row in newest.values():
        named.setdefault(row["name"], []).append(row)
    return named


def seeds_and_together(results: Path, name: str) -> tuple[list[Row], Row]:
    """The rows of the seeds of a training, and the one of their models together."""
    rows = named_runs(results)[name]
    [together] = (row for row in rows if "models" in row)
    return [row for row in rows if "models" not in row], together


def mean_of(seeds: Sequence[Row]) -> Row:
    """A row with the mean scores of several seeds."""
    return seeds[-1] | {score: mean(row[score] for row in seeds) for score in ("bleu", "chrf")}


def automatic(row: Row) -> str:
    """The precision that auto stands for on the machine of a row."""
    return "bf16" if row["machine"]["bf16"] else "fp32"


def with_origins(headings: str, lines: Sequence[Sequence[str]], rows: Sequence[Row]) -> str:
    """A table, and where its rows were measured."""
    return f"{markdown(headings, lines)}\n\n{origins(rows)}"


def origins(rows: Sequence[Row]) -> str:
    """The machines, versions and dates of rows."""
    machines = dict[str, dict[str, None]]()  # the processors of those that have the same cores and instructions
    for row in rows:
        processor, _, has = machine(row).partition(", ")
        machines.setdefault(has, {})[processor] = None
    places = (f"{' and '.join(processors)}, {has}" for has, processors in machines.items())
    parts = dict.fromkeys(part for row in rows for part in versions(row).split(", "))
    dates = sorted({row["date"][:10] for row in rows})
    return f"{'; '.join(places)}; {', '.join(parts)}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."


def widths(results: Path) -> str:
    """Trainings of a narrow and of a wide model in equal time."""
    rows = [row for row in all_rows(results / "small_corpora.jsonl") if row["corpus"].startswith("three languages")]
    names = ("pairs", "minutes", "width", "steps", "chrf")
    return with_origins(
        "pairs | minutes | width | steps | chrF", [[f"{row[n]:,}" for n in names] for row in rows], rows
    )


SUMMARIES: dict[str, Callable[[Path], str]] = {
    "rivals": rivals,
    "worse": worse,
    "results": results_of_runs,
    "equal_time": equal_time,
    "all_directions": partial(equal_time, toolkits=False),
    "published": published,
    "widths": widths,
    "gpu": gpu,
}
