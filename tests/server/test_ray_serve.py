"""The recipe for Ray Serve, on a local Ray. It needs the package ray[serve], which nmt itself doesn't."""

import json
import socket
import urllib.request
from pathlib import Path

import pytest

from nmt.translation.translator import Translator
from tests.tiny import PAIRS

pytestmark = pytest.mark.services


def test_replicas_on_ray_translate(model_folder: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs ray[serve]")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from docs.serving.ray_serve import build

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=80 << 20, log_to_driver=False)
    try:
        ray.serve.start(http_options={"port": port})
        arguments = {"models": str(model_folder), "replicas": "2", "cores": "1", "precision": "fp32"}
        ray.serve.run(build(arguments), name="nmt", route_prefix="/")
        german = [source for source, _ in PAIRS[:4]]
        for line, expected in zip(german, translator.translate(german), strict=True):
            body = json.dumps({"q": line, "source": "de", "target": "en"}).encode()
            url, head = f"http://127.0.0.1:{port}/translate", {"Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(url, body, head)) as answer:
                assert json.load(answer)["translatedText"] == expected
    finally:
        ray.serve.shutdown()
        ray.shutdown()
