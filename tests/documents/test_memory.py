"""Translation memory: exact matches are taken, similar ones flagged, the rest is translated."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from nmt.documents.base import Answer, Unit
from nmt.documents.memory import Memory, with_memory
from nmt.translate import main
from tests.documents.office_samples import TMX
from tests.tiny import Stderr

PAIRS = [("Der Hund bellt laut.", "old"), ("Der Hund  bellt laut.", "The dog barks loudly."), ("Guten Tag!", "Hello!")]


def test_exact_matches_are_taken_and_similar_ones_are_flagged() -> None:
    asked: list[str] = []

    def translate(units: Sequence[Unit]) -> list[Answer]:
        asked.extend(unit.text for unit in units)
        return [Answer(f"<{unit.text}>") for unit in units]

    texts = ["Der Hund bellt laut.", "Etwas anderes", " Guten Tag! ", "Der Hund bellt laut!"]
    units = [*(Unit(text) for text in texts), Unit("Der <b>Hund</b> bellt laut.", markup=True)]
    units += [Unit("Guten Tag!", markup=True), Unit("Auf &amp; ab", markup=True)]
    answers = with_memory(translate, Memory([*PAIRS, ("Auf & ab", "Up & down")]))(units)
    assert [answer.text for answer in answers] == [
        *("The dog barks loudly.", "<Etwas anderes>", "Hello!", "The dog barks loudly."),
        *("<Der <b>Hund</b> bellt laut.>", "Hello!", "Up &amp; down"),
    ]
    assert [n for n, answer in enumerate(answers) if answer.flags == ("fuzzy",)] == [3]
    assert asked == ["Etwas anderes", "Der <b>Hund</b> bellt laut."]
    assert with_memory(translate, Memory(PAIRS), threshold=1)(units)[3] == Answer("<Der Hund bellt laut!>")


def test_the_most_similar_text_wins_and_the_threshold_counts() -> None:
    memory = Memory((f"Seite {n} von {n * 7} ist leer", str(n)) for n in range(300))
    assert memory.find("Seite 42 von 294 ist voll", 0.8) == Answer("42", ("fuzzy",))
    assert memory.find("Seite 42 von 294 ist voll", 0.95) is None
    assert memory.find("Ganz neu", 0.1) is None
    assert memory.find("", 0.5) is None
    long = Memory((f"{n} {'viele Wörter ' * 150}", "long") for n in range(30))
    assert len(memory.candidates("42 Seite ")) == 20
    assert len(long.candidates(f"42 {long.texts[0]} ")) == 3


@pytest.mark.parametrize(
    ("known", "text", "flags"),
    [
        ("これは私の新しい車です。", "これは私の古い車です。", ("fuzzy",)),  # no blanks between words
        ("Für Öl", "Fu\u0308r O\u0308l", ()),  # NFD
        ("Donau\xaddampf", "Donaudampf", ()),  # a soft hyphen, as Word has them
    ],
)
def test_texts_are_compared_as_they_are_read_in_all_scripts(known: str, text: str, flags: tuple[str, ...]) -> None:
    assert Memory([(known, "known")]).find(text, 0.8) == Answer("known", flags)


def test_a_side_of_a_memory_is_no_translation_of_itself(tmp_path: Path) -> None:
    sides = "".join(f'<tuv xml:lang="{code}"><seg>{code}</seg></tuv>' for code in ("en-GB", "de"))
    (tmp_path / "a.tmx").write_text(f"<tmx><body><tu>{sides}</tu></body></tmx>")
    assert Memory.load([tmp_path / "a.tmx"], "de", "en").translations == {"de": "en-GB"}
    with pytest.raises(ValueError, match="both languages"):
        Memory.load([tmp_path / "a.tmx"], "en", "en-GB")


def test_a_command_takes_from_memories(model_folder: Path, tmp_path: Path, stderr_of: Stderr) -> None:
    (tmp_path / "a.tmx").write_text(TMX.replace("Gut", "Alles ist gut."), encoding="utf-8")
    entries = (("a", "Alles ist gut."), ("b", "Alles ist gut!"))
    resources = "".join(f'<data name="{name}"><value>{text}</value></data>' for name, text in entries)
    (tmp_path / "a.resx").write_text(f"<root>{resources}</root>", encoding="utf-8")
    output = tmp_path / "b.resx"
    command = [str(tmp_path / "a.resx"), "--model", str(model_folder), "--device", "cpu", "--output", str(output)]
    command += ["--memory", str(tmp_path / "a.tmx")]
    assert "entry b: fuzzy" in stderr_of(main, command, status=0)
    assert output.read_text(encoding="utf-8").count("<value>Good</value>") == 2
    (tmp_path / "terms.tsv").write_text("gut\tGood\nalles\teverything", encoding="utf-8")
    told = stderr_of(main, [*command, "--must-not", "Good"], status=0)
    assert "entry a: constraints\nentry b: fuzzy (the translation of a similar" in told
    told = stderr_of(main, [*command, "--glossary", str(tmp_path / "terms.tsv")], status=0)
    assert "entry a: constraints" in told
    assert "Glossary: 2 of 4 terms met" in told
    assert main([*command, "--memory-threshold", "95"]) == 0
    assert output.read_text(encoding="utf-8").count("<value>Good</value>") == 1
    assert "a percentage from 1 to 100" in stderr_of(main, [*command, "--memory-threshold", "0"])
