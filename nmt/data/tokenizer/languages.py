"""The languages that one model translates between, and how it is told them: by pieces before a text."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nmt.fields import require

CHOICE = "--from (in Python, between(source=...))", "--to (in Python, to=)"  # of languages for translating


@dataclass(frozen=True)
class Languages:
    """How a model is told from which language, and into which, it translates: by pieces before the texts."""

    before_source: dict[str, str] = field(default_factory=dict)
    """The piece for each source language, empty if the model needn't be told; no pieces if it never is."""
    before_target: dict[str, str] = field(default_factory=dict)
    """The piece for each target language, which its translations begin with."""
    target_in_source: bool = False
    """Whether the piece of the target language stands before the source instead (Marian, and models trained here)."""
    source: str = ""
    """Code of the language that was chosen; empty: none is."""
    target: str = ""

    @classmethod
    def among(cls, codes: Sequence[str]) -> "Languages":
        """Those of a model that is trained here to translate each of these languages into each other one: the piece of
        the target language stands before the source, and the source language isn't told."""
        return cls(dict.fromkeys(codes, ""), {code: f"<2{code}>" for code in codes}, target_in_source=True)

    def direction_in(self, name: str) -> tuple[str, str]:
        """The languages that the name of a test set ends in, such as test.de-fr; empty codes if it has no such end."""
        pairs = ((a, b) for a in self.before_source for b in self.before_target if a != b)
        return next((pair for pair in pairs if name.endswith(f".{'-'.join(pair)}")), ("", ""))

    def between(self, source: str, target: str) -> "Languages":
        """These languages, with others chosen; empty keeps the present choice. ValueError for an unknown code."""
        for side, code, known in (("source", source, self.before_source), ("target", target, self.before_target)):
            if not code or not known or code in known:
                continue
            near = difflib.get_close_matches(code, known, n=5, cutoff=0.4) or [k for k in known if k[:2] == code[:2]]
            hint = f"near ones are {', '.join(near)}" if near else f"it knows {some_of(list(known))}"
            raise ValueError(f"the {side} language is {code}, which the model doesn't know: {hint}")
        return replace(self, source=source or self.source, target=target or self.target)

    @property
    def several(self) -> bool:
        """Whether the model knows more than one pair of languages."""
        return bool(self.before_source or self.before_target)

    @property
    def chosen(self) -> bool:
        """Whether the languages that the model must be told are chosen."""
        sides = (self.source, self.before_source), (self.target, self.before_target)
        return all(code in known or not any(known.values()) for code, known in sides)

    def require_chosen(self, options: tuple[str, str] = CHOICE) -> None:
        """Raise ValueError if a language that the model must be told isn't chosen. `options`: how they are chosen."""
        for side, how, code, known in (
            ("source", options[0], self.source, self.before_source),
            ("target", options[1], self.target, self.before_target),
        ):
            problem = f"the model knows {len(known)} languages, {some_of(list(known))}"
            is_chosen = code in known or not any(known.values())
            require(is_chosen, f"{problem}: choose the {side} language with {how}")

    def starts(self) -> tuple[list[str], list[str]]:
        """The pieces before each source, and before each target."""
        source = [piece] if (piece := self.before_source.get(self.source)) else []
        target = [piece] if (piece := self.before_target.get(self.target)) else []
        return (target + source, []) if self.target_in_source else (source, target)


def some_of(codes: list[str], most: int = 12) -> str:
    shown = ", ".join(codes[:most])
    return shown if len(codes) <= most else f"{shown} and {len(codes) - most} more"
