"""Export to one file that is handed over: a model for CTranslate2, its card and licence, and a program that runs it.

The program is `translate_alone.py`, which needs neither nmt nor PyTorch; `translate.json` tells it about the model.
"""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from nmt.data.tokenizer.mapped import SOURCE, TARGET
from nmt.decode.ctranslate2 import longest_sequence
from nmt.fields import require
from nmt.files import whole_file, write_json, write_text
from nmt.interop import ctranslate2
from nmt.interop.ctranslate2 import check as check
from nmt.interop.ctranslate2 import obstacles as obstacles
from nmt.interop.export import About, Export, Parity
from nmt.translation.model_folder import ModelInfo, licence_sentence

QUANTIZATIONS = ["int8", *(name for name in ctranslate2.QUANTIZATIONS if name != "int8")]
LONGEST = 1 << 20  # pieces of a line, where the model has no limit
PROGRAM = "pip install ctranslate2 sentencepiece\npython translate.py < input > output"
LICENCE = """{program}: Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0

The model learned from {corpus}. {licence}
The terms of that text may limit what may be done with the model: README.md has what is known of them.
"""


def write(export: Export, folder: Path) -> None:
    ctranslate2.write(export, folder)
    info, search, most = export.info, export.info.search, longest_sequence(export.info.model)
    files = (SOURCE, TARGET) if export.tokenizer.mapped else ("source.model", "target.model")
    before, after = export.tokenizer.languages.starts()
    about = {"source": info.source, "target": info.target, "beam_size": search.beam_size}
    about |= {"length_penalty": search.length_penalty, "length_ratio": search.max_length_ratio}
    about |= {
        "longest": most - 1 if most else LONGEST,
        "before_source": before,
        "before_target": [after] if after else [],
    }
    about |= {"tokenizers": ("joint.model", "joint.model") if export.tokenizer.joint else files}
    write_json(folder / "translate.json", about)
    shutil.copyfile(Path(__file__).with_name("translate_alone.py"), folder / "translate.py")
    write_text(folder / "LICENCE.txt", licence_text("translate.py", info))


def about(export: Export) -> About:
    return replace(ctranslate2.about(export), usage=PROGRAM)


def licence_text(program: str, info: ModelInfo) -> str:
    licence = licence_sentence(info.licence) if info.origin else ""
    return LICENCE.format(program=program, corpus=info.corpus, licence=licence)


def pack(file: Path, export_to: Callable[[Path], Parity]) -> Parity:
    """Pack the folder that `export_to` writes to the path that it is given. ValueError if the file exists."""

    def put(folder: Path, stream: IO[bytes]) -> None:
        with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.relative_to(folder.parent))

    return pack_into(file, ".zip", export_to, put)


def pack_into(
    file: Path, ending: str, export_to: Callable[[Path], Parity], put: Callable[[Path, IO[bytes]], None]
) -> Parity:
    """Write one file, whole or not at all: `put` makes it of the folder that `export_to` writes."""
    require(file.suffix == ending, f"{file} is not the name of a {ending[1:]} file: give it the ending {ending}")
    require(not file.exists(), f"{file} exists already: name another file, or delete it")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, file.stem)
        parity = export_to(folder)
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as stream:
            put(folder, stream)
    return parity
