"""Models of Marian, converted, are what they were: the same pieces, probabilities, translations and scores."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.data.tokenizer import Tokenizer
from nmt.interop.convert import convert
from tests.interop.foreign import marian, sides
from tests.interop.parity import Twins, load_translator, train_on_words

pytest.importorskip("transformers")

LINES, TARGETS = sides()[0][500:], sides()[1][500:]
NASTY = [
    "Der Hund, grün!", "  zwei  Blanks ", "ﬁne ＡＢ ½ ²", "naïve café €5", "日本語 und Hund", "😀 Hund",
    "Hund\u00a0Haus", "</s> <unk> <pad>", "a\u0301 ohne Form", "...",
    "rot" * 40,
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    folder = tmp_path_factory.mktemp("trained") / "marian"
    model = marian(folder, spread=0.0)
    train_on_words(folder, model, "MarianTokenizer", 160)
    return Twins.convert(folder, model, "MarianTokenizer")


OTHERS = {"activation_function": "relu", "scale_embedding": False, "decoder_layers": 1}


@pytest.mark.parametrize("changes", [{}, {"separate": True}, {"separate": True, "tie_word_embeddings": False}, OTHERS])
def test_probabilities_are_those_of_transformers(tmp_path: Path, changes: dict[str, Any]) -> None:
    pair = Twins.convert(tmp_path / "marian", marian(tmp_path / "marian", **changes), "MarianTokenizer")
    assert pair.difference(LINES[:20], TARGETS[:20]) < 1e-4


def test_greedy_search_writes_the_same_and_beam_search_nearly_always(trained: Twins) -> None:
    assert len(set(trained.ours.translate(LINES, trained.settings()))) > 40  # the model has learned something
    assert trained.equal(LINES) == 1.0
    for length_penalty in (1.0, 0.6):
        options = {"num_beams": 4, "early_stopping": False, "length_penalty": length_penalty}
        assert trained.equal(LINES, **options) >= 0.95


def test_scores_of_given_translations_are_equal(trained: Twins) -> None:
    scored = trained.ours.scorer().score(list(zip(LINES[:30], TARGETS[:30], strict=True)))
    for source, target, ours in zip(LINES, TARGETS, scored, strict=False):
        batch = trained.tokenizer([source], text_target=[target], return_tensors="pt")
        with torch.inference_mode():
            loss = float(trained.theirs(**batch).loss)
        assert ours
        assert ours.log_prob == pytest.approx(-loss * batch["labels"].size(1), abs=1e-4)


def test_text_has_the_same_pieces_and_comes_back_the_same(trained: Twins) -> None:
    tokenizer, ours = trained.tokenizer, trained.ours.tokenizer
    for text in [*NASTY, *LINES[:20]]:
        for encode, side in ((ours.encode_source, {"text": [text]}), (ours.encode_target, {"text_target": [text]})):
            theirs = tokenizer(**side, split_special_tokens=True)["input_ids"][0][:-1]
            names = [tokenizer.convert_ids_to_tokens(i) for i in theirs]
            found = encode([text])[0]
            assert ours.source_pieces(found) == names
            # Theirs decodes each list as it comes; ours leaves out what stands for no text.
            assert ours.decode_target([found])[0] == tokenizer.decode(theirs, skip_special_tokens=True)


def test_pickled_weights_are_read_without_running_code(tmp_path: Path) -> None:
    model = marian(tmp_path / "new")
    shutil.copytree(tmp_path / "new", tmp_path / "old")
    (tmp_path / "old" / "model.safetensors").unlink()
    torch.save({n: p.half() for n, p in model.state_dict().items()}, tmp_path / "old" / "pytorch_model.bin")
    for name in ("new", "old"):
        convert(tmp_path / name, tmp_path / f"{name}-ours", name)
    new, old = (dict(load_translator(tmp_path / f"{n}-ours").model.named_parameters()) for n in ("new", "old"))
    assert all(torch.allclose(new[name], old[name], atol=5e-3) for name in new)
    torch.save({"weights": [print]}, tmp_path / "old" / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"pytorch_model\.bin can't be read"):
        convert(tmp_path / "old", tmp_path / "bad", "old")
    assert not (tmp_path / "bad").exists()


def test_a_target_language_is_a_piece_before_the_source(tmp_path: Path) -> None:
    model = marian(tmp_path / "marian", tags=(">>fra<<", ">>frm<<", ">>ron<<"))
    pair = Twins.convert(tmp_path / "marian", model, "MarianTokenizer")
    with pytest.raises(ValueError, match="knows 3 languages, fra, frm, ron: choose the target language"):
        pair.ours.translate(LINES[:1])
    with pytest.raises(ValueError, match=r"the target language is fr, .* near ones are frm, fra"):
        pair.ours.between(target="fr")
    french = pair.ours.between(target="fra")
    theirs = pair.their_pieces([f">>fra<< {line}" for line in LINES[:20]])
    for ours, is_same in ((french, True), (pair.ours.between(target="ron"), False)):
        n_best = ours.translate_n_best(LINES[:20], pair.settings())
        ids = [best.parts[0].hypothesis.ids for best, *_ in n_best]
        assert (list(map(ours.tokenizer.target_pieces, ids)) == theirs) == is_same


@pytest.mark.parametrize(("content", "problem"), [(b"", "missing or empty"), (b"abc", "damaged, or no SentencePiece")])
def test_an_empty_or_damaged_file_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    """SentencePiece reads an empty one, and fails in the first translation."""
    marian(tmp_path / "marian")
    convert(tmp_path / "marian", tmp_path / "ours", "marian")
    for name in ("marian", "ours"):
        (tmp_path / name / "target.spm").write_bytes(content)
    with pytest.raises(ValueError, match=rf"target\.spm is {problem}"):
        convert(tmp_path / "marian", tmp_path / "out", "marian")
    with pytest.raises(ValueError, match=r"target\.spm is damaged, or no SentencePiece"):
        Tokenizer.load(tmp_path / "ours")


def test_all_settings_that_do_not_fit_are_named(tmp_path: Path) -> None:
    marian(tmp_path / "marian")
    path = tmp_path / "marian" / "config.json"
    changes = {"activation_function": "tanh", "decoder_attention_heads": 8, "decoder_ffn_dim": 64}
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ValueError, match=r"can't be converted: decoder_attention_heads is 8, .*ffn_dim is 64.*'tanh'"):
        convert(tmp_path / "marian", tmp_path / "out", "marian")
    assert not (tmp_path / "out").exists()


def lists_in_lists() -> list[Any]:
    """60 lists, each of which holds the one before twice."""
    lists: list[Any] = [torch.ones(1)]
    for _ in range(60):
        lists = [lists, lists]
    return lists


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("adapter.weight", torch.zeros(3), r"weights that such a model doesn't have: adapter\.weight"),
        ("model.encoder.layers.0.fc1.weight", torch.ones(1).expand(48, 32), "a tensor in it is larger than what is st"),
        ("model.encoder.layers.0.fc1.weight", torch.empty(48, 32, device="meta"), "bin can't be read: a tensor in it"),
        ("lists", lists_in_lists(), "bin holds more than named tensors"),
    ],
)
def test_what_is_no_weight_of_the_model_is_an_error(tmp_path: Path, name: str, value: Any, problem: str) -> None:
    model = marian(tmp_path / "marian")
    (tmp_path / "marian" / "model.safetensors").unlink()
    torch.save(model.state_dict() | {name: value}, tmp_path / "marian" / "pytorch_model.bin")
    with pytest.raises(ValueError, match=problem):
        convert(tmp_path / "marian", tmp_path / "out", "marian")


def test_settings_of_the_search_are_kept_or_the_nearest_ones_and_told(tmp_path: Path, trained: Twins) -> None:
    kept = trained.ours.search
    assert (kept.beam_size, kept.length_penalty, kept.allow_unk) == (4, 1.0, True)
    marian(tmp_path / "marian")
    path = tmp_path / "marian" / "generation_config.json"
    changes = {"num_beams": 500, "length_penalty": -1.0, "repetition_penalty": 0.9, "no_repeat_ngram_size": -2}
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    said = " ".join(convert(tmp_path / "marian", tmp_path / "out", "marian"))
    search = load_translator(tmp_path / "out").search
    found = (search.beam_size, search.length_penalty, search.repetition_penalty, search.no_repeat_ngram)
    assert found == (200, 0.0, 1.0, 0)
    assert "search.beam_size is 200, since 500 is not possible here. search.length_penalty is 0, since -1.0 is" in said
