"""Counts and times of the service flow in; the text that Prometheus reads flows out."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
Labels = tuple[tuple[str, str], ...]


@dataclass
class Histogram:
    """How many values were at most so large."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, value: float) -> None:
        self.counts[sum(value > bound for bound in BUCKETS)] += 1
        self.total += value


class Metrics:
    """All figures. Only the thread of the event loop changes them."""

    def __init__(self) -> None:
        self.counters: dict[str, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self.times: dict[str, dict[Labels, Histogram]] = defaultdict(lambda: defaultdict(Histogram))
        self.gauges: dict[str, Callable[[], float]] = {}

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter. Labels must have few values: names of languages, paths of routes, never texts or keys."""
        self.counters[name][tuple(labels.items())] += amount

    def time(self, name: str, seconds: float, **labels: str) -> None:
        self.times[name][tuple(labels.items())].add(seconds)

    def text(self) -> str:
        """All figures in the text format of Prometheus, version 0.0.4."""
        return "".join(f"{line}\n" for line in self.lines())

    def lines(self) -> Iterator[str]:
        for name, read in self.gauges.items():
            yield f"# TYPE nmt_{name} gauge"
            yield f"nmt_{name} {read():g}"
        for name, counter in self.counters.items():
            yield f"# TYPE nmt_{name}_total counter"
            yield from (f"nmt_{name}_total{show(labels)} {value:.17g}" for labels, value in counter.items())
        for name, histograms in self.times.items():
            yield f"# TYPE nmt_{name}_seconds histogram"
            for labels, histogram in histograms.items():
                so_far = 0
                for bound, count in zip((*map(str, BUCKETS), "+Inf"), histogram.counts, strict=True):
                    so_far += count
                    yield f"nmt_{name}_seconds_bucket{show((*labels, ('le', bound)))} {so_far}"
                yield f"nmt_{name}_seconds_sum{show(labels)} {histogram.total:g}"
                yield f"nmt_{name}_seconds_count{show(labels)} {so_far}"


def show(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value.translate(ESCAPES)}"' for name, value in labels) + "}" if labels else ""
