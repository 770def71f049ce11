"""Models that transformers loads: each class computes what nmt does, and everything else is refused."""

import io
import json
import logging
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from nmt.config import ModelConfig, ObjectiveName, SearchConfig, TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.interop import huggingface, huggingface_layouts
from nmt.interop.export import Export, export
from nmt.interop.huggingface_layouts import choose_layout
from nmt.model.build import build_model
from nmt.model.contract import Model
from nmt.translation.model_folder import ModelInfo, save_model
from nmt.vocabulary import BOS, EOS, PAD, UNK
from tests.interop.foreign import noise
from tests.model.settings import OPTIONS, with_needs
from tests.tiny import PAIRS

transformers = pytest.importorskip("transformers", reason="needs transformers")

LINES = [*(source for source, _ in PAIRS), "Straße “x” </s> 😀", "Wo ist der Bahnhof? " * 3]
BEAMS = SearchConfig(beam_size=3)
TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=2, decoder_layers=1, d_ff=24)
PRE = replace(TINY, norm_position="pre")
CAUSAL = replace(
    PRE, family="decoder-only", source_attention="causal", norm="rms", positions="rotary", activation="swiglu"
)
PLAIN = replace(CAUSAL, bias=False)
CASES: list[tuple[str, ObjectiveName, ModelConfig]] = [
    ("MarianMTModel", "translation", TINY),
    ("MarianMTModel", "denoise", replace(TINY, activation="relu2", scale_embeddings=False, tied_embeddings="none")),
    ("PegasusForConditionalGeneration", "translation", PRE),
    ("PegasusForConditionalGeneration", "denoise", replace(PRE, tied_embeddings="decoder")),
    ("LlamaForCausalLM", "translation", CAUSAL),
    ("LlamaForCausalLM", "lm", replace(PLAIN, n_kv_heads=1, activation="geglu", scale_embeddings=False)),
    ("Qwen3ForCausalLM", "translation", replace(PLAIN, qk_norm=True, n_kv_heads=1)),
]


def noisy(config: ModelConfig, tokenizer: Tokenizer) -> Model:
    """A random model, of which no bias is zero and no norm is one."""
    torch.manual_seed(1)
    return noise(build_model(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size), 0.15)


def save(folder: Path, config: ModelConfig, tokenizer: Tokenizer, search: SearchConfig = BEAMS, **facts: Any) -> Path:
    info = ModelInfo("de", "en", "three pairs", config, search, **facts)
    weights = dict(noisy(config, tokenizer).named_parameters())
    save_model(folder / "model", weights, tokenizer, info, "# A test\n")
    (folder / "lines.de").write_text("\n".join(LINES), encoding="utf8")
    return folder / "model"


def exported(folder: Path, model: Path, *, quantization: str | None = None) -> Path:
    export(model, folder / "out", "hf", quantization, folder / "lines.de")
    return folder / "out"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_every_class_gives_the_same_and_loads_without_a_word(
    tmp_path: Path, tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture, case: tuple[str, ObjectiveName, ModelConfig]
) -> None:
    name, objective, config = case
    model = save(tmp_path, config, tokenizer, objective=objective)
    parity = export(model, tmp_path / "out", "hf", check=tmp_path / "lines.de")  # which checks logits and search
    assert parity.sentences == len(LINES)
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    layout, _ = choose_layout(config, objective)
    foreign = getattr(transformers, layout.auto).from_pretrained(tmp_path / "out")
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    logger.removeHandler(caplog.handler)
    assert type(foreign).__name__ == name
    assert not caplog.records
    has_two = config.family == "encoder-decoder" and config.tied_embeddings != "three-way"  # matrices of embeddings
    assert (tmp_path / "out" / "target_vocab.json").exists() == has_two
    ids = tokenizer.encode_source([LINES[0]])[0]
    marks: dict[tuple[str, str], tuple[list[int], list[int]]] = {
        ("decoder-only", "translation"): ([BOS], [EOS, BOS]),
        ("decoder-only", "lm"): ([BOS], []),
    }
    before, after = marks.get((config.family, objective), ([], [EOS]))
    assert read(LINES[0])["input_ids"] == [*before, *ids, *after]
    assert read.decode([*before, *ids, *after], skip_special_tokens=True) == LINES[0]
    assert (read.pad_token_id, read.eos_token_id, read.bos_token_id) == (PAD, EOS, BOS)


