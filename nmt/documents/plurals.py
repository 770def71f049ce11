"""Plural forms: messages flow in; a text for each form of the target language flows out, and the message again.

The classes of a language ("one", "few" …) are those of CLDR, by the package babel. A form is translated with a number
of its class in place of the sign for the number ("# Hunde" as "3 Hunde" for a "few"), so that the words agree with it.
Sources: Unicode CLDR, "Language Plural Rules"; ICU, "Formatting Messages".
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from nmt.documents.base import Answer, Document, Options, Unit, has_words, splice
from nmt.documents.office import Slot
from nmt.documents.paragraphs import Paragraph
from nmt.documents.xml_splice import Element
from nmt.extras import MissingPackageError, package
from nmt.fields import require
from nmt.text.items import closing_braces
from nmt.text.languages import short_code

T = TypeVar("T")
CLASSES = ("zero", "one", "two", "few", "many", "other")
MOST = 64  # forms of a message, and choices around them
HEAD = re.compile(r"\{\s*+[\w.]++\s*+,\s*+(plural|selectordinal|select)\s*+,\s*+(?:offset:\d++\s*+)?")
KEY = re.compile(r"\s*+(=\d++|[\w-]++)\s*+\{")
END = re.compile(r"\s*+\}")
# The number, in programs; %name is none.
SIGN = re.compile(r"%(?:(?:\d\$)?(?:l{0,2}|h{1,2}|q|z)[diu]|L?n)(?![a-zA-Z_])|%@|%\{count\}|\{\{-?\s*+count\s*+\}\}")
OTHER = re.compile("(|.*_)other", re.DOTALL)


class Sample(NamedTuple):
    """A number of a class."""

    number: int
    is_alone: bool = False
    """Whether the class has no other number: a translation may then say it in words, as Arabic says "two"."""


def samples_of(class_of: Callable[[int], T]) -> dict[T, Sample]:
    """Each class that a number up to 200 has, and its least number from 1 on."""
    n_of = Counter(map(class_of, range(201)))
    return {class_of(number): Sample(number, n_of[class_of(number)] == 1) for number in (0, *range(200, 0, -1))}


def locale_of(language: str) -> Any:
    """The locale of a language; of its code alone if CLDR doesn't know the region, and English if it knows neither."""
    babel = package("babel", "documents")
    for code in (language.replace("-", "_"), short_code(language)):
        with suppress(ValueError, babel.UnknownLocaleError):
            return babel.Locale.parse(code)
    return babel.Locale("en")


@cache
def numbers(language: str, ordinal: bool = False) -> dict[str, Sample]:
    """The classes of a language, with a number of each; those of English if CLDR doesn't know it."""
    locale = locale_of(language)
    rule = locale.ordinal_form if ordinal else locale.plural_form
    found = samples_of(rule)
    found |= {"other": Sample(next((number for number in range(2, 200) if rule(number) == "other"), 2))}
    return {name: found[name] for name in CLASSES if name in found}


@dataclass(frozen=True)
class Leaf:
    """A form without other choices in it."""

    source: str
    text: str
    """With a number in place of the sign."""
    sample: Sample | None
    sign: str

    def write(self, answer: str) -> str:
        """An answer as it is written in the message; ValueError if a number or a placeholder is lost. A form for one
        number alone may say it in words."""
        if self.sample:
            number, is_alone = self.sample
            found = [match for match in re.finditer(r"\d+", answer) if int(match[0]) == number]
            in_words = is_alone and not found
            require(len(found) == 1 or in_words, f"the translation of a plural form hasn't the number {number} once")
            answer = splice(answer, [(*match.span(), self.sign) for match in found])
        signs = "{}" if self.sample or not self.sign else ("{", "}", self.sign)
        same = all(answer.count(sign) == self.source.count(sign) for sign in signs)
        require(same and bool(answer.strip()), "the translation of a plural form hasn't the placeholders of the text")
        return answer if "'" in self.source else re.sub("'(?=[{}#])", "’", answer)  # which would begin a quotation


def leaf(text: str, sample: Sample | None, sign: str) -> Leaf:
    """A form with the number of this sample, if it has the sign once and the number not yet."""
    if not sample or not sign or text.count(sign) != 1 or str(sample.number) in text:
        return Leaf(text, text, None, sign)
    return Leaf(text, text.replace(sign, str(sample.number)), sample, sign)


