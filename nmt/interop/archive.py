"""Export to one file that is handed over: a model for CTranslate2, its card and licence, and a program that runs it.

The program is `translate_alone.py`, which needs neither nmt nor PyTorch; `translate.json` tells it about the model.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from nmt.decode.ctranslate2 import POSITIONS, longest_sequence
from nmt.files import write_json, write_text
from nmt.interop import ctranslate2
from nmt.interop.ctranslate2 import check as check
from nmt.interop.ctranslate2 import obstacles as obstacles
from nmt.interop.export import About, Export
from nmt.translation.model_folder import ModelInfo, licence_sentence

QUANTIZATIONS = ["int8", *(name for name in ctranslate2.QUANTIZATIONS if name != "int8")]
LONGEST = POSITIONS - 1  # pieces of a line, where the model has no limit: memory and time grow with their square
PROGRAM = "pip install ctranslate2 sentencepiece\npython translate.py < input > output"
LICENCE = """{program}: Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0

The model learned from {corpus}. {licence}
The terms of that text may limit what may be done with the model: README.md has what is known of them.
"""


def write(export: Export, folder: Path) -> None:
    ctranslate2.write(export, folder)
    info, search, most = export.info, export.info.search, longest_sequence(export.info.model)
    before, after = export.tokenizer.languages.starts()
    about = {"source": info.source, "target": info.target, "beam_size": search.beam_size}
    about |= {"length_penalty": search.length_penalty, "length_ratio": search.max_length_ratio}
    about |= {"no_repeat_ngram": search.no_repeat_ngram}
    about |= {
        "longest": most - 1 if most else LONGEST,
        "before_source": before,
        "before_target": [after] if after else [],
    }
    about |= {"tokenizers": ctranslate2.tokenizer_files(export.tokenizer)}
    write_json(folder / "translate.json", about)
    shutil.copyfile(Path(__file__).with_name("translate_alone.py"), folder / "translate.py")
    write_text(folder / "LICENCE.txt", licence_text("translate.py", info))


def about(export: Export) -> About:
    return replace(ctranslate2.about(export), usage=PROGRAM)


def licence_text(program: str, info: ModelInfo) -> str:
    licence = licence_sentence(info.licence) if info.origin else ""
    return LICENCE.format(program=program, corpus=info.corpus, licence=licence)


def pack(folder: Path, stream: IO[bytes]) -> None:
    """Write the exported folder as a file."""
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.relative_to(folder.parent))
