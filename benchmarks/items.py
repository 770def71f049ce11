"""Whether items stand in the right place of a translation: tags around a word, addresses beside it, placeholders
instead of it.

    python -m benchmarks.items --model runs/de-en-multi30k --corpus multi30k

The lines are test sentences with an item at a word whose translation is known: a noun that occurs once in the sentence,
and whose translation (see `benchmarks.text_kinds.lexicon`) occurs once in the translation of the plain sentence. An
item is in the right place if it stands at this translation or, instead of a word, between the same two words as the
word did. Lines whose translation has other words there than the plain one are counted as reworded.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.real_text import corpus_of, own_sentences, run_translate
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, run_script
from benchmarks.text_kinds import Sentence, replaced, words

FORMS = {  # without WORD: in the place of a word
    "tags <b>": "<b>WORD</b>",
    "tags <a href>": '<a href="https://example.org/a?b=c">WORD</a>',
    "{name} instead of a word": "{name}",
    "%s instead of a word": "%s",
    "${x} instead of a word": "${x}",
    "({name}) after a word": "WORD ({name})",
    "URL in brackets after a word": "WORD (https://example.org/a?b=c)",
    "e-mail address after a word": "WORD first.last@example.org",
    "emoji after a word": "WORD 🐶",
}
OUTCOMES = ("right", "reworded", "wrong_place", "lost")


@dataclass(frozen=True)
class Case:
    """A line with an item at a word; the translation of the plain sentence, and of the word in it."""

    line: str
    plain: str
    meaning: str


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="run or model folder")
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus: its test sets are used")
    parser.add_argument("--lines", type=int, default=300, help="of each form")
    args = parser.parse_args()

    def translate(lines: Sequence[str]) -> list[str]:
        return [answer.text for answer in run_translate(args.model, (), lines)]

    _, corpus = corpus_of(args.model, args.corpus)
    sentences = own_sentences(corpus, translate)
    rows: list[Row] = []
    for name, form in FORMS.items():
        cases = make_cases(form, sentences, args.lines, Random(f"1 {name}"))
        answers = translate([case.line for case in cases])
        outcomes = Counter(outcome(answer, form, case) for answer, case in zip(answers, cases, strict=True))
        figures = {name: outcomes[name] for name in OUTCOMES}
        rows.append({"benchmark": "items", "form": name, "lines": len(cases), **figures})
    keep(rows, args)
    return 0


def make_cases(form: str, sentences: Sequence[Sentence], most: int, rng: Random) -> list[Case]:
    """At most so many lines with an item."""
    suitable = [sentence for sentence in sentences if sentence.words]
    chosen = ((one, *rng.choice(one.words)) for one in rng.sample(suitable, min(most, len(suitable))))
    return [Case(replaced(one.source, word, form.replace("WORD", word)), one.target, to) for one, word, to in chosen]


def outcome(translation: str, form: str, case: Case) -> str:
    """One of OUTCOMES."""
    parts = [part.strip() for part in form.split("WORD") if part]
    if any(translation.count(part) != 1 for part in parts):
        return "lost"
    if form == parts[0]:
        if neighbours(case.plain, case.meaning) == neighbours(translation, form):
            return "right"
        same_words = Counter(words(case.plain.replace(case.meaning, form))) == Counter(words(translation))
        return "wrong_place" if same_words else "reworded"
    if re.search(rf"(?<!\w){re.escape(form.replace('WORD', case.meaning))}(?!\w)", translation):
        return "right"
    for part in parts:
        translation = translation.replace(part, " ")
    return "wrong_place" if case.meaning in words(translation) else "reworded"


def neighbours(text: str, word: str) -> tuple[str, ...]:
    """The words before and after this one, without case; "a" and "an" are alike."""
    found = ["", *("a" if one == "an" else one for one in words(text.casefold())), ""]
    n = found.index(word.casefold()) if word.casefold() in found else 0
    return tuple(found[max(0, n - 1) : n] + found[n + 1 : n + 2])


if __name__ == "__main__":
    run_script(main)
