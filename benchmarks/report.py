"""Tables of the README, of docs/, recipes/ and benchmarks/: rows of benchmarks/results flow in, Markdown flows out.

    python -m benchmarks.report

The pages have `<!-- table: NAME -->` and `<!-- end -->` on lines of their own. What is between them is replaced by the
table of the last run in results/NAME.jsonl, or by what the function NAME of `summaries.py` or `sentences.py` makes.
"""

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.rows import RESULTS, Row, add_rows, describe_run, last_run, run_script
from benchmarks.sentences import SENTENCES
from benchmarks.summaries import SUMMARIES
from benchmarks.tables import TABLES, machine, versions

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name / "README.md" for name in ("benchmarks", "recipes", ".")] + sorted(ROOT.glob("docs/*.md"))
MADE = SUMMARIES | SENTENCES
PLACE = re.compile(r"^<!-- table: (\w+) -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)


def main() -> int:
    for page in PAGES:
        text = page.read_text(encoding="utf8")
        page.write_text(with_tables(text, RESULTS), encoding="utf8")
    return 0


def with_tables(text: str, results: Path) -> str:
    """The text with new tables in their places."""

    def replace(place: re.Match[str]) -> str:
        make = MADE.get(name := place[1])
        made = make(results) if make else report(last_run(results / f"{name}.jsonl"))
        return f"<!-- table: {name} -->\n{made}\n<!-- end -->"

    return PLACE.sub(replace, text)


class Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Defaults shown, line ends of the description kept."""


def benchmark_parser(about: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=about, formatter_class=Help)
    parser.add_argument("--note", default="", help="remark for the rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets the rows; otherwise a file of results/")
    return parser


def keep(
    measured: Iterable[Row], args: argparse.Namespace, name: str = "", peers: Mapping[str, str] | None = None
) -> None:
    """Add what was measured to the file of --json, with the run and its note, and print the table.

    Args:
        name: of the file in results/ if there is no --json; otherwise that of the benchmark.
        peers: versions of the other systems, by name.
    """
    run = describe_run(peers) | ({"note": args.note} if args.note else {})
    rows = [row | run for row in measured]
    add_rows(args.json or RESULTS / f"{name or rows[0]['benchmark']}.jsonl", rows)
    print(report(rows))


def report(rows: Sequence[Row]) -> str:
    """The table of a run, or its rows if no page has it, and a line that says where it was measured."""
    name = rows[0]["benchmark"]
    table = TABLES[name](rows) if name in TABLES else "\n".join(map(json.dumps, rows))
    return f"{table}\n\n{origin(rows)}"


def origin(rows: Sequence[Row]) -> str:
    """The machine, versions, rounds, date and note of a run."""
    run = rows[0]
    rounds = f"; {run['rounds']} rounds" if run.get("rounds", 1) > 1 else ""
    return f"{machine(run)}; {versions(run)}{rounds}; {run['date'][:10]}. {run.get('note', '')}".strip()


if __name__ == "__main__":
    run_script(main)
