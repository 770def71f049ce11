"""What each step of reading, each rule inside a step, and each retry of the guard is worth: right translations that
lines lose without it.

    python -m benchmarks.steps --model runs/de-en-phrasebook

The lines are those of `benchmarks.real_text`: val and test sentences whose plain translation is right, changed as
`benchmarks.text_kinds` says. Without a step or rule, only the lines that are then read in another way are translated
again. The loss of a kind is weighed by how often such lines occur in text that people wrote
(`results/line_kinds.jsonl`): "of 1,000 lines" is the number of right translations that 1,000 lines of a genre lose, in
the language and genre that lose most.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from unittest import mock

from benchmarks.real_text import Answer, corpus_of, make_cases, right_sentences
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import RESULTS, Row, all_rows, run_script
from benchmarks.text_kinds import Case, lexicon, make_kinds
from nmt.data.tokenizer import Tokenizer
from nmt.reading import items, lines, spelling
from nmt.reading.loop import Reading, Step, grow
from nmt.reading.request import Request, Translation
from nmt.text import characters, edges, marking, restore, words
from nmt.text.characters import Characters
from nmt.text.words import Words
from nmt.translation import repair
from nmt.translation.translator import Translator

STEPS: dict[str, tuple[Step, ...]] = {
    "marks around a line": (spelling.inside,),
    "quotes inside a line": (items.quotes,),
    "known words": (spelling.known_words,),
    "items beside words, by the alignment": (items.items_beside,),
    "placeholders for items": (items.items,),
}
RETRIES = ("sentences", "items", "plain", "copy", "no repeats")
PLANS = ("USUAL", "AS_WRITTEN", "CLAUSES", "LIFTED")
NEVER = re.compile("(?P<number>(?!))")

Patch = tuple[object, str, object]
"""An object, the name of one of its attributes, and another value for it."""


def keep_text(self: object, text: str, *args: object, **options: object) -> str:
    return text


def without_forms(self: Characters, character: str, before: str) -> str:
    """As usual, but what was found with other rules isn't remembered."""
    known, self.forms = self.forms, {}
    try:
        return IN_CONTEXT(self, character, before)
    finally:
        self.forms = known


def only_letters(self: Words, word: str, spellings: words.Spellings, accents: object) -> str | None:
    return self.best(words.forms_of(word, spellings))


def no_final_mark(line: str, knows: edges.Knows, *args: object) -> edges.Edges:
    return TAKE_OFF(line, knows, *args[:2])  # type: ignore[arg-type]


IN_CONTEXT, TAKE_OFF = Characters.in_context, edges.take_off
RULES: dict[str, list[Patch]] = {
    "marks before the text": [(edges, "LEAD", NEVER)],
    "marks after the text": [(edges, "TRAIL", NEVER)],
    "quotes and brackets around the text": [(edges, "is_around", lambda text, user_items: False)],
    "one mark for … and !!!": [(edges, "STOPS", NEVER)],
    "a full stop where there is none": [(spelling, "take_off", no_final_mark)],
    "usual case of words": [(Words, "recased", keep_text)],
    "spellings such as ae for ä": [(words, "forms_of", lambda word, spellings: iter(()))],
    "accents that are missing": [(Words, "spelling", only_letters)],
    "brackets and quotes stay at an item": [
        (module, "widen", lambda text, start, stop, least: (start, stop)) for module in (restore, marking)
    ],
    "known characters": [(Tokenizer, "readable", keep_text)],
    "invisible characters": [(characters, "INVISIBLE", NEVER)],
    "similar characters": [
        (characters, "SIMILAR", {}),
        (characters, "WORDY", {}),
        (Characters, "in_context", without_forms),
    ],
    "characters without accents": [(Characters, "in_context", keep_text)],
    "as many sentences as in training": [(lines, "split_sentences", lambda text: [(text, "")])],
}
# Names of the same kinds in `benchmarks.line_kinds`, where these differ.
COUNTED = {
    "word in quotes „…“": ("word in quotes „…“", "word in quotes “…”", 'word in quotes "…"'),
    "unknown name": ("rare letter",),
}