@pytest.mark.parametrize("base", [TINY, PRE, PLAIN], ids=["post", "pre", "modern"])
def test_other_values_are_refused_or_give_the_same(tmp_path: Path, tokenizer: Tokenizer, base: ModelConfig) -> None:
    configs = set[ModelConfig]()
    for change in [with_needs({name: value}) for name, values in OPTIONS.items() for value in values]:
        with suppress(ValueError):  # some values need others
            configs.add(replace(base, **change))
    infos = [ModelInfo("de", "en", "three pairs", config, SearchConfig()) for config in configs - {base}]
    possible = [info for info in infos if not huggingface.obstacles(info, tokenizer)]
    assert 0 < len(possible) < len(infos)
    for n, info in enumerate(possible):
        (tmp_path / str(n)).mkdir()
        task = Export(noisy(info.model, tokenizer), tokenizer, info, "float32")
        huggingface.write(task, tmp_path / str(n))
        huggingface.check(task, tmp_path / str(n), LINES[:1])


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")  # which transformers doesn't use
def test_languages_with_a_tokenizer_each_take_that_of_marian(tmp_path: Path) -> None:
    config = TokenizerConfig(vocab_size=330, joint=False)
    tokenizer = train_tokenizer(PAIRS * 5, config, tmp_path / "tokenizer", "de", "en")
    out = exported(tmp_path, save(tmp_path, replace(TINY, tied_embeddings="none"), tokenizer))
    read = transformers.AutoTokenizer.from_pretrained(out)
    assert type(read).__name__ == "MarianTokenizer"
    [ids] = tokenizer.encode_source(LINES[:1])
    assert read(LINES[0])["input_ids"] == [*ids, EOS]
    [ids] = tokenizer.encode_target([PAIRS[0][1]])
    assert read(text_target=PAIRS[0][1])["input_ids"] == [*ids, EOS]
    assert read.decode(ids) == PAIRS[0][1]
    other = ModelInfo("de", "en", "three pairs", replace(PRE, tied_embeddings="none"), SearchConfig())
    sizes = f"{tokenizer.src_vocab_size} and {tokenizer.tgt_vocab_size} pieces"
    assert any(sizes in words for words in huggingface.obstacles(other, tokenizer))


def test_all_obstacles_are_named(tokenizer: Tokenizer) -> None:
    marian = " (MarianMTModel: "
    modern = ("source_attention bidirectional", "norm layer", "positions sinusoidal", "activation relu")
    normed = replace(PRE, family="decoder-only", qk_norm=True)
    for config, objective, words in (
        (replace(TINY, positions="learned"), "translation", [f"model.positions learned{marian}sinusoidal)"]),
        (replace(TINY, n_kv_heads=1), "translation", [f"model.n_kv_heads 1{marian}2, as n_heads)"]),
        (TINY, "pair", [f"training.objective pair{marian}translation or denoise)"]),
        (replace(TINY, family="encoder-only"), "pair", [f"model.family encoder-only{marian}encoder-decoder)"]),
        (normed, "translation", [f"model.{setting} (" for setting in modern]),
    ):
        info = ModelInfo("de", "en", "three pairs", config, SearchConfig(), objective=objective)  # type: ignore[arg-type]
        found = huggingface.obstacles(info)
        assert found == huggingface.obstacles(info, tokenizer)
        assert all(any(part in obstacle for obstacle in found) for part in words), found


