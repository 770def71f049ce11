"""What the parts of the service share: its models and settings, the engine that runs them, and what clients store."""

from pathlib import Path

from nmt.config.serve import ServeConfig
from nmt.server.document_files import Files
from nmt.server.glossaries import Glossaries
from nmt.server.keys import Keys
from nmt.server.metrics import Metrics
from nmt.server.models import Direction, Models
from nmt.server.queue import Engine
from nmt.translation.pair_scorer import PairScorer


class Service:
    """Each handler of a request has it."""

    def __init__(self, models: Models, config: ServeConfig) -> None:
        self.models, self.config, self.metrics = models, config, Metrics()
        self.engine = Engine(models, config, self.metrics)
        self.keys = Keys(Path(config.keys) if config.keys else None)
        self.glossaries = Glossaries(Path(config.glossaries))
        self.files = Files(config)
        self.scorers: dict[Direction, PairScorer] = {}
        self.ending = False
        """Whether the service soon stops listening, so that a load balancer should choose another one."""
