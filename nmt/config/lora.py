"""Settings of low-rank adapters (LoRA)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nmt.fields import Count, Positive, check_bounds, check_use, require

if TYPE_CHECKING:
    from nmt.config.model import ModelConfig
    from nmt.config.training import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class LoraConfig:
    """Low-rank adapters (LoRA, Hu et al. 2022), which are trained in place of the weights of training.start_from."""

    rank: Count = 0
    """Rank of the matrix that is learned for each adapted matrix; 0 trains the weights themselves. 8 or 16 are usual.
    The run then has a folder adapter/ besides the model folder, in which the adapter is added to the weights."""

    alpha: Positive = 16.0
    """Factor of adapters: alpha / rank times the learned matrix is added to a matrix. Twice the rank is usual."""

    parts: Literal["all", "attention", "feed_forward"] = "all"
    """Layers whose matrices get adapters: those of attention, of feed_forward, or of both (all)."""

    def __post_init__(self) -> None:
        check_bounds("lora", self)
        check_use("lora", self, self.rank > 0, "lora.rank above 0", ["alpha", "parts"])

    def check(self, training: "TrainingConfig", model: "ModelConfig") -> None:
        """Raise ValueError for settings that don't go with adapters."""
        if not self.rank:
            return
        require(bool(training.start_from), "lora.rank needs a trained model to adapt: give training.start_from")
        problem = "lora.rank doesn't go with"
        require(not training.freeze, f"{problem} training.freeze: adapters leave all weights as they are")
        require(not training.compile, f"{problem} training.compile: switch it off")
        require(not model.experts, f"{problem} model.experts: mixtures of experts have no adapters")
