"""Counts and times of the service flow in; the text that Prometheus reads flows out."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
BOUNDS = {**{str(most): most for most in BUCKETS}, "+Inf": math.inf}  # by what Prometheus calls them
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """All figures. Only the thread of the event loop changes them."""

    def __init__(self) -> None:
        self.counters: dict[str, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self.times: dict[str, dict[Labels, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        """The number of times that were at most as long as each of BOUNDS, and their sum."""
        self.gauges: dict[str, Callable[[], float]] = {}

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter. Labels must have few values: names of languages, paths of routes, never texts or keys."""
        self.counters[name][tuple(labels.items())] += amount

    def time(self, name: str, seconds: float, **labels: str) -> None:
        known = self.times[name][tuple(labels.items())]
        for bound, most in BOUNDS.items():
            known[bound] = known.get(bound, 0) + (seconds <= most)
        known["sum"] = known.get("sum", 0.0) + seconds

    def text(self) -> str:
        """All figures in the text format of Prometheus, version 0.0.4."""
        return "".join(f"{line}\n" for line in self.lines())

    def lines(self) -> Iterator[str]:
        for name, read in self.gauges.items():
            yield f"# TYPE nmt_{name} gauge"
            yield f"nmt_{name} {read():.17g}"
        for name, counter in self.counters.items():
            yield f"# TYPE nmt_{name}_total counter"
            yield from (f"nmt_{name}_total{show(labels)} {value:.17g}" for labels, value in counter.items())
        for name, histograms in self.times.items():
            yield f"# TYPE nmt_{name}_seconds histogram"
            for labels, known in histograms.items():
                for bound in BOUNDS:
                    yield f"nmt_{name}_seconds_bucket{show((*labels, ('le', bound)))} {known[bound]}"
                yield f"nmt_{name}_seconds_sum{show(labels)} {known['sum']:.17g}"
                yield f"nmt_{name}_seconds_count{show(labels)} {known['+Inf']}"


def show(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value.translate(ESCAPES)}"' for name, value in labels) + "}" if labels else ""
