"""One model of several directions: trained, validated in each, translated with, evaluated and served."""

import json
from pathlib import Path

import pytest

from nmt import augment, evaluate, pipeline, train, translate
from nmt.data.tokenizer import Tokenizer
from nmt.interop.export import export
from nmt.server.models import read_folder
from nmt.training.delivery import describe
from nmt.translation.inspection import inspect
from nmt.translation.translator import Translator
from tests.data.corpus_files import write_corpus
from tests.tiny import Stderr, make_model, save_tiny

WORDS = {
    "de": ["Hund", "Katze", "Haus", "Baum"],
    "en": ["dog", "cat", "house", "tree"],
    "fr": ["chien", "chat", "maison", "arbre"],
}
SIZES = {"train": 60, "val": 6, "test": 4}
SETTINGS = """
data: {many_to_many: [de, en, fr]}
tokenizer: {vocab_size: 330}
model: {d_model: 16, n_heads: 2, encoder_layers: 1, decoder_layers: 1, d_ff: 32}
search: {guard: false, beam_size: 1, max_length_ratio: 0.3}
training: {max_steps: 4, batch_tokens: 400, warmup_steps: 2, validate_every: 2, log_every: 2, threads: 1, device: cpu}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder."""
    place = tmp_path_factory.mktemp("many")
    for split, size in SIZES.items():
        numbers = [[(n >> shift) % 4 for shift in (0, 2, 4)] for n in range(size)]
        rows = [[" ".join(words[n] for n in row) + f" {split}" for words in WORDS.values()] for row in numbers]
        write_corpus(place / "corpus", *WORDS, **{split: rows})
    (place / "recipe.yaml").write_text(SETTINGS)
    assert train_beside(place / "run", "run") == 0
    return place / "run"


def train_beside(folder: Path, name: str, *more: str) -> int:
    """Train on the corpus of a run folder, with its recipe, in another folder beside it."""
    place = folder.parent
    options = ["--config", f"{place / 'recipe.yaml'}", "--data.corpus", f"{place / 'corpus'}", "--runs", f"{place}"]
    return train.main([*options, "--name", name, *more])


def test_validation_has_the_figures_of_each_direction_and_their_means(folder: Path) -> None:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    record = next(record for record in records if "validation/bleu" in record)
    for name in ("bleu", "chrf", "nll"):
        own = [value for tag, value in record.items() if tag.startswith(f"{name}/")]
        assert len(own) == 6
        assert record[f"validation/{name}"] == pytest.approx(sum(own) / 6)
    assert "bleu/de-fr" in record
    assert len((folder / "translations" / "step-00000002.txt").read_text().splitlines()) == 6 * SIZES["val"]


def test_it_teaches_a_student_of_any_of_its_directions(folder: Path) -> None:
    given = ["--training.teacher", str(folder), "--tokenizer.folder", str(folder)]
    assert train_beside(folder, "student", *given, "--data.source", "fr", "--data.target", "de") == 0


def test_a_corpus_is_augmented_in_the_direction_of_its_languages(folder: Path, tmp_path: Path) -> None:
    options = ["--data.corpus", f"{folder.parent / 'corpus'}", "--data.source", "fr", "--data.target", "de"]
    options += ["--device", "cpu", "--forward", str(folder), "--output", f"{tmp_path / 'out'}"]
    assert augment.main(options) == 0
    sources = (folder.parent / "corpus" / "train.fr").read_text().splitlines()
    made = [(tmp_path / "out" / f"train.{code}").read_text().splitlines()[SIZES["train"] :] for code in ("fr", "de")]
    translator = Translator.load(folder, "cpu").between("fr", "de")
    expected = dict(zip(sources, translator.translate(sources), strict=True))
    assert made[0]
    assert all(expected[source] == target for source, target in zip(*made, strict=True))


def test_one_direction_is_trained_further(folder: Path, tmp_path: Path, stderr_of: Stderr) -> None:
    model, corpus = folder / "model", folder.parent / "corpus"
    options = ["--config", f"{folder / 'config.yaml'}", "--data.corpus", f"{corpus}", "--tokenizer.folder", f"{model}"]
    options += ["--training.start_from", f"{model}", "--training.max_steps", "2", "--runs", f"{tmp_path}"]
    assert train.main([*options, "--data.source", "fr", "--data.target", "de", "--name", "one"]) == 0
    assert [*json.loads((tmp_path / "one" / "report.json").read_text())["tests"]] == ["test"]
    assert "data.source is given alone: give both languages" in stderr_of(train.main, [*options, "--data.source", "fr"])


