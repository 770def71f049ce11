"""Export to one file that is handed over: a model for CTranslate2, its card and licence, and a program that runs it.

The program is `translate_alone.py`, which needs neither nmt nor PyTorch; `translate.json` tells it about the model.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

from nmt.decode.ctranslate2 import PATIENCE, POSITIONS, UNABLE, longest_sequence
from nmt.decode.hypothesis import forbidden_ids
from nmt.files import write_json, write_text
from nmt.interop import ctranslate2
from nmt.interop.ctranslate2 import check as check
from nmt.interop.ctranslate2 import obstacles as obstacles
from nmt.interop.export import About, Export, lost_settings
from nmt.text.normalise import REPLACEMENTS
from nmt.text.sentences import MARKS
from nmt.translation.model_folder import ModelInfo, licence_sentence
from nmt.vocabulary import SPECIAL_PIECES

QUANTIZATIONS = ["int8", *(name for name in ctranslate2.QUANTIZATIONS if name != "int8")]
PROGRAM = "pip install ctranslate2 sentencepiece\npython translate.py < input > output"
LACKS = "Its program translates line by line, without nmt's guard, terms, mark-up, placeholders, capitals and quotes."
REMOVED = "|".join(pattern.pattern for pattern, replacement, _ in REPLACEMENTS[2:] if not replacement)
LICENCE = """{program}: Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0

The model learned from {corpus}. {licence}
The terms of that text may limit what may be done with the model: README.md has what is known of them.
"""


def write(export: Export, folder: Path) -> None:
    ctranslate2.write(export, folder)
    info, search = export.info, export.info.search
    before, after = export.tokenizer.languages.starts()
    # Where the model has no limit, lines have one: memory and time grow with the square of their pieces.
    longest = (longest_sequence(info.model) or POSITIONS) - 1
    room = longest - len(after)
    least = min(search.min_length, room)
    source, target = export.direction
    about: dict[str, Any] = {"source": source, "target": target, "beam_size": search.beam_size}
    about |= {"length_ratio": search.max_length_ratio, "min_length": least}
    about |= {"max_length": min(search.max_length or room, room), "longest": longest}
    about |= {"before_source": before, "before_target": after, "final_mark": info.facts.final_mark, "marks": MARKS}
    about |= {"removed": REMOVED, "tokenizers": ctranslate2.tokenizer_files(export.tokenizer)}
    about["search"] = {  # as CTranslate2 calls the settings
        "patience": PATIENCE,
        "length_penalty": search.length_penalty,
        "no_repeat_ngram_size": search.no_repeat_ngram,
        "min_decoding_length": least + len(after) if least else 0,
        "suppress_sequences": [[SPECIAL_PIECES[i]] for i in forbidden_ids(search)],
    }
    write_json(folder / "translate.json", about)
    shutil.copyfile(Path(__file__).with_name("translate_alone.py"), folder / "translate.py")
    write_text(folder / "LICENCE.txt", licence_text("translate.py", info))


def about(export: Export) -> About:
    about, lost = ctranslate2.about(export), lost_settings(export.info.search, (*UNABLE,))
    return replace(about, usage=PROGRAM, notes=(*about.notes, *lost, LACKS))


def licence_text(program: str, info: ModelInfo) -> str:
    licence = licence_sentence(info.licence) if info.origin else ""
    return LICENCE.format(program=program, corpus=info.corpus, licence=licence)


def pack(folder: Path, stream: IO[bytes]) -> None:
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.relative_to(folder.parent))