MISSING = r"transformers doesn't load the exported weights as they are.*fc1\.bias"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        *(("model.decoder.layers.0.fc2.bias", "logits differ"), ("model.shared.weight", "logits differ")),
        ("model.encoder.layers.1.fc1.bias", MISSING),
    ],
)
def test_wrong_and_missing_weights_are_noticed(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    model = save(tmp_path, TINY, tokenizer)
    layout, _ = choose_layout(TINY, "translation")

    def spoiled(model: Model) -> dict[str, torch.Tensor]:
        tensors = layout.weights(model)
        tensor = tensors.pop(name)
        return tensors if problem == MISSING else tensors | {name: tensor + 0.01 * torch.randn_like(tensor)}

    wrong = replace(layout, weights=spoiled)
    monkeypatch.setattr(huggingface_layouts, "LAYOUTS", (wrong,))
    with pytest.raises(ValueError, match=problem):
        exported(tmp_path, model)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("quantization", ["float16", "bfloat16"])
def test_smaller_weights_are_stored_and_compared(tmp_path: Path, tokenizer: Tokenizer, quantization: str) -> None:
    out = exported(tmp_path, save(tmp_path, TINY, tokenizer), quantization=quantization)
    foreign = transformers.AutoModelForSeq2SeqLM.from_pretrained(out)
    assert foreign.dtype == getattr(torch, quantization)
    assert f"with {quantization} weights" in (out / "README.md").read_text(encoding="utf8")
    settings = foreign.generation_config
    assert (settings.num_beams, settings.decoder_start_token_id) == (3, BOS)
    assert settings.suppress_tokens == [UNK, BOS, PAD]


def test_generate_follows_search_settings_and_the_card_says_what_it_lacks(tmp_path: Path, tokenizer: Tokenizer) -> None:
    search = replace(BEAMS, min_length=3, max_length=5, repetition_penalty=1.5, length_norm="gnmt")
    out = exported(tmp_path, save(tmp_path, replace(TINY, output_bias=True), tokenizer, search=search))
    foreign = transformers.AutoModelForSeq2SeqLM.from_pretrained(out)
    assert foreign.generation_config.repetition_penalty == 1.5
    for bias, n in ((-100.0, 5), (100.0, 3)):
        foreign.final_logits_bias[0, EOS] = bias
        ids = foreign.generate(input_ids=torch.tensor([[7, 8, EOS]]))[0].tolist()
        assert len([i for i in ids if i > PAD]) == n
    card = (out / "README.md").read_text(encoding="utf8")
    assert "`generate` writes at most 5 pieces, however long the source is." in card
    assert "The search there doesn't follow length_norm gnmt." in card


def test_the_card_has_metadata_of_the_hub_and_a_program(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save(tmp_path, TINY, tokenizer)
    scores = {"bleu": 41.5, "bleu_signature": "nrefs:1", "chrf": 60.0, "chrf_signature": "nc:6"}
    report = {"corpus": "three pairs", "tests": {"first": scores, "second": {"nll": 1.0}}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    card = (exported(tmp_path, model) / "README.md").read_text(encoding="utf8")
    _, header, text = card.split("---\n", 2)
    metadata: dict[str, Any] = yaml.safe_load(header)
    assert metadata["language"] == ["de", "en"]
    assert (metadata["library_name"], metadata["pipeline_tag"]) == ("transformers", "translation")
    [result] = metadata["model-index"][0]["results"]
    assert [(m["type"], m["value"]) for m in result["metrics"]] == [("bleu", 41.5), ("chrf", 60.0)]
    assert text.lstrip().startswith("# A test")
    assert "AutoModelForSeq2SeqLM" in text
    monkeypatch.chdir(tmp_path / "out")
    monkeypatch.setattr("sys.stdin", io.StringIO("Hund\u2028Katze\n\nHaus\n"))
    capsys.readouterr()
    exec(text.partition("without nmt:")[2].replace("\n    ", "\n"), {})
    assert capsys.readouterr().out.count("\n") == 3, "only LF ends a line"


@pytest.mark.parametrize("text", ["", '{"corpus": "three', "[]"])
def test_a_damaged_report_is_named(tmp_path: Path, tokenizer: Tokenizer, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    info = ModelInfo("de", "en", "three pairs", TINY, BEAMS)
    with pytest.raises(ValueError, match=r"report\.json (can't be read|holds no JSON object)"):
        huggingface.header(Export(noisy(TINY, tokenizer), tokenizer, info, "float32", tmp_path / "model"))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_only_bpe_comes_as_tokenizer_model(tmp_path: Path, kind: Any) -> None:
    """llama.cpp takes every tokenizer.model for BPE."""
    config = TokenizerConfig(vocab_size=360, kind=kind)
    tokenizer = train_tokenizer(PAIRS * 5, config, tmp_path / "tokenizer", "de", "en")
    out = exported(tmp_path, save(tmp_path, PLAIN, tokenizer))
    assert (out / "tokenizer.model").exists() == (kind == "bpe")


def test_a_missing_extra_is_named(tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = save(tmp_path, TINY, tokenizer)
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it weren't installed
    with pytest.raises(ValueError, match=r"\.\[transformers\]"):
        exported(tmp_path, model)
    assert not (tmp_path / "out").exists()
