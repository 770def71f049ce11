"""Bodies: what arrives becomes a checked dataclass, or a sentence (see test_any_request.py for all that may arrive)."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from nmt.fields import Range, read_value
from nmt.server.apis.native.schema import as_json


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Range(1, 9)] = 1


@dataclass(frozen=True)
class Outer:
    name: str
    kind: Literal["a", "b"] = "a"
    share: float = 0.5
    words: list[str | list[str]] = field(default_factory=list)
    inner: Inner = field(default_factory=Inner)
    limit: Annotated[int, Range(0, 5)] | None = None


def test_a_body_is_read_with_its_parts() -> None:
    value = {"name": "x" * 99, "share": 1, "words": ["a", ["b", "c"]], "inner": {"size": 3}, "kind": None}
    made = read_value(value, Outer, "the body")
    assert made == Outer("x" * 99, "a", 1.0, ["a", ["b", "c"]], Inner(3))
    assert as_json(made) == {**value, "kind": "a"}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "the body is a list: it must be an object such as {name: ...}"),
        ({}, "name is missing: it must be a text"),
        ({"name": "x", "nmae": 1}, "the body has no member 'nmae': did you mean name?"),
        ({"name": "x", "kind": "c"}, "kind is 'c': it must be one of a, b"),
        ({"name": "x", "share": float("nan")}, "share is nan: it must be a number"),
        ({"name": "x", "share": 10**400}, "share is a number that is too large: it must be a number"),
        ({"name": "x", "share": True}, "share is true: it must be a number"),
        ({"name": "x", "inner": {"size": 10}}, "inner.size is 10: it must be at least 1 and at most 9"),
        ({"name": "x", "inner": {"size": 1.5}}, "inner.size is 1.5: it must be a whole number"),
        (
            {"name": "x", "words": ["a", {}]},
            "words[1] is an object: it must be a text or a list such as [a, b], each item a text",
        ),
        ({"name": "x", "limit": 6}, "limit is 6: it must be at least 0 and at most 5"),
    ],
)
def test_a_wrong_body_is_told_why(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        read_value(value, Outer, "the body")
