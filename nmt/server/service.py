"""The parts of the service, each made once, and the routes that use them."""

from pathlib import Path

from starlette.routing import BaseRoute, Route

from nmt.config.serve import ServeConfig
from nmt.server.apis import libretranslate
from nmt.server.apis.deepl import texts as deepl
from nmt.server.apis.documents import Documents
from nmt.server.apis.native import handlers as native
from nmt.server.apis.operation import Endpoint, Gate
from nmt.server.metrics import Metrics
from nmt.server.models import Direction, Models
from nmt.server.store.document_files import Files
from nmt.server.store.glossaries import Glossaries
from nmt.server.store.keys import Key, Keys
from nmt.server.work.owners import Places
from nmt.server.work.queue import Engine
from nmt.translation.pair_scorer import PairScorer

OTHERS = 4  # threads for all but translating: Python runs one at a time


class Service:
    """All parts. Handlers get those that they use."""

    def __init__(self, models: Models, config: ServeConfig) -> None:
        self.models, self.config, self.metrics = models, config, Metrics()
        self.places = Places(OTHERS, "other")
        self.engine = Engine(config, self.metrics, self.places)
        anyone = Key(name="", hash="", requests=config.client_requests, characters=config.client_characters)
        self.keys = Keys(Path(config.keys) if config.keys else None, anyone)
        self.gate = Gate(config, self.keys, self.places)
        self.glossaries, self.files = Glossaries(Path(config.glossaries)), Files(config)
        self.documents = Documents(config, self.files, self.keys)
        self.scorers: dict[Direction, PairScorer] = {}
        self.ending = False
        """Whether the service soon stops listening, so that a load balancer should choose another one."""
        self.is_closed = False
        """Whether it listens no more, and answers what it has taken."""

    def routes(self) -> list[BaseRoute]:
        """Those of all APIs."""
        models, engine, documents, glossaries = self.models, self.engine, self.documents, self.glossaries
        own = native.Own(models, engine, documents, glossaries, self.scorers)
        known = (
            (libretranslate.show, libretranslate.operations(self.config, models, engine, documents)),
            (deepl.show, deepl.operations(models, engine, documents, glossaries)),
            (native.show, native.operations(own)),
        )
        return [
            Route(operation.path, Endpoint(self.gate, show, operation), methods=operation.methods.split())
            for show, operations in known
            for operation in operations
        ]

    def close(self) -> None:
        """End all work."""
        self.engine.draining = True
        self.files.close()
        self.engine.close()
        self.places.close()
        self.documents.places.close()
