"""The settings of a run: one frozen dataclass for each stage. Values are checked when a dataclass is made.

A recipe (YAML) and the command line give only the settings that differ from the defaults here (`nmt.config.recipes`).
The docstring of a dataclass is its heading in --help, and the docstring of a field its help: all of it for
`nmt.train`, the first sentence for `nmt.translate`. The annotation of a field has its bounds, the metavar of a text
value, and MAY_CHANGE if the value may change when a run is resumed. Nothing here imports torch, so that --help is fast.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated

from nmt.config.data import CleaningConfig, DataConfig, TokenizerConfig
from nmt.config.model import ModelConfig
from nmt.config.search import MAX_HYPOTHESES, Backend, DecodingPrecision, SearchConfig
from nmt.config.training import OBJECTIVES, LoraConfig, ObjectiveName, Precision, TrainingConfig
from nmt.fields import MAY_CHANGE, Folder, Metavar, require
from nmt.files import require_plain_name

__all__ = ["MAX_HYPOTHESES", "OBJECTIVES", "Backend", "DecodingPrecision", "ObjectiveName", "Precision"]
__all__ += ["CleaningConfig", "Config", "DataConfig", "LoraConfig", "ModelConfig", "SearchConfig"]
__all__ += ["TokenizerConfig", "TrainingConfig"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """The run. Recipes override these defaults, and `runs/<name>/config.yaml` records the values."""

    name: Annotated[str, Metavar("NAME"), MAY_CHANGE] = ""
    """Name of the run's folder. Without a name, it is SOURCE-TARGET-CORPUS (text in one language: LANGUAGE-CORPUS)."""

    runs: Annotated[Folder, MAY_CHANGE] = "runs"
    """Folder that holds the run folders."""

    data: DataConfig = field(default_factory=DataConfig)
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    lora: LoraConfig = field(default_factory=LoraConfig)
    search: SearchConfig = field(default_factory=SearchConfig)

    def __post_init__(self) -> None:
        if self.name:
            require_plain_name(self.name, "name")
        objective = self.training.objective
        if self.data.many_to_many:
            problem = f"data.many_to_many needs training.objective translation: it is {objective}"
            require(objective == "translation", problem)
            require(self.tokenizer.joint, "data.many_to_many needs one vocabulary: set tokenizer.joint to true")
            problem = "data.many_to_many doesn't go with training.teacher: a teacher knows one pair of languages"
            require(not self.training.teacher, problem)
        if self.data.text == "auto":
            object.__setattr__(self, "data", replace(self.data, text=OBJECTIVES[objective].text))
        one_vocabulary = f"data.text is {self.data.text}, which needs tokenizer.joint true"
        require(self.tokenizer.joint or self.data.unit == "pair", one_vocabulary)
        if self.model.one_vocabulary and not self.tokenizer.joint:
            family = self.model.family
            advice = "tied_embeddings is three-way, which needs tokenizer.joint true: or take decoder or none"
            require(family != "encoder-decoder", f"model.{advice}")
            raise ValueError(f"model.family is {family}, which has one vocabulary: it needs tokenizer.joint true")
        if self.lora.rank:
            problem = "lora.rank needs a trained model to adapt: give training.start_from"
            require(bool(self.training.start_from), problem)
            problem = "lora.rank doesn't go with training"
            require(not self.training.freeze, f"{problem}.freeze: adapters leave all weights as they are")
            require(not self.training.compile, f"{problem}.compile: switch it off")
        denoises = self.training.denoise_steps > 0
        family, families = self.model.family, OBJECTIVES[objective].families
        problem = f"training.objective {objective} needs model.family {' or '.join(families)}"
        require(family in families, f"{problem}: it is {family}")
        needed = "model.family encoder-decoder, tokenizer.joint true, and no data.many_to_many or training.teacher"
        require(self.can_denoise or not denoises, f"training.denoise_steps needs {needed}")
        problem = f"{self.data.texts}, which needs training.objective translation, {needed}"
        require(self.can_denoise or not self.data.texts, problem)
        absent = {"decoder-only": "encoder", "encoder-only": "decoder"}.get(family, "")
        frozen, parts = set(self.training.freeze), {"embeddings", "encoder", "decoder"} - {absent}
        require(absent not in frozen, f"training.freeze names {absent}: model.family {family} has none")
        require(frozen < parts, "training.freeze names all parts of the model: nothing is left to learn")
        if objective == "lm":  # it has no source whose attention could be anything else
            object.__setattr__(self, "model", replace(self.model, source_attention="causal"))

    @property
    def can_denoise(self) -> bool:
        """Whether `training.denoise_steps` may be above 0."""
        is_alone = not (self.data.many_to_many or self.training.teacher)
        translates = self.training.objective == "translation" and self.model.family == "encoder-decoder"
        return translates and self.tokenizer.joint and is_alone
