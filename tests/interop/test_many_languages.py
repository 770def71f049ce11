"""M2M-100, NLLB and mBART-50, converted, are what they were, and are told the languages by their codes."""

from pathlib import Path

import pytest
import torch

from nmt.decode.pytorch import Begun
from nmt.interop.convert import convert
from nmt.reading.request import Constraints, Request, Term
from nmt.translation.model_folder import read_info
from tests.interop.foreign import m2m, mbart, nllb, sides
from tests.interop.parity import Twins, load_translator, train_on_words

transformers = pytest.importorskip("transformers")

LINES, TARGETS = sides()[0][500:], sides()[1][500:]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    folder = tmp_path_factory.mktemp("trained") / "m2m"
    model = m2m(folder, spread=0.15)
    train_on_words(folder, model, "M2M100Tokenizer", 200, "de", "en")
    return Twins.convert(folder, model, "M2M100Tokenizer", "de", "en")


def test_mbart_50_has_the_same_probabilities_and_greedy_translations(tmp_path: Path) -> None:
    pair = Twins.convert(tmp_path / "mbart", mbart(tmp_path / "mbart"), "MBart50Tokenizer", "de_DE", "en_XX")
    assert pair.difference(LINES[:20], TARGETS[:20]) < 1e-4
    assert pair.equal(LINES[:20]) == 1.0


def test_searches_write_the_same(trained: Twins) -> None:
    assert len(set(trained.ours.translate(LINES, trained.settings()))) > 40  # the model has learned something
    assert trained.equal(LINES) == 1.0
    assert trained.equal(LINES, num_beams=4, early_stopping=False) >= 0.95


def test_languages_are_chosen_and_change_the_translation(tmp_path: Path) -> None:
    pair = Twins.convert(tmp_path / "m2m", m2m(tmp_path / "m2m"), "M2M100Tokenizer", "de", "en")
    french, forced = pair.ours.between(target="fr"), pair.tokenizer.convert_tokens_to_ids("__fr__")
    assert Twins(pair.theirs, pair.tokenizer, french, forced).equal(LINES[:20]) == 1.0
    assert french.translate(LINES[:20], pair.settings()) != pair.ours.translate(LINES[:20], pair.settings())
    wanted = Request("Hund Haus", Constraints(prefix="here", must=(Term(("tree",)),), must_not=("dog",)))
    [best] = french.translate_n_best([wanted], pair.settings(beam_size=4, n_best=1))[0]
    assert best.text.startswith("here")
    assert "tree" in best.text
    assert best.flags == ()
    with pytest.raises(ValueError, match="the source language is deu, which the model doesn't know: near ones are de"):
        pair.ours.between(source="deu")


def test_nllb_needs_languages_and_its_licence_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = nllb(tmp_path / "nllb")
    said = " ".join(convert(tmp_path / "nllb", tmp_path / "ours", "NLLB"))
    assert "cc-by-nc-4.0, which forbids commercial use" in said
    assert "cc-by-nc-4.0" in (tmp_path / "ours" / "README.md").read_text()
    assert read_info(tmp_path / "ours" / "config.json")[0].licence == "cc-by-nc-4.0"
    ours = load_translator(tmp_path / "ours")
    assert "forbids commercial use" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"knows 3 languages, .*: choose the source language"):
        ours.translate(["Hund"])
    ours = ours.between("deu_Latn", "eng_Latn")
    # After NLLB's four special pieces come those of SentencePiece, from its id 3, and then the languages.
    german = theirs.config.vocab_size - 108
    text = [i + 1 for i in ours.tokenizer.source.model.encode("Hund rot")]
    with torch.inference_mode():
        ids = torch.tensor([[german, *text, 2]]), torch.tensor([[2, german + 1]])
        expected_V = theirs(input_ids=ids[0], decoder_input_ids=ids[1]).logits[0, -1]
    source = torch.tensor([[*ours.tokenizer.encode_source(["Hund rot"])[0], 2]])
    logits_V = Begun(ours.model, *ours.tokenizer.starts())(source, source > 0, torch.tensor([[1]]))[0, 0]
    torch.testing.assert_close(logits_V.sort()[0][-100:], expected_V.sort()[0][-100:], atol=1e-4, rtol=1e-4)


def test_mbart_25_is_refused_because_its_languages_stand_elsewhere(tmp_path: Path) -> None:
    mbart(tmp_path / "mbart")
    (tmp_path / "mbart" / "tokenizer_config.json").write_text('{"tokenizer_class": "MBartTokenizer"}')
    with pytest.raises(ValueError, match="the tokenizer is MBartTokenizer, and only that of mBART-50"):
        convert(tmp_path / "mbart", tmp_path / "ours", "mBART")
