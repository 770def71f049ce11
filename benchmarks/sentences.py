"""Sentences of the pages that have figures: rows of benchmarks/results flow in, Markdown flows out.

A function has the name of its place in a page; its argument is the folder of the results. It or its page names the file
with its rows, which have commit, command and machine.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks.rows import all_rows, last_run
from benchmarks.summaries import mean_of, named_runs


def rows_of(name: str) -> str:
    return f"`benchmarks/results/{name}.jsonl`"


def more_text(results: Path) -> str:
    """What sentences without translations bring to few pairs."""
    named = named_runs(results)
    alone, more = (
        [row for row in named[f"2,000 captions, {kind}"] if row["seed"] in (1, 2, 3)]
        for kind in ("denoise_steps 0", "54,000 sentences")
    )
    captions = f"{mean_of(more)['bleu']:.1f} BLEU with 54,000 sentences, {mean_of(alone)['bleu']:.1f} without"
    few = "3,000 pairs of Guaraní"
    [without], [given] = (named[f"{few}, {kind}"] for kind in ("denoise_steps 1995", "28,000 sentences"))
    of_guarani = f"{few} {given['bleu']:.1f} with 28,000, {without['bleu']:.1f} without (one)"
    return f"2,000 captions had {captions} ({len(more)} seeds); {of_guarani}: {rows_of('runs')}."


def fast(results: Path) -> str:
    """What the shortest recipe of Multi30k gives."""
    [[row]] = (rows for name, rows in named_runs(results).items() if "multi30k-fast.yaml --name fast" in name)
    return f"It gave {row['bleu']:.1f} BLEU (one seed; {rows_of('runs')})."


def cherokee(results: Path) -> str:
    """What a teacher of equal size and more steps bring."""
    rows = [row for row in all_rows(results / "small_corpora.jsonl") if row["corpus"] == "chr-en"]
    rows = [row for row in rows if row.get("weight_decay") == 0.3 and "label_smoothing" not in row]
    plain = {row["steps"]: row["chrf"] for row in rows if "teacher" not in row}
    [taught] = (row["chrf"] for row in rows if "teacher" in row)
    teacher, steps = (f"{chrf - plain[2500]:.1f}" for chrf in (taught, plain[7000]))
    return f"Cherokee, 2,500 steps: a teacher of equal size brings {teacher} chrF, 7,000 steps bring {steps}."


def rotary(results: Path) -> str:
    """What rotary positions bring."""
    plain, rotated = (row["bleu"]["median"] for row in last_run(results / "blocks.jsonl"))
    figures = f"{rotated:.1f} BLEU instead of {plain:.1f}"
    return f"Rotary positions pay: on Multi30k, in the same steps, {figures} ({rows_of('blocks')})."


def serve_memory(results: Path) -> str:
    """What a service needs after many requests, with its cache and without."""
    rows = last_run(results / "serve_memory.jsonl")
    with_cache, without = (row["megabytes"] for row in rows)
    about = f"the phrasebook's model, int8, greedy; {rows_of('serve_memory')}"
    requests = f"**Memory** after {rows[0]['requests']:,} requests of 64 clients ({about})"
    half = f"after half of them {with_cache[4]} and {without[4]}"
    figures = f"{with_cache[-1]} MiB with the cache, {without[-1]} without; {half}"
    return f"{requests}: {figures}."


SENTENCES: dict[str, Callable[[Path], str]] = {
    function.__name__: function for function in (more_text, fast, cherokee, rotary, serve_memory)
}
