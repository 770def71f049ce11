"""Command: a model folder in; a folder that another library runs out, after a check that both give the same."""

import sys
from pathlib import Path

from nmt.commands.options import Options, Parser, as_main
from nmt.fields import require
from nmt.messages import say

EXAMPLES = """
python -m nmt.export runs/de-en-phrasebook exported --to ctranslate2
python -m nmt.export runs/de-en-phrasebook translator.zip --to zip --check my-lines.de
python -m nmt.export runs/de-en-phrasebook translator.html --to html
"""
OPTIONS = """
model MODEL: Model or run folder.
out OUT: Folder, or zip or HTML file, to write. It must not exist.
== Format
--to FORMAT: Format to write: ctranslate2, hf, onnx; or one file to hand over: zip, or html for a browser.
--quantization TYPE: Number format of the weights. Without it, float32. ctranslate2 takes float32, float16, bfloat16,
    int8, int8_float32, int8_float16, int8_bfloat16 and int16; hf takes float32, float16 and bfloat16; onnx and html
    take float32 and int8; zip, which is in int8 without it, those of ctranslate2.
--source-language LANGUAGE: Code of the source language, for a model that must be told it.
--target-language LANGUAGE: Code of the target language, for a model that knows several.
--check FILE: Text in the source language, with which the exported model is compared with this one: its first 200 lines.
    Without it, the test sets of the model's run are taken, or the phrasebook.
"""


def make_export_parser() -> Parser:
    text = "Write a model for another library, and check that it gives the same there."
    return Parser("nmt.export", text, EXAMPLES, "[options] MODEL OUT", OPTIONS)


@as_main("export", make_export_parser)
def main(options: Options) -> None:
    from nmt.interop.export import Parity, export, load_format, packed

    require("to" in options, "the format is missing: give --to, such as --to ctranslate2")
    check = Path(options.check) if "check" in options else None
    languages = options.get("source_language", ""), options.get("target_language", "")

    def export_to(out: Path) -> Parity:
        return export(Path(options.model), out, options.to, options.get("quantization"), check, languages)

    out = Path(options.out)
    pack = getattr(load_format(options.to), "pack", None)
    parity = packed(out, options.to, export_to, pack) if pack else export_to(out)
    for line in parity.sentences_of_card():
        say(line)
    say(f"Exported: {options.out}")


if __name__ == "__main__":
    sys.exit(main())
