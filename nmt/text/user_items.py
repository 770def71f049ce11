"""Items that a user describes: regular expressions flow in; the parts of a text that they match flow out.

Python's `re` has no limit of time. Therefore expressions that can take exponential time are refused, and a long text is
searched in parts of about LONGEST characters, so that quadratic time for a part stays linear for the text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmt.fields import require, texts_of

LONGEST = 1000
# What matters in an expression: escapes, sets, groups, alternatives, and repeats (with the + or ? after them).
SYNTAX = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?|[()|]|(?:[*+?]|\{\d*,\d*\})[+?]?", re.DOTALL)


@dataclass(frozen=True)
class UserItems:
    """The expressions, compiled."""

    patterns: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def parse(cls, expressions: Sequence[str]) -> "UserItems":
        """Raises ValueError, for the user, if an expression is wrong or could take too long."""
        return cls(tuple(map(compile_item, texts_of(expressions, "expressions"))))

    def find(self, text: str) -> list[tuple[int, int]]:
        """Start and end of all matches, in order, without overlaps; where two begin, the first expression counts."""
        matches = [
            (match.start(), n, match.end())
            for n, pattern in enumerate(self.patterns)
            for start, end in parts(text)
            for match in pattern.finditer(text, start, end)
            if match.end() > match.start()
        ]
        found: list[tuple[int, int]] = []
        for start, _, end in sorted(matches):
            if not found or start >= found[-1][1]:
                found.append((start, end))
        return found


NO_USER_ITEMS = UserItems()


def compile_item(expression: str) -> re.Pattern[str]:
    problem = f"the item {expression!r} is no regular expression"
    try:
        pattern = re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{problem}: {error}") from error
    require(pattern.match("") is None, f"the item {expression!r} matches an empty text: let it need a character")
    problem = f"the item {expression!r} repeats a group that has a repeat or alternatives, which can take very long"
    require(not repeats_choices(expression), f"{problem}: write (?:…)*+, (?:…)++ or (?:…){{1,9}}+ for the group")
    return pattern


def repeats_choices(expression: str) -> bool:
    """Whether a group that can match in several ways is repeated: then the ways multiply. A possessive repeat, such as
    `*+`, is one way only."""
    groups, last_group = [False], (-1, False)  # whether each open group has choices; end of the last, and its choices
    for match in SYNTAX.finditer(expression):
        sign = match[0]
        possessive = len(sign) > 1 and sign[-1] == "+"
        if sign[0] == "(":
            groups.append(False)
        elif sign == ")" and len(groups) > 1:
            last_group = match.end(), groups.pop()
            groups[-1] |= last_group[1]
        elif sign[0] in "*+{?" and not possessive:
            if sign[0] != "?" and last_group == (match.start(), True):
                return True
            groups[-1] = True
        elif sign == "|":
            groups[-1] = True
    return False


def parts(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of parts of a text, each of about LONGEST characters, cut at blanks where there are any."""
    start = 0
    while len(text) - start > LONGEST:
        end = text.rfind(" ", start + 1, start + LONGEST) + 1 or start + LONGEST
        yield start, end
        start = end
    yield start, len(text)