def read_message(text: str, language: str, left: list[int], sample: Sample | None = None) -> Iterator[str | Leaf]:
    """A message with the forms of the target language, and what stands around them. Text around a choice goes into each
    form. `left`: how many forms the message may still have; ValueError if it has more, or is no message."""
    head = HEAD.search(text)
    left[0] -= 1
    require(left[0] >= 0, "too many forms")
    if not head:
        form = leaf(text, sample, "#" if "'#" not in text else "")
        yield form if has_words(form.text) else text
        return
    forms, position, ends = dict[str, str](), head.end(), closing_braces(text)
    while key := KEY.match(text, position):
        position = ends.get(key.end() - 1, 0)
        require(position > 0, "no choice of ICU")
        forms[key[1]] = text[key.end() : position - 1]
    end = END.match(text, position)
    require(bool(end) and "other" in forms, "no choice of ICU")
    assert end
    before, after = text[: head.start()], text[end.end() :]
    require(before.count("{") == before.count("}") and (head[1] == "select" or "#" not in before + after), "cut off")
    wanted = {name: Sample(int(name[1:]), True) if name[0] == "=" else sample for name in forms}
    if head[1] != "select":
        known = numbers(language, head[1] == "selectordinal") if language else dict.fromkeys(forms)
        wanted = {**{name: value for name, value in wanted.items() if name[0] == "="}, **known}
    beginning = head[0]
    for name, number in wanted.items():
        yield f"{beginning}{name} {{"
        yield from read_message(before + forms.get(name, forms["other"]) + after, language, left, number)
        beginning = "} "
    yield "}}"


def has_text(text: str) -> bool:
    """Whether there is something to translate, in the forms of a message too."""
    return has_words(text) or bool(HEAD.search(text))


def message(text: str, language: str) -> list[str | Leaf]:
    """The parts of a message, one alone if it has no choice; none if the choice can't be translated."""
    try:
        return [*read_message(text, language, [MOST])]
    except MissingPackageError:
        raise
    except ValueError:
        return []


def with_forms(document: Document, options: Options) -> Document:
    """A document whose messages with choices are translated form by form."""
    messages = [message(unit.text, options.target) for unit in document.units]
    units = list[Unit]()
    for unit, parts in zip(document.units, messages, strict=True):
        forms = (part for part in parts if isinstance(part, Leaf))
        units += [unit] if len(parts) == 1 else [replace(unit, text=form.text) for form in forms]

    def joined(unit: Unit, parts: list[str | Leaf], rest: Iterator[Answer]) -> Answer:
        if len(parts) == 1:
            return next(rest)
        forms = [part for part in parts if isinstance(part, Leaf)]
        answers = [next(rest) for _ in forms]
        flags = tuple(dict.fromkeys(flag for answer in answers for flag in answer.flags))
        left, is_changed = iter(answers), [form.text for form in forms] != [answer.text for answer in answers]
        try:
            require(bool(parts), "a message of ICU that isn't understood")
            written = [part.write(next(left).text) if isinstance(part, Leaf) else part for part in parts]
        except ValueError as error:
            document.notes.append(f"{unit.place}: {error}, so the text stays as it is")
            return Answer(unit.text)
        return Answer("".join(written) if is_changed else unit.text, flags)

    def write(answers: Sequence[Answer]) -> bytes:
        rest = iter(answers)
        return document.write([joined(*pair, rest) for pair in zip(document.units, messages, strict=True)])

    return Document(document.data, units, write, document.notes)


def new_forms(names: Collection[str], other: str, language: str, ordinal: bool = False) -> Iterator[tuple[str, Leaf]]:
    """The classes that the target language has more than `names`, each with the form for others as its text."""
    sign = SIGN.search(other)
    for name, sample in numbers(language, ordinal).items() if language else ():
        if name not in names:
            yield name, leaf(other, sample, sign[0] if sign else "")


def new_keys(texts: Mapping[str, str], keys: Container[str], language: str) -> Iterator[tuple[str, str, Leaf]]:
    """The forms that a mapping lacks whose keys are classes, as in Rails (one, other), or end with them, as in i18next
    (KEY_one, KEY_other): the key of the form for others, the new key, and its text. `texts`: those to translate."""
    for key, text in texts.items():
        match = OTHER.fullmatch(key)
        if match and (SIGN.search(text) or f"{match[1]}one" in keys):
            names = {name for name in CLASSES if match[1] + name in keys}
            for name, form in new_forms(names, text, language, match[1].endswith("_ordinal_")):
                yield key, match[1] + name, form


def new_member(head: str, form: Leaf, after: str, write: Callable[[str], str], text: str) -> str:
    """An answer for a form that a mapping lacks, as it is written before the form for others."""
    return f"{head}{write(form.write(text))}{after}"


def added_forms(items: Mapping[str, tuple[Element, Paragraph]], language: str, shape: str) -> Iterator[Slot]:
    """The slots of forms that the target language has more than the file, after the last one. `items`: the elements of
    the forms, in order; `shape`: the new ones, with their class and text."""
    other = items["other"][1] if "other" in items else None
    if not other or not other.unit:
        return
    *_, (last, _) = items.values()
    for name, form in reversed([*new_forms(items, other.unit.text, language)]):
        unit = replace(other.unit, text=form.text, place=f"{other.unit.place}, {name}")
        yield Slot(last.end, unit, partial(put_form, other, last, form, shape.replace("NAME", name)))


def put_form(other: Paragraph, last: Element, form: Leaf, shape: str, answer: Answer) -> None:
    """Add a form; if its number is lost, the program takes the form for all other numbers."""
    with suppress(ValueError):
        if answer.text != form.text:
            before, after = map(other.xml.encode, shape.split("TEXT"))
            other.xml.insert_after(last, before + other.render(form.write(answer.text)) + after)