Cases = dict[str, list[Case]]
Outcomes = dict[str, dict[str, bool]]
"""By kind and line, whether its translation is right."""


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, default=Path("runs/de-en-phrasebook"))
    parser.add_argument("--corpus", default="phrasebook", help="as nmt.train's --data.corpus")
    parser.add_argument("--lines", type=int, default=30, help="of each kind")
    args = parser.parse_args()
    translator = Translator.load(args.model, "cpu", precision="fp32")
    info, corpus = corpus_of(args.model, args.corpus)
    pairs = [*corpus.val, *next(iter(corpus.tests.values()))]
    pairs = Random(1).sample(pairs, min(2000, len(pairs)))
    sentences = right_sentences(lambda lines: answers(translator, lines), pairs, lexicon(corpus.train))
    kinds = make_kinds(info.source, info.target)
    cases = {name: make_cases(name, kind, sentences, args.lines) for name, kind in kinds.items()}
    usual = outcomes(translator, cases)
    rows: list[Row] = []
    for name, patches in (*steps_left_out().items(), *RULES.items()):
        taken = {
            kind: [case for case in made if is_read_anew(translator, case, patches)] for kind, made in cases.items()
        }
        with patched(patches):
            rows.append(row_of(name, cases, usual, outcomes(translator, taken)))
    for name, patches in ((f"retry: {name}", [retry_left_out(name)]) for name in RETRIES):
        with patched(patches):
            rows.append(row_of(name, cases, usual, outcomes(translator, cases)))
    taken = {kind: [case for case in made if "<" in case.line or "&" in case.line] for kind, made in cases.items()}
    rows.append(row_of("mark-up", cases, usual, outcomes(translator, taken, markup="none")))
    keep(rows, args)
    return 0


def answers(translator: Translator, lines: Sequence[str], markup: str = "auto") -> list[Answer]:
    found = translator.translate_n_best(lines, markup=markup)  # type: ignore[arg-type]
    return [Answer(best.text, best.flags) for best, *_ in found]


def outcomes(translator: Translator, cases: Cases, markup: str = "auto") -> Outcomes:
    given = iter(answers(translator, [case.line for made in cases.values() for case in made], markup))
    return {kind: {case.line: case.accepts(next(given).text) for case in made} for kind, made in cases.items()}


def is_read_anew(translator: Translator, case: Case, patches: Sequence[Patch]) -> bool:
    """Whether the model reads other texts for a line, or gets them from other steps, with the patches."""

    def texts() -> list[object]:
        context = translator.context(translator.search, "auto")
        tree = grow(Reading.of(Request(case.line)), (lines.mark_up, *repair.USUAL), context)
        return [(leaf.text, leaf.ids) for leaf in tree.leaves()]

    usual = texts()
    with patched(patches):
        return texts() != usual


@contextmanager
def patched(patches: Sequence[Patch]) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name, value in patches:
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


def steps_left_out() -> dict[str, list[Patch]]:
    """All plans without some steps, by the name of these."""
    plans = {plan: getattr(repair, plan) for plan in PLANS}
    return {
        name: [(repair, plan, tuple(step for step in whole if step not in left_out)) for plan, whole in plans.items()]
        for name, left_out in STEPS.items()
    }


def retry_left_out(left_out: str) -> Patch:
    usual = repair.Line.consider

    def consider(self: repair.Line, translations: list[Translation], name: str) -> None:
        if name != left_out:
            usual(self, translations, name)

    return repair.Line, "consider", consider


def row_of(name: str, cases: Cases, usual: Outcomes, without: Outcomes) -> Row:
    """What is lost without a step, by kind, and weighed."""
    lost = {
        kind: sum(usual[kind][line] - is_right for line, is_right in found.items()) / max(1, len(cases[kind]))
        for kind, found in without.items()
    }
    weighed = {
        f"{row['genre']}, {row['language']}": sum(
            row["per_1000"].get(counted, 0.0) * lost[kind] for kind in lost for counted in COUNTED.get(kind, (kind,))
        )
        for row in all_rows(RESULTS / "line_kinds.jsonl")
    }
    most = max(weighed, key=weighed.__getitem__)
    return {
        "benchmark": "steps",
        "step": name,
        "of_1000": round(weighed[most], 2),
        "where": most,
        "lines": sum(map(len, without.values())),
        "kinds": {kind: [round(100 * share)] for kind, share in sorted(lost.items(), key=lambda one: -one[1]) if share},
    }


if __name__ == "__main__":
    run_script(main)
