"""How well a pair scorer notices false pairs, beside the ratio of lengths and a translator's log-probability.

    python -m benchmarks.pair_scorer --corpus tatoeba

Three models are trained as in `benchmarks.quality`: the pair scorer, a translator with as many steps, and a weak
translator. Pairs of the test set are spoiled in the ways of WAYS. These ways work on words, not on
pieces, and share no code with the false pairs of training. A system drops a pair whose value is below a threshold: 0.5,
or the value that 98% of the true validation pairs reach. What counts is the share of the false pairs that are dropped.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch

from benchmarks.quality import EXPERIMENTS, Experiment, experiment_options
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, rounded, run_script
from nmt.config import SearchConfig
from nmt.data.cleaning.cleaner import Pair
from nmt.data.store.prepared import Prepared
from nmt.translation.pair_scorer import PairScorer
from nmt.translation.translator import Translator

MODELS = EXPERIMENTS / "pair_scorer.yaml"
KEPT = 0.98  # share of true validation pairs
Values = Callable[[Sequence[Pair]], list[float]]
"""The values that a system gives to pairs; higher is better."""


@dataclass(frozen=True)
class Material:
    """What the ways need besides the pair."""

    sources: list[str]
    targets: list[str]
    names: list[str]
    """Capitalised words that occur on both sides of a training pair."""
    translations: dict[str, str]
    """The weak translator's translations."""
    random: Random


def wrong_number(pair: Pair, material: Material) -> Pair:
    """Replace a digit of the target."""
    places = [match.start() for match in re.finditer(r"\d", pair[1])]
    if not places:
        return pair
    place = material.random.choice(places)
    digits = [digit for digit in "123456789" if digit != pair[1][place]]
    return pair[0], pair[1][:place] + material.random.choice(digits) + pair[1][place + 1 :]


def wrong_name(pair: Pair, material: Material) -> Pair:
    """Replace a name that both sides have by another one, in the target."""
    shared = [word for word in names_of(pair) if word in material.names]
    if not shared:
        return pair
    name = material.random.choice(shared)
    other = material.random.choice([word for word in material.names if word not in pair[0]])
    return pair[0], re.sub(rf"\b{name}\b", other, pair[1])


def other_language(pair: Pair, material: Material) -> Pair:
    """The target is in the source's language: the source itself or, as often, the source of another pair."""
    return pair[0], material.random.choice([pair[0], material.random.choice(material.sources)])


def salad(text: str, random: Random) -> str:
    words = text.split()
    return " ".join(random.sample(words, len(words)))


WAYS: dict[str, Callable[[Pair, Material], Pair]] = {
    "the target of another pair": lambda pair, material: (pair[0], material.random.choice(material.targets)),
    "source cut": lambda pair, material: (half(pair[0], material.random), pair[1]),
    "target cut": lambda pair, material: (pair[0], half(pair[1], material.random)),
    "source cut, full stop kept": lambda pair, material: (with_mark(half(pair[0], material.random), pair[0]), pair[1]),
    "target cut, full stop kept": lambda pair, material: (pair[0], with_mark(half(pair[1], material.random), pair[1])),
    "another number": wrong_number,
    "another name": wrong_name,
    "target in the source's language": other_language,
    "target's words in random order": lambda pair, material: (pair[0], salad(pair[1], material.random)),
    "translation by a weak model": lambda pair, material: (pair[0], material.translations[pair[0]]),
}


def main() -> int:
    parser = benchmark_parser(__doc__)
    experiment_options(parser, MODELS)
    args = parser.parse_args()
    experiment = Experiment(args)
    experiment.train()
    torch.set_num_threads(1)
    keep(measure({name: experiment.last(name, experiment.seeds[0]) for name in experiment.variants}), args)
    return 0


def measure(runs: dict[str, Path]) -> list[Row]:
    """A row for true test pairs, then one for each way."""
    prepared = Prepared.load(runs["scorer"])
    test = next(iter(prepared.tests.values()))
    systems = values_of(runs)
    true_val = {name: values(prepared.val) for name, values in systems.items()}
    least = {name: sorted(values)[round((1 - KEPT) * len(values))] for name, values in true_val.items()}
    material = make_material(prepared.train, test, runs["weak"])
    tested = {name: [false for p in test if (false := way(p, material)) != p] for name, way in WAYS.items()}
    rows = list[Row]()
    for name, pairs in {"none: true pairs": test, **tested}.items():
        found = {system: values(pairs) for system, values in systems.items()}
        dropped = {system: share_below(values, least[system]) for system, values in found.items()}
        dropped["half"] = share_below(found["scorer"], 0.5)  # the pair scorer with the threshold 0.5
        shares = {system: rounded(share) for system, share in dropped.items()}
        rows.append({"benchmark": "pair_scorer", "way": name, "pairs": len(pairs), "dropped": shares})
    return rows


def values_of(runs: dict[str, Path]) -> dict[str, Values]:
    """The systems: the pair scorer, the translator's mean log-probability of a piece, and the ratio of lengths."""
    scorer = PairScorer.load(runs["scorer"] / "model", "cpu", "fp32")
    forced = Translator.load(runs["translator"] / "model", "cpu", precision="fp32").scorer()

    def quality(pairs: Sequence[Pair]) -> list[float]:
        return [value or 0.0 for value in scorer.score(pairs)]

    def confidence(pairs: Sequence[Pair]) -> list[float]:
        return [translation.confidence if translation else 0.0 for translation in forced.score(pairs)]

    def lengths(pairs: Sequence[Pair]) -> list[float]:
        sizes = [sorted((len(source), len(target))) for source, target in pairs]
        return [(shorter + 1) / (longer + 1) for shorter, longer in sizes]

    return {"scorer": quality, "translator": confidence, "lengths": lengths}


def make_material(train: Sequence[Pair], test: Sequence[Pair], weak: Path) -> Material:
    sources, targets = map(list, zip(*test, strict=True))
    names = sorted({word for pair in train for word in names_of(pair)})
    translator = Translator.load(weak / "model", "cpu", precision="fp32")
    greedy = SearchConfig(beam_size=1, guard=False)
    translations = dict(zip(sources, translator.translate(sources, greedy), strict=True))
    return Material(sources, targets, names, translations, Random(20))


def names_of(pair: Pair) -> list[str]:
    """Capitalised words that occur on both sides, but not only as the first word of the target."""
    source = set(re.findall(r"[^\W\d_]+", pair[0]))
    inner = re.findall(r"(?<=\s)[^\W\d_]{3,}", pair[1])
    return [word for word in inner if word[0].isupper() and word in source]


def half(text: str, random: Random) -> str:
    """A third to two thirds of the words of a text, from its beginning; a text of one word stays."""
    words = text.split()
    return " ".join(words[: max(1, round(random.uniform(1 / 3, 2 / 3) * len(words)))])


def with_mark(text: str, whole: str) -> str:
    """A text with the mark at the end of the whole text, if that ends with one."""
    return text.rstrip(",.!?") + whole[-1] if whole[-1] in ".!?" else text


def share_below(values: Sequence[float], least: float) -> float:
    return sum(value < least for value in values) / len(values) if values else 0.0


if __name__ == "__main__":
    run_script(main)
