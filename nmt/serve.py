"""Command: model folders in; a service on this machine that translates, with the APIs of `nmt.server` and a page."""

import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from nmt.commands.options import (
    BACKEND,
    DEVICE,
    Options,
    Parser,
    add_search_options,
    add_settings_options,
    as_main,
    keep_what_is_loaded,
)
from nmt.config.names import override_search
from nmt.config.serve import ServeConfig
from nmt.extras import package
from nmt.fields import require
from nmt.messages import say

EXAMPLES = """
python -m nmt.serve
python -m nmt.serve runs/de-en-multi30k runs/en-de --port 8000 --beam-size 1
"""


def make_serve_parser() -> Parser:
    text = "Translate for programs and for people, on this machine: http://127.0.0.1:5000 is the page."
    parser = Parser("nmt.serve", text, EXAMPLES, "[options] [MODEL ...]")
    text = "Model or run folders, one for each direction. Without one, the newest finished run."
    parser.add("models", "MODEL...", text)
    text = "Adapter folder, or the run folder of an adapter (LoRA), of the one MODEL, and a name for it: our own API "
    text += "chooses it by this name. The weights of the model are in memory once."
    parser.add("--adapter", "NAME=DIR...", text)
    parser.begin("Service and its limits")
    add_settings_options(parser, ServeConfig)
    parser.begin("Device")
    parser.add_table(DEVICE + BACKEND)
    add_search_options(parser)
    return parser


@as_main("serve", make_serve_parser)
def main(options: Options) -> None:
    for name in ("starlette", "uvicorn", "python_multipart"):
        package(name, "serve")
    from nmt.server.models import Models
    from nmt.server.run import listen, serve
    from nmt.server.service import Service
    from nmt.translation.model_folder import read_info, settings_file
    from nmt.translation.pair_scorer import PairScorer
    from nmt.translation.translator import Translator, find_model

    config = ServeConfig(**{f.name: options[f.name] for f in fields(ServeConfig)})

    def load(folder: Path) -> Translator:
        translator = Translator.load(folder, options.device, precision=options.precision, backend=options.backend)
        translator.search = override_search(translator.search, options, None)
        translator.check(translator.search) if not translator.tokenizer.languages.before_target else None
        return translator

    folders = [find_model(folder) for folder in options.models or [None]]
    keep_what_is_loaded()  # without the models, which may be replaced
    models = Models(folders, load, lazy=config.lazy, adapters=read_adapters(options.adapter), backend=options.backend)
    for served in models.all:
        pairs = ", ".join("–".join(direction) for direction in served.directions[:5])
        say(f"{served.folder}: {pairs}{' …' if len(served.directions) > 5 else ''}")
        for name, folder in served.adapters.items():
            say(f"with the adapter {folder}: {name}")
    service = Service(models, config)
    if config.scorer:
        folder = find_model(config.scorer)
        info, _ = read_info(settings_file(folder))
        service.add_scorer((info.source, info.target), PairScorer.load(folder, options.device, options.precision))
    listener = listen(config.host, config.port)
    say(f"{address(config.host, listener.getsockname()[1])} from now on, until Ctrl-C")
    serve(service, listener)


def address(host: str, port: int) -> str:
    """Where a browser on this machine finds the page."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def read_adapters(given: Sequence[str]) -> dict[str, Path]:
    """The adapter folder of each name. ValueError if NAME=DIR is wrong or given twice."""
    from nmt.translation.adapter import adapter_in

    found: dict[str, Path] = {}
    for choice in given:
        name, _, folder = choice.partition("=")
        require(bool(name and folder), f"--adapter {choice} has no name or no folder: give NAME=DIR")
        require(name not in found, f"--adapter {name} is given twice: give each adapter a name of its own")
        found[name] = adapter_in(Path(folder))
    return found


if __name__ == "__main__":
    sys.exit(main())
