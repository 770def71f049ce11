"""Steps that write a line as training text was: tidied, without the marks around it, in known words, and in
characters that the vocabulary has.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from nmt.reading.loop import Context, Reading, Taken
from nmt.reading.request import Constraints, Translation, join
from nmt.text.edges import LAST_MARKS, Edges, take_off
from nmt.text.edits import Edit
from nmt.text.items import outside_items
from nmt.text.normalise import tidy
from nmt.text.scripts import ONE_CASE, WORD
from nmt.text.user_items import NO_USER_ITEMS, UserItems
from nmt.text.words import casing_of, initials, upper

# How a translation gets the case of its line; both take its language too.
CASINGS: dict[Callable[[str], str] | None, Callable[..., str]] = {str.upper: upper, str.title: initials}
STOPS = (".", "?", "!", "")  # what a model may have written at the end of a text whose last mark is replaced
MOST_COPIED = 4  # words of a translation in capitals that may have been copied: each doubles the number of its texts


@dataclass(frozen=True)
class Inside(Taken):
    """The text between the edges of a line (see `nmt.text.edges`)."""

    outer: Reading
    edges: Edges

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        translation, edits = chosen[0], list[Edit]()
        if self.edges.stop is not None and translation.text:
            found, end = LAST_MARKS.search(translation.text), len(translation.text)
            edits = [(found.start() if found else end, end, self.edges.stop)]
        whole = join([self.edges.lead, translation.edited(edits), self.edges.trail])
        # The words of the edges are linked, each character; of a word at an end of the inner text, its letters are.
        trail, places = len(self.edges.trail), self.outer.places
        lead, tail = re.finditer(r"\S+(?=\s)", self.edges.lead), re.finditer(r"(?<=\s)\S+", self.edges.trail)
        links = [(places[place], place) for word in lead for place in range(*word.span())]
        ends = [trail - place for word in tail for place in range(*word.span())]
        links += [(places[len(self.outer.text) - end], len(whole.text) - end) for end in ends]
        return replace(whole, links=(*whole.links, *links))

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        lead, stop, trail = self.edges.lead, self.edges.stop or "", self.edges.trail
        if not (text.startswith(lead) and text.endswith(stop + trail)) or len(text) < len(lead + stop + trail):
            return
        core = text[len(lead) : len(text) - len(stop + trail)]
        for mark in STOPS if self.edges.stop is not None else ("",):
            yield (core + mark,)


def inside(reading: Reading, context: Context) -> Inside | None:
    """The text without the marks around it."""
    text, constraints = reading.text, reading.constraints
    edges = take_off(text, context.tokenizer.knows, context.quotes, reading.user_items, context.final_mark)
    if not edges:
        return None
    around = edges.lead + "\n" + (edges.stop or "") + edges.trail
    shorter, longer = sorted((constraints.prefix, edges.lead), key=len)
    breaks_prefix = constraints.prefix != "" and not longer.startswith(shorter)
    if breaks_prefix or any(phrase in around for phrase in constraints.must_not):
        return None
    if constraints:  # without the beginning of the prefix, and terms that the edges meet
        must = tuple(term for term in constraints.must if not any(target in around for target in term.targets))
        constraints = replace(constraints, prefix=constraints.prefix[len(edges.lead) :], must=must)
    end = edges.start + len(edges.text) if edges.stop is None else edges.end
    part = reading.part(edges.start, end, constraints)
    if part.text != edges.text:  # the last mark is another
        n = len(edges.text) - 1
        part = part.edited([(n, len(part.text), edges.text[n:])])
    return Inside((part,), reading, edges)


def tidied(reading: Reading, context: Context) -> Taken | None:
    """The line as training text was normalised."""
    text = tidy(reading.text)
    if text == reading.text:
        return None
    return Taken((reading.respelled(text, tidy),), written=tidy)


def readable(reading: Reading, context: Context) -> Taken | None:
    """The line in characters that the vocabulary has, as far as possible."""
    reads = partial(context.tokenizer.readable, user_items=reading.user_items)
    text = reads(reading.text)
    return Taken((reading.respelled(text, reads),)) if text != reading.text else None


@dataclass(frozen=True)
class Recased(Taken):
    """A line in words that the model knows; its translation gets the case of the line."""

    casing: Callable[[str], str]
    kept: UserItems = NO_USER_ITEMS
    """What keeps the case that it has in the translation."""

    def put_back(self, chosen: Sequence[Translation]) -> Translation:
        old = chosen[0].text
        new = old if ONE_CASE.search(old) else outside_items(old, self.casing, self.kept)
        if new == old:
            return chosen[0]
        # A few letters have two in the other case, such as ß.
        return chosen[0].moved(new, lambda place: min(place * len(new) // max(1, len(old)), len(new)))

    def targets(self, text: str) -> Iterator[tuple[str, ...]]:
        """Case is lost: words of the line that were copied had that of the line as the model read it; others, but for
        the first one, had small letters. All mixtures of the two are tried, for a few words."""
        if self.casing is str:
            yield (text,)
            return
        known = {word.upper(): word for word in WORD.findall(self.readings[0].text) if word != word.lower()}
        copied = [word for word in dict.fromkeys(map(str.upper, WORD.findall(text))) if word in known][:MOST_COPIED]
        for chosen in product((True, False), repeat=len(copied)):
            kept = {word: known[word] for word, is_kept in zip(copied, chosen, strict=True) if is_kept}
            lowered = WORD.sub(partial(lower, kept), text)
            yield (lowered[:1].upper() + lowered[1:],)


def lower(kept: Mapping[str, str], word: re.Match[str]) -> str:
    """A word in small letters, or as `kept` has it."""
    return kept.get(word[0].upper(), word[0] if word[0] == "I" else word[0].lower())


def known_words(reading: Reading, context: Context) -> Recased | None:
    """The line in words that the model knows (see `nmt.text.words`), if it doesn't have them already."""
    words = context.tokenizer.words
    if words is None:
        return None
    items, constraints = reading.user_items, reading.constraints
    recased = partial(words.recased, spellings=context.spellings, user_items=items)
    respelled = partial(words.respelled, spellings=context.spellings, user_items=items)
    in_usual_case = recased(reading.text)
    text = respelled(in_usual_case)
    if text == reading.text:
        return None
    cased = CASINGS.get(casing_of(reading.text)) if in_usual_case != reading.text else None
    casing: Callable[[str], str] = partial(cased, language=context.language) if cased else str
    # A term's source is sought in the line as it is read.
    must = tuple(replace(term, source=respelled(recased(term.source))) for term in constraints.must)
    inner = replace(reading.respelled(text), constraints=with_case(replace(constraints, must=must), casing))
    # Phrases that the user wrote in another case than that of the line keep it.
    asked = [phrase for term in must for phrase in term.targets] + [constraints.prefix]
    phrases = (phrase.strip("* ") for phrase in asked if casing(phrase) != phrase)
    patterns = (re.compile(rf"(?<!\w){re.escape(phrase)}") for phrase in phrases if phrase)
    return Recased((inner,), casing, replace(items, patterns=(*items.patterns, *patterns)))


def with_case(constraints: Constraints, casing: Callable[[str], str]) -> Constraints:
    """The constraints of a line whose translation gets another case: what a user wrote in that case is met by these
    words in any usual case, but not by words that the user forbids."""
    if casing is str or not constraints:
        return constraints

    def forms(phrase: str, banned: Sequence[str]) -> list[str]:
        usual = dict.fromkeys((phrase.lower(), phrase.capitalize(), phrase))
        fitting = [form for form in usual if casing(form) == phrase]
        return [form for form in fitting if not any(other in form for other in banned)] or [phrase]

    banned = constraints.must_not
    must = [
        replace(term, targets=tuple(form for target in term.targets for form in forms(target, banned)))
        for term in constraints.must
    ]
    prefix = forms(constraints.prefix, banned)[0] if constraints.prefix else ""
    wanted = [prefix, *(target for term in must for target in term.targets)]
    more = (form for phrase in banned for form in forms(phrase, ()) if not any(form in other for other in wanted))
    must_not = tuple(dict.fromkeys((*banned, *more)))
    return replace(constraints, must=tuple(must), must_not=must_not, prefix=prefix)
