"""An echo, a model that writes what it reads: steps forward and back are the line again, and forced as it was found."""

import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.tokenizer import Tokenizer
from nmt.reading.loop import Limits, Step
from nmt.text.normalise import tidy
from nmt.text.words import Words
from nmt.translation.repair import CLAUSES, LIFTED, PLAIN, USUAL
from tests.reading.pretended import Pretended, asked_of, context_of, text_of
from tests.tiny import PAIRS

many = settings(max_examples=100, deadline=None, derandomize=True)
WORDS = Words.learn([source for source, _ in PAIRS])
ITEMS = ["{name}", "%s", "https://example.org/a?b=c", "a.b@example.org", "😀", "<b>", "</b>"]
SIGNS = ["- ", "> ", "1) ", "„", "“", "(", ")", '"', ".", "!!!", "…", "?", ",", " [1]", " :-)", " – "]
texts = st.lists(
    st.sampled_from(["Der ", "kleine ", "Hund ", "läuft", " über", " Rene ", "\n", " ", "Ja. ", *ITEMS, *SIGNS]),
    max_size=12,
).map(lambda parts: re.sub(r" +", " ", "".join(parts)).strip())
# A model without … writes ..., and what follows is then a part of the address before it.
lines = texts.filter(lambda line: not re.search(r"(?:://|@)\S*…\S", line))
plans = st.sampled_from([USUAL, LIFTED, PLAIN, CLAUSES])


@pytest.fixture(scope="module", params=[False, True], ids=["", "placeholders"])
def known(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Iterator[Tokenizer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "has_placeholders", request.param)
        yield tokenizer.with_words(WORDS)


def plain(text: str) -> str:
    """The text in its words, without blanks; quotes and dashes may be others."""
    return re.sub('["„“”«»]', '"', "".join(tidy(text).replace("…", "...").split()))


@many
@given(line=lines, steps=plans, mark=st.sampled_from(["", "."]), mode=st.sampled_from(["auto", "none"]))
def test_an_echo_gives_back_each_line(known: Tokenizer, line: str, steps: Sequence[Step], mark: str, mode: str) -> None:
    context = context_of(known, final_mark=mark, mode=mode, limits=Limits(30, 30, 2))
    best = text_of(line, steps, context)
    assert plain(best.text).casefold() == plain(line).casefold()
    assert best.text.count("\n") == line.count("\n")
    for part in best.parts:
        for character, i, j in zip(part.read, part.source_places, part.target_places, strict=True):
            assert not character.isalpha() or line[i].casefold() == best.text[j].casefold()


@many
@given(line=lines, steps=plans, mark=st.sampled_from(["", "."]))
def test_what_an_echo_wrote_is_scored_too(known: Tokenizer, line: str, steps: Sequence[Step], mark: str) -> None:
    context, model = context_of(known, final_mark=mark, mode="auto"), Pretended()
    best = text_of(line, steps, context, model)
    asked = asked_of(line, best.text, steps, context)
    assert {plain(text).casefold() for text in model.asked} <= {plain(text).casefold() for text in asked}
