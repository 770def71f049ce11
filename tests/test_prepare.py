"""What the command tells of a corpus: warnings, and examples of what was dropped."""

import json
import re
from pathlib import Path

import pytest

from nmt.prepare import main
from tests.data.corpus_files import write_corpus


def test_corpora_that_look_bad_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a main corpus, a like one, and one of which half of the pairs are copies, and the other half lacks text."""
    letters = [a + b for a in "abcdefghijkl" for b in "mnopqrstuvwxyz"]
    for name, size in (("main", 168), ("like", 120), ("bad", 160)):
        german = [f"Das {name} Haus von Herrn {word} ist sehr groß" for word in letters[:size]]
        english = [f"The {name} house of Mister {word} is very big" for word in letters[:size]]
        if name == "bad":
            english = [german[n] if n % 2 else english[n][:22] for n in range(size)]
        held_out = {split: [(f"{split} de", f"{split} en")] for split in ("val", "test")}
        write_corpus(tmp_path / name, train=[*zip(german, english, strict=True)], **held_out)
    more = f"[{{corpus: {tmp_path / 'like'}}}, {{corpus: {tmp_path / 'bad'}}}]"
    options = ["--data.corpus", str(tmp_path / "main"), "--data.more", more, "--cleaning.copies", "all"]
    assert main([*options, "--runs", str(tmp_path), "--name", "run", "--tokenizer.vocab_size", "330"]) == 0
    assert re.findall("WARNING: (bad|main|like): (.*)", capsys.readouterr().err) == [
        ("bad", "50% of its pairs were dropped; of the others, 0%."),
        ("bad", "50% of its pairs were dropped: the sides have the same letters."),
    ]


def test_the_number_of_examples_has_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("21", "-1", "abc"):
        assert main(["--explain", wrong]) != 0
        assert f"--explain is {wrong}: it must be a whole number from 0 to 20" in capsys.readouterr().err


@pytest.fixture
def faulty(tmp_path: Path) -> list[str]:
    """The command that prepares a corpus of TSV with one of JSON beside it, which reading drops rows of."""
    pairs = [(f"Satz {n}", f"sentence {n}") for n in range(30)]
    (tmp_path / "mine").mkdir()
    for split in ("train", "val", "test"):
        good = "".join(f"{split} {source}\t{split} {target}\n" for source, target in pairs)
        bad = b"no column \x1b\nblank\t\n\tblank\nfunf\xfc\tfive\n" + 30 * b"none\n"
        (tmp_path / "mine" / f"{split}.tsv").write_bytes(good.encode() + bad)
    objects = [json.dumps({"de": f"Web-{source}", "en": f"web {target}"}) for source, target in pairs]
    objects += ['{"de": "nein", "eng": "no"}', '{"de":']
    (tmp_path / "web.jsonl").write_text("".join(f"{line}\n" for line in objects))
    (tmp_path / "recipe.yaml").write_text(
        f"data: {{corpus: {tmp_path}/mine, more: [{{corpus: {tmp_path}/web.jsonl}}]}}"
    )
    recipe = ["--config", str(tmp_path / "recipe.yaml"), "--tokenizer.vocab_size", "320"]
    return [*recipe, "--runs", str(tmp_path), "--name", "run", "--explain"]


def test_rows_that_reading_dropped_are_shown_with_lines(faulty: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*faulty, "20"]) == 0
    shown = capsys.readouterr().out
    causes = dict(part.split("\n", 1) for part in shown.split("\nDropped: ")[1:])
    assert all(line.startswith("  mine train:") for line in causes["too few columns"].splitlines())
    assert causes["too few columns"].count("\n") == 20, "no more are kept"
    assert sorted(causes["a side is blank"].splitlines()) == ["  mine train:32: blank", "  mine train:33: \tblank"]
    assert causes["invalid UTF-8"] == "  mine train:34: funf\ufffd\tfive\n"
    assert causes["no text in one or both languages"] == '  web.jsonl train:31: {"de": "nein", "eng": "no"}\n'
    assert causes["not JSON"].startswith('  web.jsonl train:32: {"de":')
    assert main([*faulty, "1"]) == 0
    assert capsys.readouterr().out.count("train:") == 5
