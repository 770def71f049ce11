"""What looks wrong is translated again in other ways; what still looks wrong is flagged."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pytest

from nmt.config import SearchConfig
from nmt.decode.hypothesis import Hypothesis
from nmt.reading.loop import Reading, translate
from nmt.reading.request import BLANK, Constraints, Lists, Part, Request, Term, Translation
from nmt.text.suspicions import Flag
from nmt.text.user_items import UserItems
from nmt.translation.model_folder import Facts
from nmt.translation.repair import CLAUSES, LIFTED, USUAL, Call, Steps, gravity
from nmt.translation.translator import Translator
from tests.reading.pretended import SURE
from tests.tiny import SHORT

GUARDED = replace(SHORT, guard=True, split_above=200)


class Scripted:
    """A call that finds what it is told to: each attempt has answers for its leaves."""

    def __init__(self, translator: Translator, *attempts: list[str], facts: Facts | None = None) -> None:
        self.translator = Translator(translator.model, translator.tokenizer, GUARDED, facts=facts)
        self.attempts, self.asked = list(attempts), list[tuple[list[str], Steps, SearchConfig]]()

    def __call__(self, *lines: str | Request, search: SearchConfig = GUARDED) -> Lists:
        requests = [line if isinstance(line, Request) else Request(line) for line in lines]
        call = self.translator.call(search, "none")
        object.__setattr__(call, "attempt", partial(self.attempt, call))
        return call.translate(requests)

    def attempt(self, call: Call, lines: Sequence[Reading], steps: Steps, search: SearchConfig) -> Lists:
        if not lines:
            return []
        answers = iter(self.attempts.pop(0))

        def leaves(readings: Sequence[Reading]) -> Lists:
            self.asked.append(([reading.text for reading in readings], steps, search))
            return [self.answers(reading, answers) if reading.text else [BLANK] for reading in readings]

        return translate(lines, steps, call.context, leaves)

    def answers(self, reading: Reading, answers: Iterator[str]) -> list[Translation]:
        text = next(answers)
        part = Part((5,), SURE, reading.text, text, reading.places, range(len(text)))
        return [Translation(text, -1.0, (part,))]


class Listed(Scripted):
    """Finds lists of translations; the answers of each attempt are those of its only leaf."""

    def answers(self, reading: Reading, answers: Iterator[str]) -> list[Translation]:
        return [best for text in answers for best in Scripted.answers(self, reading, iter([text]))]


class Doubtful(Scripted):
    """Is less sure of a text after "?"."""

    def answers(self, reading: Reading, answers: Iterator[str]) -> list[Translation]:
        (found,) = Scripted.answers(self, reading, answers)
        if not found.text.startswith("?"):
            return [found]
        doubt = Hypothesis([5], -1.4, -1.4, [-0.7, -0.7], finished=True)
        return [replace(found, text=found.text[1:], parts=(replace(found.parts[0], hypothesis=doubt),))]


LOOP = "the the the the the the the the the the the the the the the the"
LOOPED = ("loop", "too_long")


@pytest.mark.parametrize(
    ("line", "attempts", "best", "steps", "last_read"),
    [
        # What looks wrong is tried again, and the better one is taken; after all attempts, the first one.
        ("Ein Hund.", ["A good one."], ("A good one.", (), ""), [USUAL], "Ein Hund."),
        ("Ein Hund.", [LOOP, "A dog."], ("A dog.", (), "no repeats"), [USUAL, USUAL], "Ein Hund."),
        ("Ein Hund.", [LOOP, f"x {LOOP}"], (LOOP, LOOPED, ""), [USUAL, USUAL], "Ein Hund."),
        ("NATO", [LOOP] * 2, (LOOP, (*LOOPED, "unknown"), ""), [USUAL, USUAL], "NATO"),
        # Lost items are lifted out and put back, with their brackets. Those that are still wrong are told.
        ("Hallo {x}!", ["Hello!"] * 2, ("Hello {x}!", (), "items"), [USUAL, LIFTED], "Hallo!"),
        ("Hund ({x}) da.", ["The {x} dog.", "The dog."], ("The ({x}) dog.", (), "items"), [USUAL, LIFTED], "Hund da."),
        ("Ein Hund.", ["A www.x.org."] * 2, ("A www.x.org.", ("items",), ""), [USUAL, LIFTED], "Ein Hund."),
        # A lost number is told but causes no search; dates may be spelled out; a line without letters is copied.
        ("Es kostet 12 Euro.", ["It is cheap."], ("It is cheap.", ("numbers",), ""), [USUAL], "Es kostet 12 Euro."),
        ("24.12.2023", ["December 24, 2023"], ("December 24, 2023", (), ""), [USUAL], "24.12.2023"),
        ("12:,(45%", ["12255555."], ("12:,(45%", (), "copy"), [USUAL], "12:,(45%"),
    ],
)
def test_what_looks_wrong_is_tried_again_and_marked_or_flagged(
    translator: Translator, line: str, attempts: list[str], best: object, steps: list[Steps], last_read: str
) -> None:
    scripted = Scripted(translator, *([text] for text in attempts))
    ((found,),) = scripted(line)
    assert (found.text, found.flags, found.fallback) == best
    assert [taken for _, taken, _ in scripted.asked] == steps
    assert scripted.asked[-1][0] == [last_read]


def test_a_line_of_many_terms_may_be_long_but_not_loop(translator: Translator) -> None:
    terms = tuple(Term((word,)) for word in ("umbrella", "meadow", "station", "coffee", "bottles"))
    text = "An umbrella in the meadow behind the station where coffee was spilled on many bottles."
    few, many = (Request("Ein Hund.", Constraints(must=chosen)) for chosen in (terms[1:], terms))
    scripted = Scripted(translator, [text, text], ["A dog."])
    (one,), (other,) = scripted(few, many)
    assert (one.flags, other.flags, other.fallback) == (("too_long",), ("too_long",), "")
    assert [len(texts) for texts, _, _ in scripted.asked] == [2, 1], "only few terms are searched again"
    scripted = Scripted(translator, [f"{text} {LOOP}"], [text])
    assert scripted(many)[0][0].fallback == "no repeats"


def test_the_second_look_repeats_no_more_than_before(translator: Translator) -> None:
    scripted = Scripted(translator, [LOOP], [LOOP])
    scripted("Ein Hund läuft.", search=replace(GUARDED, no_repeat_ngram=2))
    assert [search.no_repeat_ngram for _, _, search in scripted.asked] == [2, 2]


def test_a_line_that_lost_a_sentence_is_translated_sentence_by_sentence(translator: Translator) -> None:
    line = "Das Rathaus öffnet am Freitag. Das Museum schließt."
    both = "The town hall opens on Friday. The museum closes."
    scripted = Scripted(
        translator, ["The town hall opens.", both], ["The town hall opens on Friday.", "The museum closes."]
    )
    (repaired,), (good,) = scripted(line, line)
    assert (repaired.text, repaired.flags, repaired.fallback) == (both, ("unknown",), "sentences")
    assert (good.text, good.flags, good.fallback) == (both, ("unknown",), "")  # the vocabulary lacks letters
    texts, steps, _ = scripted.asked[1]
    assert (" ".join(texts), len(texts), steps) == (translator.tokenizer.readable(line), 2, CLAUSES)
    lost = Scripted(translator, *[["The town hall opens.", *[""] * 9]] * 4)
    assert [best.flags for (best,) in lost(line)] == [("sentences", "unknown")]


CUT, SMALL = "The bird is his — It begins.", "The bird is his and it is very small."
VOGEL = "Der Vogel gehört ihm"
BIRD = "The bird belongs on the eighteenth."


@pytest.mark.parametrize(
    ("line", "attempts", "best", "fallback"),
    [
        (f"{VOGEL} — Der Kurs beginnt.", [[f"?{BIRD}"], ["The bird is his", "It begins."]], CUT, "sentences"),
        (f"{VOGEL} — Der Kurs beginnt.", [[BIRD], ["?The bird is his", "It begins."]], BIRD, ""),
        (f"{VOGEL} — Der Kurs beginnt.", [["?The bird is his — It begins."]], CUT, ""),
        (f"{VOGEL}; er ist noch sehr klein.", [[f"?{SMALL}"]], SMALL, ""),
        # A label that was lost is translated alone.
        *(
            (
                f"{label} {VOGEL}.",
                [["The bird is his."], [*parts, "The bird is his."]],
                f"{label} The bird is his.",
                "sentences",
            )
            for label, parts in (("Anna:", ["Anna."]), ("- Anna:", ["Anna."]), ("5.2", []))
        ),
    ],
)
def test_clauses_that_were_joined_are_translated_alone_if_the_model_is_surer_of_them(
    translator: Translator, line: str, attempts: list[list[str]], best: str, fallback: str
) -> None:
    scripted = Doubtful(translator, *attempts)
    ((found,),) = scripted(line)
    assert (found.text, found.fallback, len(scripted.asked)) == (best, fallback, len(attempts))
    assert not {"sentences", "numbers"}.intersection(found.flags)


def test_a_line_that_was_cut_already_is_not_cut_again(translator: Translator) -> None:
    scripted = Scripted(translator, *[["Yes", "Yes"]] * 3)
    line = "Das Rathaus öffnet am Freitag. Das Museum schließt am Montag."
    ((best,),) = scripted(line, search=replace(SHORT, guard=True))
    assert "sentences" in best.flags
    assert [(len(texts), steps) for texts, steps, _ in scripted.asked] == [(2, USUAL), (2, USUAL)]


def test_samples_are_judged_and_replaced_one_by_one_and_never_by_beam_search(translator: Translator) -> None:
    sampling = replace(SHORT, guard=True, samples=3, n_best=3)
    listed = Listed(translator, ["A {x}.", "A dog.", LOOP], ["One.", "Two.", LOOP])
    (found,) = listed("Ein {x}.", search=sampling)
    assert [(t.text, t.flags, t.fallback) for t in found] == [
        ("A {x}.", (), ""),
        ("Two {x}.", (), "items"),
        (f"{LOOP} {{x}}", ("loop", "too_long"), "items"),
    ]
    assert [search for _, _, search in listed.asked] == [sampling] * 2


def test_samples_without_letters_are_all_copied_and_keep_their_number(translator: Translator) -> None:
    sampling = replace(SHORT, guard=True, samples=3, n_best=3)
    (found,) = Listed(translator, ["Noon.", "12", "Ten."])("12", search=sampling)
    assert [(t.text, t.fallback) for t in found] == [("12", "copy"), ("12", ""), ("12", "copy")]
    (found,) = translator.translate_n_best(["www.example.org"], sampling)
    assert [t.text for t in found] == ["www.example.org"] * 3


def test_a_retry_comes_first_in_an_n_best_list_and_the_others_stay(translator: Translator) -> None:
    n_best = replace(SHORT, guard=True, beam_size=3, n_best=3)
    listed = Listed(translator, [LOOP, "A dog.", "x " + LOOP], ["A dog runs.", "Never shown."])
    (found,) = listed("Ein Hund läuft.", search=n_best)
    assert [(t.text, t.flags, t.fallback) for t in found] == [
        ("A dog runs.", (), "no repeats"),
        (LOOP, ("loop", "too_long"), ""),
        ("A dog.", (), ""),
    ]
    listed = Listed(translator, [LOOP, "A dog.", "Dogs."], ["A dog.", "Never shown."])
    (found,) = listed("Ein Hund läuft.", search=n_best)
    assert [t.text for t in found] == ["A dog.", LOOP, "Dogs."], "no translation is listed twice"


@pytest.mark.parametrize(("samples", "texts"), [(0, ["A dog", "Dogs"]), (3, ["A dog", "A dog"])])
def test_hypotheses_of_a_text_are_one_but_samples_each(translator: Translator, samples: int, texts: list[str]) -> None:
    listed = Listed(translator, facts=Facts(final_mark="."))
    call = listed.translator.call(replace(SHORT, beam_size=3, n_best=2, samples=samples), "none")
    found = ["A dog.", "A dog", "Dogs."]
    object.__setattr__(call, "leaves", lambda leaves, _: [listed.answers(leaf, iter(found)) for leaf in leaves])
    assert [t.text for t in call.translate([Request("Ein Hund")])[0]] == texts


def test_what_the_model_is_unsure_of_keeps_its_mark_however_it_looks(translator: Translator) -> None:
    scripted = Scripted(translator, [LOOP, "Fine."], ["A dog runs."], facts=Facts(least_confidence=0.7))
    (looped,), (fine,) = scripted("Ein Hund läuft.", "Schön.")
    assert (looped.text, looped.flags, looped.fallback) == ("A dog runs.", ("unsure",), "no repeats")
    assert (fine.text, fine.flags, fine.fallback) == ("Fine.", ("unsure", "unknown"), "")


@pytest.mark.parametrize(("ratio", "flags"), [(1.0, ("too_long",)), (3.0, ())])
def test_lengths_are_judged_by_the_usual_ratio(translator: Translator, ratio: float, flags: tuple[Flag, ...]) -> None:
    long = "A dog is running over the wide green meadow by the river, today."
    scripted = Scripted(translator, *[[long]] * 9, facts=Facts(length_ratio=ratio))
    ((best,),) = scripted("Ein Hund läuft.")
    assert best.flags == flags


def test_items_that_the_user_describes_are_kept(translator: Translator) -> None:
    scripted = Scripted(translator, ["Part hello."], ["Part."])
    ((best,),) = scripted(Request("Teil AB-12.", user_items=UserItems.parse(["[A-Z]+-[0-9]+"])))
    assert (best.text, best.flags) == ("Part AB-12.", ())


def test_what_is_wrong_to_the_eye_is_worse_than_being_unsure() -> None:
    falling: list[list[Flag]] = [["loop", "copy"], ["items", "unsure"], ["items"], ["unsure"], []]
    assert sorted(falling, key=gravity) == falling[::-1]


def test_items_that_were_put_back_are_linked(translator: Translator) -> None:
    ((best,),) = Scripted(translator, ["Hello!"], ["Hello!"])("Hallo {name}!")
    assert (1, 1) in translator.align("Hallo {name}!", best)


@pytest.mark.parametrize("item", ["{name}", "%s", "https://example.org/a?b=1", "a.b@example.org", "<b>", "😀"])
def test_placeholders_addresses_tags_and_emoji_survive(translator: Translator, item: str) -> None:
    for line in (f"Der Hund {item} läuft.", f"{item} Der Hund", f"{item}"):
        ((best,),) = translator.translate_n_best([line], replace(SHORT, guard=True))
        assert item in best.text
        assert "items" not in best.flags
