"""What DeepL's API and our own ask of the engine: texts, languages, constraints and a glossary flow in; requests of the
engine flow out, then their translations."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.config import SearchConfig
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Request, Translation
from nmt.server.codes import find_code
from nmt.server.errors import Refused
from nmt.server.models import Direction, Models
from nmt.server.schema import shown
from nmt.server.service import Caller, Service
from nmt.text.markup import Mode
from nmt.translation.glossary import Glossary, add_terms
from nmt.translation.translator import Translator


@dataclass(frozen=True)
class Asked:
    """Texts of one direction, with all that their translation needs."""

    service: Service
    caller: Caller
    direction: Direction
    translator: Translator
    search: SearchConfig
    markup: Mode = "none"
    constraints: Constraints = NO_CONSTRAINTS
    """Of each text."""
    glossary: Glossary | None = None

    def make(self, texts: Sequence[str]) -> tuple[list[Request], list[str]]:
        """The request of each text, and a note (or "") why terms of the glossary were left out; takes time. Refused if
        the constraints can't be met."""
        if problem := self.translator.compiler.problem(self.constraints, self.search):
            raise Refused(f"prefix, must or must_not can't be met: {problem}", code="constraints")
        requests = [Request(text, self.constraints) for text in texts]
        if not self.glossary:
            return requests, [""] * len(texts)
        made = [add_terms(self.glossary, r, self.translator, self.search, self.markup) for r in requests]
        return [request for request, _ in made], [note for _, note in made]

    async def translate(self, texts: Sequence[str]) -> list[list[Translation]]:
        """The n-best list of each text."""
        requests, _ = await self.service.engine.run(self.make, texts)
        return await self.translate_requests(requests)

    async def translate_requests(self, requests: Sequence[Request]) -> list[list[Translation]]:
        engine, key = self.service.engine, self.caller.client
        return await engine.translate(self.translator, requests, self.search, markup=self.markup, key=key)


def find_direction(models: Models, source: str, target: str) -> Direction:
    """The codes of a direction as the models write them. Without a source, the only one with this target. Refused if
    there is none."""
    languages = models.languages
    sources = [find_code(source, languages)] if source else [*languages]
    found = [(code, other) for code in sources if code and (other := find_code(target, languages[code]))]
    if not found:
        asked = f"{source} to {target}" if source else f"to {target}"
        known = ", ".join(f"{code} to {other}" for code, others in languages.items() for other in others[:20])
        raise Refused(f"no model translates {shown(asked)}: there is {known}", code="unknown_direction")
    if len(found) > 1:
        choices = " or ".join(code for code, _ in found)
        raise Refused(f"source is missing: {found[0][1]} is translated from {choices}", code="unknown_direction")
    return found[0]
