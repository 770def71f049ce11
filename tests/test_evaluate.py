"""The command prints what sacreBLEU gives for the one Translator's translations, or tells a mistake in one line."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.evaluate import main
from nmt.scoring.metrics import score
from nmt.translation.translator import Translator
from tests.data.corpus_files import write_corpus
from tests.tiny import PAIRS, SHORT, Stderr, make_model, save_tiny, write

SOURCES, REFERENCES = map(list, zip(*PAIRS, strict=True))


@pytest.fixture
def run(model_folder: Path, tmp_path: Path) -> Path:
    """A run folder with two test sets."""
    folder = tmp_path / "run"
    write_corpus(folder / "data", "src", "tgt", train=PAIRS[:1], test=PAIRS, test_2=PAIRS[:1])
    (folder / "model").symlink_to(model_folder)
    return folder


def test_a_run_is_evaluated_on_its_own_test_sets(run: Path, auto: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(run), "--json", "-", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(test["test"], test["sentences"]) for test in found] == [("test", 3), ("test_2", 1)]
    assert found[0]["settings"]["precision"] == auto, "as in nmt.translate"
    translations = Translator.load(run / "model", "cpu").translate(SOURCES)
    for shown, expected in zip(found[0]["scores"], score(translations, REFERENCES), strict=True):
        assert shown == {"name": expected.name, "value": expected.value, "signature": expected.signature}


def test_files_are_scored_as_a_table_and_as_json(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--source", write(tmp_path / "[in].de", SOURCES), "--reference", write(tmp_path / "in.en", REFERENCES)]
    options = ["--model", str(run / "model"), "--beam-size", "1", "--ter", "--json", str(tmp_path / "j")]
    assert main([*files, *options, "--precision", "int8", "--device", "cpu"]) == 0
    assert "\nfp32 on cpu (plain searches: CTranslate2, int8" in capsys.readouterr().out
    assert '"plain_searches": "CTranslate2, int8' in (tmp_path / "j").read_text()
    assert main([*files, *options, "--precision", "fp32"]) == 0
    table = capsys.readouterr().out
    assert "│ [in] │" in table
    (found,) = json.loads((tmp_path / "j").read_text())
    assert [s["name"] for s in found["scores"]] == ["BLEU", "chrF", "exact", "TER"]
    for shown in found["scores"]:
        assert f"{shown['value']:.2f}" in table
        assert shown["signature"] in table
    greedy = Translator.load(run / "model", "cpu", replace(SHORT, beam_size=1), precision="fp32")
    assert found["scores"][1]["value"] == score(greedy.translate(SOURCES), REFERENCES)[1].value
    plain = "\nfp32 on cpu (plain searches: CTranslate2, float32)"
    assert f"{plain}, beam_size 1, max_length_ratio 0.3, guard false, batch_size 4\n" in table


def test_all_search_settings_can_be_given_and_the_translations_kept(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], stderr_of: Stderr
) -> None:
    options = ["--model", str(run), "--json", "-", "--device", "cpu", "--save", str(tmp_path / "kept")]
    search = ["--samples", "4", "--seed", "5", "--guard", "true", "--split-above", "9"]
    assert main([*options, *search]) == 0
    found, _ = json.loads(capsys.readouterr().out)
    changed = replace(SHORT, samples=4, seed=5, guard=True, split_above=9)
    assert found["settings"]["search"] == asdict(changed)
    translations = Translator.load(run / "model", "cpu").translate(SOURCES, changed)
    assert (tmp_path / "kept" / "test.out").read_text("utf-8").splitlines() == translations
    assert len((tmp_path / "kept" / "test_2.out").read_text("utf-8").splitlines()) == 1
    assert "test.out exists already: name another folder for --save" in stderr_of(main, [*options, *search])


def test_translations_made_elsewhere_are_scored_without_a_model_by_their_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ["A dog runs.", "Two men.", "There."]
    files = ["--hypothesis", write(tmp_path / "out.en", REFERENCES), "--reference", write(tmp_path / "a.en", other)]
    files += ["--reference", write(tmp_path / "b.en", REFERENCES)]
    assert main([*files, "--json", "-"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["test"] == "out.en"
    assert found["scores"][0]["value"] == pytest.approx(100)
    assert "nrefs:2" in found["scores"][0]["signature"]
    for options, tokenizer in (([], "13a"), (["--target-language", "th"], "char"), (["--to", "zho_Hans"], "zh")):
        assert main([*files, *options, "--json", "-"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert f"|tok:{tokenizer}|" in found["scores"][0]["signature"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "two", "--reference", "one"], "2 lines in two but 1 in one"),
        (["--hypothesis", "two", "--reference", "one"], "2 translations but 1 references"),
        (["--source", "two"], "--source and --reference belong together"),
        (["--source", "", "--reference", "two"], ".: Is a directory"),
        (["--hypothesis", "two"], "--reference"),
        (["--source", "none", "--reference", "none"], "no lines"),
        (["--source", "missing", "--reference", "one"], "missing"),
        (["--model", "model"], "no run folder"),
        (["--source", "two", "--reference", "two", "--json", "model"], "model: Is a directory"),
        (["--source", "two", "--reference", "two", "--json", "two"], "which is also an input: name another"),
        (["--hypothesis", "two", "--reference", "one", "--json", "one"], "one would overwrite"),
        (["--source", "two", "--reference", "two", "--save", "one"], "one is no folder, or can't be written to"),
        (["--source", "two", "--reference", "two", "--save", "one/new"], "one is no folder, or can't be written to"),
        (["--hypothesis", "a", "b", "--reference", "a"], "several systems are given, but one is scored at a time"),
        (["--source", "two", "--reference", "two", "--temperature", "0.5"], "--temperature: used only where"),
        (["--hypothesis", "two", "--reference", "two", "--save", "x", "--precision", "int8"], "--precision, --save: "),
    ],
)
@pytest.mark.usefixtures("auto")
def test_a_mistake_is_told_in_one_line(
    arguments: list[str], message: str, run: Path, here: Path, stderr_of: Stderr
) -> None:
    for name, n in (("two", 2), ("one", 1), ("none", 0)):
        write(here / name, SOURCES[:n])
    (here / "model").symlink_to(run / "model")
    model = [] if {"--model", "--hypothesis"} & {*arguments} else ["--model", str(run)]
    said = stderr_of(main, [*model, *arguments])
    assert said.startswith("nmt.evaluate: ")
    assert message in said
    assert said.count("\n") == 1


LINES = [f"a dog runs in garden {n}" for n in range(40)]


def test_two_systems_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = write(tmp_path / "[ref]", LINES)
    good, better = (write(tmp_path / f"a{n}", [*LINES[:-n], *["the"] * n]) for n in (2, 1))
    bad = write(tmp_path / "b", [line.replace("dog", "cat") for line in LINES])
    options = ["--hypothesis", good, better, "--against", bad, "--reference", reference, "--json", str(tmp_path / "j")]
    assert main([*options, "--target-language", "th"]) == 0
    shown = capsys.readouterr().out
    found = json.loads((tmp_path / "j").read_text())
    [(test, comparison)] = found["tests"].items()
    assert (test, comparison["sentences"]) == ("[ref]", 40)
    assert [*map(list, found["systems"].values())] == [[good, better], [bad]]
    for n, name in enumerate((good, better)):
        assert main(["--hypothesis", name, "--reference", reference, "--json", "-", "--target-language", "th"]) == 0
        (alone,) = json.loads(capsys.readouterr().out)
        for of_both, of_one in zip(comparison["scores"], alone["scores"], strict=True):
            assert of_both["a"][n] == of_one["value"]
            assert of_both["signature"] == of_one["signature"]
            assert of_both["signature"] in shown
    assert f"[ref]: {comparison['verdict']}\n" in shown
    assert shown.count("│ [ref] │") == 3
    assert comparison["verdict"].startswith("The difference is real: A is better (BLEU, chrF, exact); the random start")
    assert main([*options, "--ter"]) == 0
    assert len(json.loads((tmp_path / "j").read_text())["tests"]["[ref]"]["scores"]) == 4


def test_models_and_files_share_their_sentences(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(run), "--against", str(run / "model"), "--device", "cpu", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: of["sentences"] for name, of in found["tests"].items()} == {"test": 3, "test_2": 1}
    assert [of["language"] for system in found["systems"].values() for of in system.values()] == ["en", "en"]
    sources = [f"{SOURCES[n % 3]} {n}" for n in range(40)]
    files = ["--source", write(tmp_path / "in", sources), "--reference", write(tmp_path / "ref", LINES)]
    search = ["--beam-size", "1", "--device", "cpu"]
    out = write(tmp_path / "out", Translator.load(run, "cpu", replace(SHORT, beam_size=1)).translate(sources))
    for systems in (["--model", str(run), "--against", out], ["--hypothesis", out, "--against", str(run)]):
        assert main([*systems, *files, *search, "--json", "-"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["tests"]["in"]["verdict"] == "There is no difference at all between A and B."


def test_what_is_wrong_with_a_system_is_told_before_another_translates(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr
) -> None:
    monkeypatch.setattr("nmt.evaluate.evaluate_folder", lambda *_: pytest.fail("something was translated"))
    two, three = (write(tmp_path / f"{n}", SOURCES[:n]) for n in (2, 3))
    (tmp_path / "folder").mkdir()
    model, files = ["--model", str(run), "--source", three], ["--reference", three]
    given = ["--hypothesis", three, *files, "--against"]
    for options, message in (
        ([*model, *files, "--against", two], "2 has 2 lines, but the test set 3: each needs its own"),
        ([*model, *files, "--against", str(tmp_path / "none")], "none: there is no such file or folder"),
        ([*model, *files, "--against", str(tmp_path / "folder")], "folder is not a model folder"),
        ([*given, str(run), *model], "--hypothesis and --model are both system A"),
        ([*given, three, "--beam-size", "3", "--adapter", "x"], "--beam-size, --adapter: for a model, but the trans"),
    ):
        assert message in stderr_of(main, options)


def test_what_cannot_be_compared_is_told(run: Path, tokenizer: Tokenizer, tmp_path: Path, stderr_of: Stderr) -> None:
    french = save_tiny(tmp_path / "french", make_model(tokenizer), tokenizer, languages=("de", "fr"))
    two = write(tmp_path / "two", SOURCES[:2])
    for options, message in (
        (["--model", str(run), "--against", str(french)], "the translations of test are in en and fr: compare models"),
        (["--model", str(run), "--against", two], "two is of one test set, but there are several: give --source"),
        (["--hypothesis", two, "--reference", two, "--against", str(run)], "whose translations need --source"),
        (["--hypothesis", two, "--against", two], "is scored against --reference: give that too"),
        (["--model", str(run), "--against", str(run), "--save", "kept"], "--save is for one system, without --against"),
        (["--model", str(run), "--against", str(run), "--adapter", "x"], "--adapter would be added to A and B: leave"),
    ):
        said = stderr_of(main, [*options, "--device", "cpu"])
        assert said.count("\n") == 1
        assert message in said