def test_it_is_compared_with_a_model_of_one_direction_in_that_alone(folder: Path, tmp_path: Path) -> None:
    assert train_beside(folder, "one", "--data.source", "fr", "--data.target", "de") == 0
    options = ["--model", str(folder), "--device", "cpu", "--json", f"{tmp_path / 'scores.json'}"]
    for other, tests in ((folder.with_name("one"), 1), (folder, 6)):
        assert evaluate.main([*options, "--against", str(other)]) == 0
        compared = json.loads((tmp_path / "scores.json").read_text())["tests"]
        assert len(compared) == tests
        assert "test.fr-de" in compared


def test_comparing_needs_one_direction(folder: Path, tokenizer: Tokenizer, tmp_path: Path, stderr_of: Stderr) -> None:
    pairs = (("de", "fr"), ("fr", "de"))
    seeds = [save_tiny(tmp_path / p[0], make_model(tokenizer), tokenizer, languages=p) for p in pairs]
    options = ["--model", str(folder), "--against", *map(str, seeds), "--device", "cpu"]
    assert "no test set is in the languages of all systems: there is test.de-en" in stderr_of(evaluate.main, options)


def test_the_report_has_each_direction_its_validation_and_the_mean(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    chrf = [test["chrf"] for test in report["tests"].values()]
    assert len(chrf) == 6
    assert report["chrf"] == pytest.approx(sum(chrf) / 6, abs=0.01)
    assert (folder / "translations" / "test.en-fr.fr").exists()
    validation, [step] = report["validation"], report["training"]["steps"]["chosen"]
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert {"step": step, **validation} in records
    said = f"validation on fr-de: BLEU {validation['bleu/fr-de']:.2f} (greedy search), nll "
    assert said in "\n".join(describe(report, folder))


def test_the_target_language_is_chosen_by_command_and_by_call(folder: Path, tmp_path: Path, stderr_of: Stderr) -> None:
    translator = Translator.load(folder, precision="fp32")
    with pytest.raises(ValueError, match=r"choose the target language with --to \(in Python, to=\)"):
        translator.translate(["Hund"])
    with pytest.raises(ValueError, match="choose the target language with tgt_lang"):
        pipeline(model=translator)("Hund")
    lines = ["Hund Katze Haus", "Baum <2fr> Hund"]
    wanted = {code: translator.translate(lines, to=code) for code in WORDS}
    assert translator.between("de", "fr").translate(lines) == wanted["fr"]
    named, pipe = pipeline("translation_de_to_fr", model=translator), pipeline(model=translator, tgt_lang="en")
    for code, found in (("fr", named(lines)), ("de", pipe(lines, tgt_lang="de")), ("en", pipe(lines))):
        assert [result["translation_text"] for result in found] == wanted[code]
    file, output = tmp_path / "input.txt", tmp_path / "output.txt"
    file.write_text("\n".join(lines) + "\n")
    options = ["--model", f"{folder}", "--precision", "fp32", "--output", f"{output}", f"{file}"]
    for code in WORDS:
        assert translate.main(["--to", code, *options]) == 0
        assert output.read_text().removesuffix("\n").split("\n") == wanted[code]
    assert "which the model doesn't know" in stderr_of(translate.main, ["--to", "it", *options])


def test_evaluation_is_by_direction(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def tests_of(*options: str) -> list[str]:
        assert evaluate.main(["--model", f"{folder}", "--json", "-", *options]) == 0
        return [row["test"] for row in json.loads(capsys.readouterr().out)]

    assert len(tests_of()) == 6
    assert tests_of("--to", "fr") == ["test.de-fr", "test.en-fr"]
    assert tests_of("--from", "en", "--to", "fr") == ["test.en-fr"]


def test_a_zip_file_names_the_direction_that_was_chosen(folder: Path, tmp_path: Path) -> None:
    for code, source in (("de", "en"), ("fr", "de")):
        export(folder, tmp_path / code, "zip", languages=("", code))
        about = json.loads((tmp_path / code / "translate.json").read_text("utf8"))
        assert (about["source"], about["target"]) == (source, code)


def test_all_languages_are_shown_and_served(folder: Path, tmp_path: Path) -> None:
    codes = ", ".join(f"l{n}" for n in range(20))
    (tmp_path / "many.yaml").write_text(SETTINGS.replace("de, en, fr", codes))
    assert inspect(tmp_path / "many.yaml").target == codes
    for shown in (inspect(folder), inspect(folder / "config.yaml")):
        assert (shown.source, shown.target) == ("de, en, fr", "de, en, fr")
    assert len(set(read_folder(folder).directions)) == 6
