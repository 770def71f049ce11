"""How documents come through: files of each format, made of test sentences with a tag at a word, are translated.

    python -m benchmarks.documents --model runs/de-en-phrasebook --corpus phrasebook

The word is one whose translation is known (see `benchmarks.text_kinds.lexicon`). A tag is in the right place if it
encloses this translation; where the model chose other words there, the text is counted as reworded. A format without
tags gets plain sentences. Each file is also translated by a translator that changes nothing: it must come back byte for
byte.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from benchmarks.document_files import KINDS, Kind, texts
from benchmarks.real_text import corpus_of, own_sentences
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from benchmarks.text_kinds import Sentence, replaced, words
from nmt.documents.base import Answer, Options, Translate, read_document, translate_document, units_translator
from nmt.translation.model_folder import require_model
from nmt.translation.translator import Translator

TAG = re.compile(r"</?[a-z0-9][^<>]*>")
PAIR = re.compile(r"<([a-z0-9]+)[^<>]*>([^<>]*)</\1>")


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="run or model folder")
    parser.add_argument("--corpus", default="phrasebook", help="as nmt.train's --data.corpus: its test sets are used")
    parser.add_argument("--lines", type=int, default=60, help="texts in each file")
    parser.add_argument("--kind", action="append", metavar="FORMAT", choices=[*KINDS], help="only this; repeatable")
    args = parser.parse_args()
    _, corpus = corpus_of(args.model, args.corpus)
    translator = Translator.load(require_model(args.model))
    sentences = own_sentences(corpus, translator.translate)
    suitable = [one for one in sentences if one.words and '"' not in one.source and "'" not in one.source]
    rows: list[Row] = []
    for name in args.kind or KINDS:
        chosen = Random(1).sample(suitable, min(args.lines, len(suitable)))
        figures = measure(name, KINDS[name], chosen, units_translator(translator))
        rows.append({"benchmark": "documents", "format": name, **figures})
    keep(rows, args)
    return 0


def measure(name: str, kind: Kind, sentences: Sequence[Sentence], translate: Translate) -> Row:
    """The figures of one format."""
    chosen = [one.words[0] for one in sentences]
    lines = [
        replaced(one.source, word, kind.form.replace("WORD", word))
        for one, (word, _) in zip(sentences, chosen, strict=True)
    ]
    data = kind.build(lines)
    languages = Options(source="de", target="en", columns=kind.options.columns)
    same = translate_document(data, name, lambda units: [Answer(unit.text) for unit in units], languages) == data
    document = read_document(data, name, languages)
    joined = document.join(translate(document.units))
    found = (kind.answers or texts(name))(joined, languages)
    sources = [unit.text for unit in document.units]
    is_whole = len(found) == len(sources) == len(lines)
    pairs = [*zip(sources, found, strict=False)]
    has_tags = any(TAG.search(text) for text in sources)
    outcomes = Counter(outcome(text, meaning) for (_, text), (_, meaning) in zip(pairs, chosen, strict=False))
    return {
        "texts": len(lines),
        "identity": same,
        "well_formed": is_whole,
        "tags_kept": sum(Counter(TAG.findall(a)) == Counter(TAG.findall(b)) for a, b in pairs) if has_tags else None,
        "right": outcomes["right"] if has_tags else None,
        "reworded": outcomes["reworded"] if has_tags else None,
        "left": len(document.notes),
    }


def outcome(text: str, meaning: str) -> str:
    """Whether the tag is at the translation of its word."""
    if any(inside.strip() == meaning for _, inside in PAIR.findall(text)):
        return "right"
    return "wrong_place" if meaning in words(TAG.sub(" ", text)) else "reworded"


if __name__ == "__main__":
    run_script(main)
