"""A converted model is a model folder like others: it translates, is scored, and is trained further."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from nmt import convert, evaluate, train, translate
from nmt.data.tokenizer import Tokenizer
from nmt.extras import typed
from nmt.interop.foreign import licence_in
from nmt.translation.model_folder import load_model, read_info
from nmt.translation.translator import Translator
from tests.interop.foreign import m2m, marian
from tests.tiny import Stderr

transformers = pytest.importorskip("transformers")

MERGED = "\n".join(f"m{n + 1}: &m{n + 1} {{<<: [*m{n}, *m{n}, *m{n}]}}" for n in range(40))
FURTHER = (
    "--name further --training.max_steps 8 --training.validate_every 4 --training.log_every 4 --training.threads 1 "
    "--training.batch_tokens 400 --training.warmup_steps 2 --training.device cpu --training.precision fp32 "
    "--data.max_pieces 60 --data.corpus corpus --data.target en"
)


def test_a_converted_model_is_trained_further_and_loaded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m2m(folder / "m2m")
    (folder / "m2m" / "README.md").write_text("---\nlicense: mit\n---\n# M2M\n")
    assert convert.main(["m2m", "ours", "--source", "de", "--target", "zu"]) == 0
    assert train.main(["--config", "ours/recipe.yaml", *FURTHER.split()]) == 0, capsys.readouterr().err
    assert "embeddings 100.0%, encoder 100.0%, decoder 100.0%." in capsys.readouterr().err
    old, _, _ = load_model(folder / "ours")
    new, tokenizer, info = load_model(folder / "runs" / "further")
    assert (info.origin, info.licence) == ("m2m", "mit")
    assert "Its training started from m2m. Its licence is mit." in (folder / "runs/further/model/README.md").read_text()
    # The languages are those of the corpus, not those that were chosen before.
    assert (tokenizer.languages.source, tokenizer.languages.target) == ("de", "en")
    assert tokenizer.same_as(Tokenizer.load(folder / "ours"))
    changed = {n for n, p in new.named_parameters() if not p.equal(dict(old.named_parameters())[n])}
    assert {"output.bias", "tgt_embedding.weight", "encoder.0.feed_forward.up.bias"} <= changed


def test_the_commands_take_languages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marian(folder / "marian", tags=(">>fra<<", ">>ron<<"))
    assert convert.main(["marian", "ours"]) == 0
    capsys.readouterr()

    def run(*words: str) -> tuple[int, str]:
        out = ["--output", "out.en", "--no-repeat-ngram", "2", "corpus/test.de"]
        status = translate.main([*out, *(words if "--model" in words else ("--model", "ours", *words))])
        return status, (folder / "out.en").read_text() if status == 0 else capsys.readouterr().err

    assert "fra, ron: choose the target language" in run()[1]
    french, romanian = run("--target", "fra"), run("--target", "ron")
    assert french[0] == romanian[0] == 0
    assert len(french[1].splitlines()) == 10
    assert french[1] != romanian[1]
    assert run("--target", "fr")[0] == 2
    test = ["--source", "corpus/test.de", "--reference", "corpus/test.en"]
    assert evaluate.main(["--model", "ours", *test, "--target-language", "fra"]) == 0
    assert evaluate.main(["--model", "ours", *test]) == 2
    assert convert.main(["marian", "french", "--target", "fra"]) == 0
    assert run("--model", "french")[1] == french[1]


def test_what_exists_is_not_touched(folder: Path, stderr_of: Stderr) -> None:
    """A folder that has hashes needn't be nmt's."""
    marian(folder / "marian")
    (folder / "images").mkdir()
    for name in ("SHA256SUMS", "image"):
        (folder / "images" / name).write_text("mine")
    assert "images exists already" in stderr_of(convert.main, ["marian", "images"])
    assert {path.read_text() for path in (folder / "images").iterdir()} == {"mine"}


def test_a_converted_model_gets_a_shortlist_from_pairs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr
) -> None:
    marian(folder / "marian")
    assert convert.main(["marian", "plain", "--source", "deu", "--target", "eng"]) == 0
    info, _ = read_info(folder / "plain" / "config.json")
    assert (info.source, info.target, info.origin) == ("deu", "eng", "marian")
    assert "SHA-256" in (folder / "plain" / "README.md").read_text()
    command = ["marian", "ours", "--source", "de", "--target", "en", "--shortlist"]
    assert "--source and --target" in stderr_of(convert.main, ["marian", "ours", "--shortlist", "corpus"])
    assert "nothing" in stderr_of(convert.main, [*command, "nothing"])
    with monkeypatch.context() as patch:
        patch.setattr("nmt.interop.convert.learn_shortlist", Mock(side_effect=KeyboardInterrupt))
        assert convert.main([*command, "corpus"]) == 130
    assert not (folder / "ours").exists()
    assert "learned from 200 pairs" in stderr_of(convert.main, [*command, "corpus"], status=0)
    plain, ours = Translator.load("plain", "cpu"), Translator.load("ours", "cpu")
    assert plain.engine.shortlist is None
    assert ours.engine.shortlist is not None
    lines = (folder / "corpus" / "test.de").read_text().splitlines()
    assert len(ours.translate(lines, replace(ours.search, beam_size=1))) == 10
    assert (folder / "ours" / "SHA256SUMS").read_text().count("shortlist.safetensors") == 1
    (folder / "ours" / "shortlist.safetensors").write_bytes(b"x")
    with pytest.raises(ValueError, match="damaged"):
        Translator.load("ours", "cpu")


def test_a_foreign_folder_or_id_is_told_to_be_converted_first(folder: Path, stderr_of: Stderr) -> None:
    marian(folder / "marian")
    first = f"convert this model of transformers first: {typed('convert')} marian OUT"
    assert first in stderr_of(translate.main, ["--model", "marian", "corpus/test.de"])
    told = stderr_of(translate.main, ["--model", "Helsinki-NLP/opus-mt-de-en", "corpus/test.de"])
    assert f"{typed('convert')} Helsinki-NLP/opus-mt-de-en OUT" in told
    assert "corpus has no config.json: it is no model" in stderr_of(convert.main, ["corpus", "ours"])
    assert convert.main(["marian", "made"]) == 0
    assert "made is a model folder of nmt already: use it" in stderr_of(convert.main, ["made", "ours"])
    (folder / "corpus" / "config.json").write_text('{"model_type": "t5"}')
    possible = "type 't5', which can't be converted: possible are marian, pegasus, m2m_100, m"
    assert possible in stderr_of(convert.main, ["corpus", "ours"])


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: cc-by-4.0\n---\n", "cc-by-4.0"),
        ("\ufeff---\r\ntags: [a---b]\r\nlicense: cc-by-nc-4.0\r\n--- \r\n", "cc-by-nc-4.0"),
        ("---\nlicense: [mit, apache-2.0]\n---\n", "mit, apache-2.0"),
        ("# A model\n", ""),
        ("---\n", ""),
        (f"---\nlicense: mit\nm0: &m0 {{x: 1}}\n{MERGED}\n---\n", ""),
        ("---\na: &a [x, x]\nb: &b [*a, *a]\nlicense: [*b, *b]\n---\n", ""),
        ("---\nreleased: 2024-13-45\nlicense: mit\n---\n", ""),
        *((f"---\nlicense: {wrong}\n---\n", "") for wrong in ("[" * 5000, "!!bool maybe", "!!int ''", "!!timestamp x")),
    ],
)
def test_the_licence_is_that_of_the_card(tmp_path: Path, card: str, licence: str) -> None:
    (tmp_path / "README.md").write_text(card)
    assert licence_in(tmp_path / "README.md") == licence


@pytest.mark.parametrize(
    ("file", "name", "values"),
    [
        ("config.json", "model_type", [["m2m_100"]]),
        ("config.json", "dropout", [None]),
        ("config.json", "bad_words_ids", [[5]]),
        ("config.json", "num_beams", ["four", 4.5]),
        ("config.json", "vocab_size", [10**15]),
        ("config.json", "d_model", [64, 10**12, 10**30]),
        ("tokenizer_config.json", "added_tokens_decoder", [[1]]),
        ("tokenizer_config.json", "additional_special_tokens", [[{}]]),
        ("vocab.json", "Hund", ["one"]),
        ("model.safetensors.index.json", "weight_map", [{"shared": 3}]),
    ],
)
def test_settings_that_no_model_has_are_told_in_a_sentence(
    folder: Path, stderr_of: Stderr, file: str, name: str, values: list[Any]
) -> None:
    m2m(folder / "m2m")
    path = folder / "m2m" / file
    if "index" in file:
        (folder / "m2m" / "model.safetensors").unlink()
        path.write_text("{}")
    for value in values:
        path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
        assert "nmt.convert: " in stderr_of(convert.main, ["m2m", "ours", "--source", "de", "--target", "en"])
        assert not Path("ours").exists()


def test_a_converted_model_that_is_told_languages_scores_pairs(folder: Path) -> None:
    m2m(folder / "m2m")
    assert convert.main(["m2m", "ours", "--source", "de", "--target", "en"]) == 0
    translator = Translator.load("ours", "cpu", precision="fp32")
    lacks = translator.tokenizer.lacks
    assert not lacks("\uff28und \ufb01"), "the other library replaces these characters"
    assert lacks("Hund \u00a7")
    assert not lacks("\u00a7 12"), "without letters there is nothing to translate"
    search = replace(translator.search, guard=False, max_length=20)
    ((best, *_),) = translator.translate_n_best(["Hund Haus"], search)
    (part,) = best.parts
    (hypothesis,) = translator.scorer(search).score_ids([(part.source, part.hypothesis.ids)])
    assert hypothesis is not None
    found = part.hypothesis.token_log_probs
    assert hypothesis.token_log_probs[: len(found)] == pytest.approx(found, abs=1e-4)
