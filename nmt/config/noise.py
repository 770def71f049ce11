"""Settings of the noise in pretraining."""

from dataclasses import dataclass, fields
from typing import Annotated, Literal

from nmt.fields import Count, Probability, Range, check_bounds, check_use, require

USUAL_SHARE = {"mlm": 0.15, "spans": 0.15, "infilling": 0.35}


@dataclass(frozen=True, kw_only=True)
class NoiseConfig:
    """Noise of training.objective mlm, denoise and pair; other objectives have none."""

    share: Annotated[float | None, Range(0.01, 0.99)] = None
    """Share of the pieces of each text that are hidden, and at least one piece. Without a value, it is 0.15 for mlm and
    spans and 0.35 for infilling."""

    masked: Annotated[float, Range(0, 1)] = 0.8
    """Share of the pieces hidden by mlm that are replaced by the mask piece, which is unk (Devlin et al. 2019, section
    3.1)."""

    random: Annotated[float, Range(0, 1)] = 0.1
    """Share of the pieces hidden by mlm that are replaced by random pieces. The rest stay as they are."""

    kind: Literal["spans", "infilling"] = "infilling"
    """Noise of denoise, which replaces each hidden span by one mask piece. With infilling (Lewis et al. 2020, section
    2.2) the model writes the whole text, and with spans (Raffel et al. 2020, section 3.1.4) only the hidden spans."""

    mean_span: Annotated[float, Range(1, 100)] = 3.0
    """Mean number of pieces in a hidden span of denoise. With infilling the lengths have a Poisson distribution, and an
    empty span adds a mask piece."""

    deletion: Probability = 0.0
    """Probability with which infilling deletes each visible piece, without a mask piece in its place."""

    permutation: Count = 0
    """Number of places that infilling may move a piece at most (Lample et al. 2018, section 2.3); 0 keeps the order,
    and 3 is usual. Pieces are moved before spans are hidden."""

    false_pairs: Annotated[float, Range(0.01, 0.99)] = 0.5
    """Share of the pairs that objective pair spoils, to teach the model to tell them from true pairs."""

    def __post_init__(self) -> None:
        check_bounds("noise", self)
        total = self.masked + self.random
        require(total <= 1, f"noise.masked and noise.random are {total:g} together: they can be 1 at most")
        check_use("noise", self, self.kind == "infilling", "noise.kind infilling", ["deletion", "permutation"])

    def check_use(self, objective: str) -> None:
        """Raise ValueError for a setting that is used only with another objective."""
        names = {
            "mlm": ("share", "masked", "random"),
            "denoise": ("share", "kind", "mean_span", "deletion", "permutation"),
            "pair": ("false_pairs",),
        }
        for f in fields(self):
            users = [name for name in names if f.name in names[name]]
            check_use("noise", self, objective in users, f"training.objective {' or '.join(users)}", [f.name])

    def share_of(self, objective: str) -> float:
        """The share of hidden pieces for objective mlm or denoise."""
        return self.share or USUAL_SHARE[self.kind if objective == "denoise" else objective]
