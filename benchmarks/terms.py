"""What terms of a glossary that must occur do to translations.

    python -m benchmarks.terms --model runs/plain --corpus multi30k

The lines are the val text. For each one a word of the source is chosen whose translation in the reference is known by
word alignment (`nmt.data.copies.placeholders`, learned on the training text); this word is its term. `other` terms are
another form of it (`Forms`), as a glossary has them: a reference has "dogs", the term is "dog".

A term is met if the translation has it as a whole word, and the reference's form if that is there.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.real_text import corpus_of
from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, rounded, run_script
from nmt.data.cleaning.cleaner import Pair
from nmt.data.copies.placeholders import Aligner, token_places, tokens
from nmt.reading.request import Constraints, Request, Term
from nmt.scoring.metrics import score
from nmt.text.scripts import Phrase
from nmt.translation.translator import Translator, find_model

WAYS = ("none", "must")
N_COMMON = 100  # the most frequent source words, such as articles, are no terms; at most a tenth of all
STEM, ENDING = 4, 4  # fewest letters that forms of a word begin with alike, and most letters that follow


@dataclass(frozen=True)
class Case:
    """A line with a word, its translation in the reference, and another form of that (empty if none is known)."""

    source: str
    reference: str
    word: str
    right: str
    other: str


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, action="append", required=True, help="run or model folder; several times")
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus: its val set is used")
    args = parser.parse_args()
    translators = {path.name: Translator.load(find_model(str(path))) for path in args.model}
    _, corpus = corpus_of(find_model(str(args.model[0])), args.corpus)
    cases = make_cases(corpus.train, corpus.val, Random(1))
    rows: list[Row] = []
    for name, translator in translators.items():
        for way in WAYS:
            for form in ("right", "other"):
                rows.append({"benchmark": "terms", "model": name, **measure(translator, cases, way, form)})
    keep(rows, args)
    return 0


def common_words(pairs: Sequence[Pair]) -> set[str]:
    """The most frequent words of the sources, in lower case."""
    counts = Counter(token for source, _ in pairs for token in tokens(source) if token.isalnum())
    return {token for token, _ in counts.most_common(min(N_COMMON, len(counts) // 10))}


def written(text: str) -> list[str]:
    return [text[start:end] for start, end in token_places(text)]


class Forms:
    """The words of texts, to find other forms of a word."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.counts = Counter(token for text in texts for token in written(text) if token.isalpha())
        self.words = sorted(self.counts)

    def others(self, word: str) -> list[str]:
        """Words that begin as this one does, and may be other forms of it."""
        stem = word[: max(STEM, len(word) - 2)]
        found, n = list[str](), bisect_left(self.words, stem)
        while len(word) >= STEM and n < len(self.words) and self.words[n].startswith(stem):
            found += [self.words[n]] if len(self.words[n]) <= len(stem) + ENDING else []
            n += 1
        return [other for other in found if other != word]

    def inside(self, word: str) -> str:
        """The first word of a sentence as it would be inside of one."""
        return word.lower() if self.counts[word.lower()] > self.counts[word] else word


def make_cases(train: Sequence[Pair], val: Sequence[Pair], random: Random) -> list[Case]:
    """A case for each pair of val with a word whose translation is known."""
    aligner, common, cases = Aligner([*train, *val]), common_words(train), list[Case]()
    forms = Forms(target for _, target in train)
    for n, (source, target) in enumerate(val):
        sides = [written(text) for text in (source, target)]
        found = [(sides[0][i], sides[1][j]) for i, j in aligner.links(len(train) + n)]
        found = [(a, b) for a, b in found if a.isalnum() and b.isalnum() and a.lower() not in common]
        if found:
            word, right = random.choice(found)
            right = forms.inside(right)
            cases.append(Case(source, target, word, right, random.choice(forms.others(right) or [""])))
    return cases


def measure(translator: Translator, cases: Sequence[Case], way: str, form: str) -> Row:
    """Figures of one model with terms of this form, which are met in this way."""
    cases = [case for case in cases if form == "right" or case.other]
    requests = [Request(case.source, constraints(case, way, form)) for case in cases]
    start = perf_counter()
    translations = translator.translate(requests)
    seconds = perf_counter() - start
    met = [has_word(text, getattr(case, form)) for case, text in zip(cases, translations, strict=True)]
    right = [has_word(text, case.right) for case, text in zip(cases, translations, strict=True)]
    bleu = score(translations, [case.reference for case in cases], metrics=["bleu"])[0].value
    shares = {"met": rounded(sum(met) / len(cases)), "right": rounded(sum(right) / len(cases))}
    return {"way": way, "form": form, "lines": len(cases), **shares, "bleu": rounded(bleu), "seconds": rounded(seconds)}


def constraints(case: Case, way: str, form: str) -> Constraints:
    term = Term((getattr(case, form),), case.word)
    return Constraints(must=(term,) if way == "must" else ())


def has_word(text: str, word: str) -> bool:
    return any(Phrase.parse(word, any_case=True).find(text))


if __name__ == "__main__":
    run_script(main)
