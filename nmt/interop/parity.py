"""Comparison of a translator that another library runs with ours: source lines flow in; differences flow out."""

from collections.abc import Callable, Sequence
from statistics import fmean

from nmt.config import SearchConfig
from nmt.decode.engine import IdPair, Ids
from nmt.fields import require
from nmt.interop.export import Export, Parity
from nmt.model.contract import GenerativeModel
from nmt.scoring.metrics import score
from nmt.translation.translator import Translator

TOLERANCE, MOST_MEAN = 1e-3, 0.2  # of log-probabilities, in nats: the largest difference in float32, and the mean else
GREEDY = SearchConfig(beam_size=1, guard=False)
COMPARED = "log-probability of a piece of the greedy translation"
REFUSED = "nothing was exported"


def compare(
    export: Export,
    translate: Callable[[Sequence[Ids]], list[list[int]]],
    score_pairs: Callable[[Sequence[IdPair]], list[list[float]]],
    lines: Sequence[str],
    precision: str,
) -> Parity:
    """Compare greedy translations, and the log-probabilities of ours. In float32, the log-probabilities may differ by
    TOLERANCE at most, and the translations not at all; else the log-probabilities by MOST_MEAN on average. ValueError
    if they differ more.

    Args:
        translate: gives the translation of each source by the other library, with the settings GREEDY.
        score_pairs: as `Engine.score`, by the other library.
        precision: what the other library computes in.
    """
    assert isinstance(export.model, GenerativeModel)
    translator = Translator(export.model, export.tokenizer, GREEDY, facts=export.info.facts)
    found = translator.translate_n_best(lines, GREEDY, markup="none")
    parts = [part for [translation] in found for part in translation.parts]
    pairs = [(part.source, part.hypothesis.ids) for part in parts]
    rows = zip(translator.scorer().score_ids(pairs), score_pairs(pairs), strict=True)
    scored = [(ours.token_log_probs, theirs) for ours, theirs in rows if ours]
    differences = [abs(a - b) for row in scored for a, b in zip(*row, strict=True)]
    largest, mean = max(differences), fmean(differences)
    translations = translate([part.source for part in parts])
    texts, others = (export.tokenizer.decode_target(ids) for ids in ([ids for _, ids in pairs], translations))
    unequal = [n for n, (_, ids) in enumerate(pairs) if ids != translations[n]]
    equal = f"{len(pairs) - len(unequal)} of {len(pairs)} greedy translations are equal"
    if export.quantization == "float32":
        require(largest <= TOLERANCE, f"the {COMPARED} differs by {largest:.1e}, more than {TOLERANCE}: {REFUSED}")
        example = f", but not {others[unequal[0]]!r}, which is {texts[unequal[0]]!r} here" if unequal else ""
        require(not unequal, f"{equal}{example}: {REFUSED}")
        return Parity(COMPARED, largest, len(pairs), ("All greedy translations are equal.",))
    require(mean <= MOST_MEAN, f"the {COMPARED} differs by {mean:.2f} on average, more than {MOST_MEAN}: {REFUSED}")
    [chrf] = score(others, texts, metrics=["chrf"])
    means = f"Mean difference {mean:.1e} (computed in {precision} on the CPU)."
    return Parity(
        COMPARED, largest, len(pairs), (means, f"{equal} to those in float32; chrF between both {chrf.value:.1f}.")
    )
