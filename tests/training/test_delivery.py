"""What a run delivers: when a translation is called unsure."""

import pytest

from nmt.training.delivery import unsure_below

CONFIDENCES = [0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.25, 0.91, 0.92, 0.93, 0.94, 0.95]


@pytest.mark.parametrize(
    ("poor", "below"),
    [
        ({0.1, 0.2}, [0.1, 0.2, 0.25]),
        ({0.2}, [0.1, 0.2]),
        ({0.1}, [0.1, 0.2]),
        ({0.25, 0.3}, []),
        ({*CONFIDENCES}, [0.1, 0.2, 0.25]),
        (set(), []),
    ],
)
def test_unsure_translations_are_more_likely_poor_than_not_and_few(poor: set[float], below: list[float]) -> None:
    scores = [39.9 if confidence in poor else 40.0 for confidence in CONFIDENCES]
    least = unsure_below(CONFIDENCES, scores)
    assert sorted(confidence for confidence in CONFIDENCES if confidence < least) == below
    assert unsure_below(CONFIDENCES[:1], [0.0]) == pytest.approx(0.9, abs=1e-3)
