"""The service on a Ray cluster: each replica holds the models.

    pip install "ray[serve]"
    serve run docs.serving.ray_serve:build models=/models/de-en-multi30k replicas=2

Ray's proxies spread the requests over the replicas. Documents, glossaries and keys stay with the replica that has them
(docs/serving.md, "More machines"): with several replicas send documents through /translate_file to one of them, or take
nmt.serve behind nginx.
"""

from pathlib import Path

import torch
from ray import serve
from ray.serve import Application
from starlette.applications import Starlette

from nmt.config.search import DecodingPrecision
from nmt.config.serve import ServeConfig
from nmt.server.app import make_app
from nmt.server.models import Models
from nmt.server.service import Service
from nmt.translation.translator import Translator, find_model


def build(arguments: dict[str, str]) -> Application:
    """The application for `serve run`, with these arguments:

    models: folders that every machine of the cluster can read, separated by commas.
    replicas, cores: number of replicas, and cores for each; by default 1 and 2.
    precision: as `nmt.serve --precision`; by default auto.
    """
    folders = [find_model(folder) for folder in arguments["models"].split(",")]
    cores = int(arguments.get("cores", 2))
    precision: DecodingPrecision = arguments.get("precision", "auto")  # type: ignore[assignment]

    def load(folder: Path) -> Translator:
        return Translator.load(folder, "cpu", precision=precision)

    def application() -> Starlette:
        torch.set_num_threads(cores)  # in the replica, to which Ray gives one
        return make_app(Service(Models(folders, load), ServeConfig()))

    deployment = serve.deployment(
        serve.ingress(application)(),
        name="nmt",
        num_replicas=int(arguments.get("replicas", 1)),
        ray_actor_options={"num_cpus": cores},
        max_ongoing_requests=1000,  # the service has its own limit of what waits
        health_check_period_s=10,
    )
    return deployment.bind()
