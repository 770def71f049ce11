"""What DeepL's API and our own ask of the engine: texts, languages, constraints and a glossary flow in; requests of the
engine flow out, then their translations."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.config import SearchConfig
from nmt.fields import shown
from nmt.reading.request import NO_CONSTRAINTS, Constraints, Request, Translation
from nmt.server.codes import find_code
from nmt.server.errors import Refused
from nmt.server.models import Direction, Models
from nmt.server.work.owners import Work
from nmt.server.work.queue import Engine
from nmt.text.markup import Mode
from nmt.translation.glossary import Glossary
from nmt.translation.translator import Translator

# More would take minutes of search, and gigabytes: each doubles what the search must tell apart.
MOST_PHRASES, MOST_FORBIDDEN, MOST_LETTERS = 32, 256, 2_000  # in must, with alternatives; in must_not; in all of them
MOST_TERMS = 32  # of a glossary, in a text


@dataclass(frozen=True)
class Asked:
    """Texts of one direction, with all that their translation needs."""

    engine: Engine
    work: Work
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
        must = [phrase for term in self.constraints.must for phrase in term.targets]
        letters = sum(map(len, (self.constraints.prefix, *must, *self.constraints.must_not)))
        n = max(len(must), len(self.constraints.must))  # a term may have no phrase
        if n > MOST_PHRASES or len(self.constraints.must_not) > MOST_FORBIDDEN or letters > MOST_LETTERS:
            most = f"{MOST_PHRASES} phrases in must, {MOST_FORBIDDEN} in must_not, {MOST_LETTERS:,} characters"
            raise Refused(f"there are too many constraints: at most {most}", code="constraints")
        if problem := self.translator.compiler.problem(self.constraints, self.search):
            raise Refused(f"prefix, must or must_not can't be met: {problem}", code="constraints")
        requests = [Request(text, self.constraints) for text in texts]
        if not self.glossary:
            return requests, [""] * len(texts)
        found = []
        for request in requests:
            self.work.stop.check()
            found.append(self.glossary.add_terms(request, self.translator, self.search, self.markup, MOST_TERMS))
        return [request for request, _ in found], [note for _, note in found]

    async def translate(self, texts: Sequence[str]) -> list[list[Translation]]:
        """The n-best list of each text."""
        requests = [*map(Request, texts)]
        if self.glossary or self.constraints != NO_CONSTRAINTS:
            requests, _ = await self.engine.places.run(self.work, self.make, texts)
        return await self.translate_requests(requests)

    async def translate_requests(self, requests: Sequence[Request]) -> list[list[Translation]]:
        return await self.engine.translate(self.work, self.translator, requests, self.search, markup=self.markup)


def find_direction(models: Models, source: str, target: str) -> Direction:
    """The codes of a direction as the models write them. Without a source, the only one with this target. Refused if
    there is none."""
    languages = models.languages
    sources = [find_code(source, languages)] if source else [*languages]
    found = [(code, other) for code in sources if code and (other := find_code(target, languages[code]))]
    if not found:
        asked = f"{source[:60]} to {target[:60]}" if source else f"to {target[:60]}"
        known = ", ".join(f"{code} to {other}" for code, others in languages.items() for other in others[:20])
        raise Refused(f"no model translates {shown(asked)}: there is {known}", code="unknown_direction")
    if len(found) > 1:
        choices = " or ".join(code for code, _ in found)
        raise Refused(f"source is missing: {found[0][1]} is translated from {choices}", code="unknown_direction")
    return found[0]
