"""The parts of the service, each made once. Handlers find them in the service of their call."""

from pathlib import Path

from nmt.config.serve import ServeConfig
from nmt.server.metrics import Metrics
from nmt.server.models import Direction, Models
from nmt.server.store.document_files import Files
from nmt.server.store.glossaries import Glossaries
from nmt.server.store.keys import Key, Keys
from nmt.server.work.owners import Places, Room
from nmt.server.work.queue import Engine
from nmt.text.languages import same_language
from nmt.translation.pair_scorer import PairScorer

OTHERS = 4  # threads for all but translating: Python runs one at a time
PROCESSES = 2  # files that are read or written at the same time
BODIES = 12  # files of the largest size, that all bodies together may take in memory


class Service:
    """All parts."""

    def __init__(self, models: Models, config: ServeConfig) -> None:
        self.models, self.config, self.metrics = models, config, Metrics()
        self.places, self.file_places = Places(OTHERS, "other"), Places(PROCESSES, "documents")
        self.engine = Engine(config, self.metrics, self.places)
        anyone = Key(name="", hash="", requests=config.client_requests, characters=config.client_characters)
        self.keys = Keys(Path(config.keys) if config.keys else None, anyone)
        self.bodies = Room(BODIES * max(config.file_bytes, config.body_bytes))
        self.glossaries, self.files = Glossaries(Path(config.glossaries)), Files(config)
        self.scorers: dict[Direction, PairScorer] = {}
        self.ending = False
        """Whether the service soon stops listening, so that a load balancer should choose another one."""
        self.is_closed = False
        """Whether it listens no more, and answers what it has taken."""

    def add_scorer(self, languages: Direction, scorer: PairScorer) -> None:
        """Let it rate the directions between these languages, with any region or script."""
        known = [direction for direction in self.models.by_direction if all(map(same_language, direction, languages))]
        if not known:
            raise ValueError(f"--scorer {self.config.scorer} is for {' to '.join(languages)}: no model translates so")
        self.scorers |= dict.fromkeys(known, scorer)

    def close(self) -> None:
        """End all work."""
        self.engine.draining = True
        self.files.close()
        self.engine.close()
        self.places.close()
        self.file_places.close()
