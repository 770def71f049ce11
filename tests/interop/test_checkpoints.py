"""Stand-ins for checkpoints of other toolkits, with their files and the names of their weights; what doesn't fit is
refused with all reasons. `test_real_checkpoints.py` has those that the toolkits themselves write."""

import json
import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import save_file
from torch import Tensor

from nmt import convert as command
from nmt.interop.checkpoints import in_halves
from nmt.interop.convert import convert
from nmt.model.positions import sinusoids
from nmt.translation.model_folder import load_model
from tests.interop.foreign import pieces_of, sentencepiece, sides
from tests.interop.parity import load_translator

M, INNER = 16, 24
PIECES = pieces_of(sentencepiece(2))
ONMT = ["<unk>", "<blank>", "<s>", "</s>", *PIECES]
JOEY = ["<unk>", "<pad>", "<s>", "</s>", *PIECES]
SOCKEYE = ["<pad>", "<unk>", "<s>", "</s>", *PIECES]
V = len(ONMT)


def weights(*names: str) -> dict[str, Tensor]:
    """Random weights of these names, each followed by its sizes, such as "a.weight 16 24"."""
    torch.manual_seed(1)
    return {words[0]: torch.randn(*map(int, words[1:])) * 0.3 for words in map(str.split, names)}


def linear(name: str, rows: int, columns: int, bias: bool = True) -> list[str]:
    return [f"{name}.weight {rows} {columns}", *([f"{name}.bias {rows}"] if bias else [])]


def norm(name: str) -> list[str]:
    return [f"{name}.weight {M}", f"{name}.bias {M}"]


def opennmt(folder: Path, **changes: Any) -> Path:
    names = []
    for side, layer, attentions in (
        ("encoder", "encoder.transformer.0", ["self_attn"]),
        ("decoder", "decoder.transformer_layers.0", ["self_attn", "context_attn"]),
    ):
        names += [f"{side}.embeddings.make_embedding.emb_luts.0.weight {V} {M}", *norm(f"{side}.layer_norm")]
        for attention in attentions:
            for part in ("linear_keys", "linear_values", "linear_query", "final_linear"):
                names += linear(f"{layer}.{attention}.{part}", M, M, bias=False)
        names += [
            *linear(f"{layer}.feed_forward.w_1", INNER, M, False),
            *linear(f"{layer}.feed_forward.w_2", M, INNER, False),
        ]
        norms = ["layer_norm"] if side == "encoder" else ["layer_norm_1", "layer_norm_2"]
        names += [name for one in [*norms, "feed_forward.layer_norm"] for name in norm(f"{layer}.{one}")]
    sizes = {
        "enc_layers": 1,
        "dec_layers": 1,
        "enc_hid_size": M,
        "dec_hid_size": M,
        "heads": 2,
        "transformer_ff": INNER,
    }
    sizes |= {"src_word_vec_size": M, "tgt_word_vec_size": M}
    options = {"model_task": "seq2seq", "encoder_type": "transformer", "decoder_type": "transformer", **sizes}
    options |= {
        "position_encoding": True,
        "transforms": ["sentencepiece"],
        "dropout": [0.1],
        "norm_eps": 1e-6,
        **changes,
    }
    vocab = {"src": ONMT, "tgt": ONMT, "decoder_start_token": "<s>"}
    generator = {"weight": torch.randn(V, M), "bias": torch.randn(V)}
    state = {"model": weights(*names), "generator": generator, "vocab": vocab, "opt": Namespace(**options)}
    torch.save(state, folder / "model_step_1.pt")
    return folder


def eole(folder: Path, **changes: Any) -> Path:
    names = [f"src_emb.embeddings.weight {V} {M}", f"generator.bias {V}", "src_emb.pe.pe 5000 1 16"]
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "context_attn"])):
        names += norm(f"{side}.layer_norm")
        layer = f"{side}.transformer_layers.0"
        for attention in attentions:
            for part in ("linear_keys", "linear_values", "linear_query", "final_linear"):
                names += linear(f"{layer}.{attention}.{part}", M, M, bias=False)
        norms = [
            "input_layernorm",
            "post_attention_layernorm",
            *(["precontext_layernorm"] if side == "decoder" else []),
        ]
        names += [name for one in norms for name in norm(f"{layer}.{one}")]
        names += [
            *linear(f"{layer}.mlp.gate_up_proj", INNER, M, False),
            *linear(f"{layer}.mlp.down_proj", M, INNER, False),
        ]
    save_file(weights(*names, "decoder.transformer_layers.0.layer_scalar 1"), folder / "model.00.safetensors")
    settings = {"layers": 1, "hidden_size": M, "heads": 2, "transformer_ff": INNER, **changes}
    embeddings = {"src_word_vec_size": M, "tgt_word_vec_size": M, "position_encoding_type": "SinusoidalInterleaved"}
    both = {
        "encoder": {**settings, "encoder_type": "transformer"},
        "decoder": {**settings, "decoder_type": "transformer"},
    }
    whole = {"model": {**both, "embeddings": embeddings}, "transforms": ["sentencepiece"], "training": {}}
    (folder / "config.json").write_text(json.dumps(whole))
    (folder / "vocab.json").write_text(json.dumps({"src": ONMT, "tgt": ONMT, "decoder_start_token": "<s>"}))
    return folder


def joeynmt(folder: Path, **changes: Any) -> Path:
    names = [f"src_embed.lut.weight {V} {M}", f"trg_embed.lut.weight {V} {M}", f"decoder.output_layer.weight {V} {M}"]
    for side, attentions, norms in (
        ("encoder", ["src_src_att"], ["layer_norm"]),
        ("decoder", ["trg_trg_att", "src_trg_att"], ["x_layer_norm", "dec_layer_norm"]),
    ):
        layer = f"{side}.layers.0"
        names += [f"{side}.pe.pe 1 5000 {M}", *norm(f"{side}.layer_norm")]
        for attention in attentions:
            for part in ("k_layer", "v_layer", "q_layer", "output_layer"):
                names += linear(f"{layer}.{attention}.{part}", M, M)
        names += linear(f"{layer}.feed_forward.pwff_layer.0", INNER, M)
        names += linear(f"{layer}.feed_forward.pwff_layer.3", M, INNER)
        names += [name for one in [*norms, "feed_forward.layer_norm"] for name in norm(f"{layer}.{one}")]
    torch.save({"model_state": weights(*names), "stats_state": {"steps": 1}}, folder / "best.ckpt")
    settings: dict[str, Any] = {
        "type": "transformer",
        "num_layers": 1,
        "num_heads": 2,
        "hidden_size": M,
        "ff_size": INNER,
    }
    settings |= {"layer_norm": "pre", "embeddings": {"embedding_dim": M, "scale": True}, **changes}
    text = {"level": "bpe", "tokenizer_type": "sentencepiece"}
    data = {"src": {"lang": "de", **text}, "trg": {"lang": "en", **text}}
    model = {"encoder": settings, "decoder": settings}
    (folder / "config.yaml").write_text(yaml.safe_dump({"data": data, "model": model}))
    for name in ("src", "trg"):
        (folder / f"{name}_vocab.txt").write_text("\n".join(JOEY) + "\n", encoding="utf8")
    return folder


def sockeye(folder: Path, **changes: Any) -> Path:
    names = [f"embedding_source.embedding.weight {V} {M}", f"embedding_target.embedding.weight {V} {M}"]
    names += linear("output_layer", V, M)
    for side, attention in (("encoder", "self_attention"), ("decoder", "autoregr_layer")):
        layer = f"{side}.layers.0"
        names += [f"{side}.pos_embedding.weight 60 {M}", *norm(f"{side}.final_process.layer_norm")]
        names += [
            *linear(f"{layer}.{attention}.ff_in", 3 * M, M, False),
            *linear(f"{layer}.{attention}.ff_out", M, M, False),
        ]
        norms = [attention, "ff", *(["enc_attention"] if side == "decoder" else [])]
        names += [name for one in norms for name in norm(f"{layer}.pre_{one}.layer_norm")]
        names += [*linear(f"{layer}.ff.ff1", INNER, M), *linear(f"{layer}.ff.ff2", M, INNER)]
    for part, rows in (("q", M), ("kv", 2 * M), ("out", M)):
        names += linear(f"decoder.layers.0.enc_attention.ff_{part}", rows, M, False)
    torch.save(weights(*names), folder / "params.best")
    settings: dict[str, Any] = {
        "model_size": M,
        "attention_heads": 2,
        "feed_forward_num_hidden": INNER,
        "num_layers": 1,
        "act_type": "relu",
    }
    settings |= {"preprocess_sequence": "n", "postprocess_sequence": "dr", "max_seq_len_source": 60, **changes}
    both = "".join(
        f"config_{name}: !TransformerConfig\n"
        + "".join(f"  {key}: {json.dumps(value)}\n" for key, value in settings.items())
        for name in ("encoder", "decoder")
    )
    buckets = "config_data: !DataConfig\n  buckets:\n  - !!python/tuple\n    - 1\n    - 1\n"
    (folder / "config").write_text(f"!ModelConfig\n{buckets}{both}dtype: float32\n")
    for name in ("src", "trg"):
        (folder / f"vocab.{name}.0.json").write_text(json.dumps({piece: i for i, piece in enumerate(SOCKEYE)}))
    return folder


WRITERS: list[Callable[..., Path]] = [eole, opennmt, joeynmt, sockeye]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a SentencePiece model."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "joint.model").write_bytes(sentencepiece(2))
    return theirs


@pytest.mark.parametrize("write", WRITERS)
def test_a_checkpoint_becomes_a_model_that_translates(folder: Path, write: Callable[..., Path]) -> None:
    said = " ".join(convert(write(folder), folder.with_name("ours"), "a test", "de", "en"))
    assert "It translates from de to en." in said
    assert "SHA-256" in said
    ours = load_translator(folder.with_name("ours"))
    assert len(ours.translate(sides()[0][:3])) == 3
    assert ours.tokenizer.target_pieces(ours.tokenizer.encode_target(["here"])[0]) == ["▁here"]
    model, _, info = load_model(folder.with_name("ours"))
    assert info.model.source_end == (write in (joeynmt, sockeye))
    assert info.model.epsilon == (1e-5 if write is eole else 1e-6)
    # The last piece of the vocabulary keeps its vector, in columns whose sines come first.
    order = [*range(0, M, 2), *range(1, M, 2)] if write is not sockeye else [*range(M)]
    stored: dict[Any, tuple[str, ...]] = {
        opennmt: ("model_step_1.pt", "generator", "weight"),
        sockeye: ("params.best", "output_layer.weight"),
    }
    stored |= {joeynmt: ("best.ckpt", "model_state", "decoder.output_layer.weight")}
    if write in stored:
        file, *keys = stored[write]
        found = torch.load(folder / file, weights_only=False)
        for key in keys:
            found = found[key]
        torch.testing.assert_close(dict(model.named_parameters())["output.weight"][-1], found[-1, order])


def test_states_with_sines_first_are_those_of_alternating_columns() -> None:
    table = sinusoids(7, M)
    rates = torch.exp(torch.arange(0, M, 2) * (-torch.log(torch.tensor(10_000.0)) / M))
    theirs = torch.stack([(torch.arange(7)[:, None] * rates).sin(), (torch.arange(7)[:, None] * rates).cos()], -1)
    torch.testing.assert_close(theirs.flatten(1)[:, [*range(0, M, 2), *range(1, M, 2)]], table)


@pytest.mark.parametrize(
    ("write", "changes", "reasons"),
    [
        (eole, {"num_experts": 4, "query_norm": True}, ["model.encoder.num_experts is 4", "model.decoder.query_norm"]),
        (eole, {"position_encoding_type": "Alibi"}, ["position_encoding_type is 'Alibi', and only 'SinusoidalInterl"]),
        (
            opennmt,
            {"max_relative_positions": 20, "copy_attn": True},
            ["max_relative_positions is 20", "copy_attn is T"],
        ),
        (opennmt, {"transforms": ["onmt_tokenize"]}, ["transforms has onmt_tokenize, and only sentencepiece"]),
        (
            joeynmt,
            {"alpha": 1.2, "activation": "tanh"},
            ["model.encoder.alpha is 1.2", "model.decoder.activation is 't"],
        ),
        (joeynmt, {"layer_norm": None}, ["model.encoder.layer_norm is None, and only 'pre' or 'post'"]),
        (
            sockeye,
            {"decoder_type": "ssru_transformer", "use_lhuc": True},
            ["decoder_type is 'ssru_tra", "use_lhuc is True"],
        ),
        (sockeye, {"preprocess_sequence": "rn"}, [r"postprocess_sequence is ('rn', 'r'), and only ('n', 'r')"]),
    ],
)
def test_what_does_not_fit_is_refused_with_all_reasons(
    folder: Path, write: Callable[..., Path], changes: dict[str, Any], reasons: list[str]
) -> None:
    with pytest.raises(ValueError, match="can't be converted") as error:
        convert(write(folder, **changes), folder.with_name("ours"), "a test")
    assert all(reason in str(error.value) for reason in reasons), error.value
    assert not folder.with_name("ours").exists()


def test_the_sentencepiece_model_must_be_there_and_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opennmt(folder)
    (folder / "joint.model").rename(folder.parent / "joint.model")
    words = [str(folder / "model_step_1.pt"), str(folder.with_name("ours")), "--source", "de", "--target", "en"]
    assert command.main(words) == 2
    assert "needs the SentencePiece model that it was trained with, and 0 were found" in capsys.readouterr().err
    assert command.main([*words, "--tokenizer", str(folder.parent / "joint.model")]) == 0
    state = torch.load(folder / "model_step_1.pt", weights_only=False)
    state["vocab"]["tgt"] = [re.sub("^▁?(.*)$", r"\1@@", piece) if n > 3 else piece for n, piece in enumerate(ONMT)]
    torch.save(state, folder / "model_step_1.pt")
    capsys.readouterr()
    words[1] += "-2"
    assert command.main([*words, "--tokenizer", str(folder.parent / "joint.model")]) == 2
    assert "Vocabularies of subword-nmt, or of pyonmttok with joiners, can't be converted" in capsys.readouterr().err


class Evil:
    """An object whose reading would run code."""

    def __reduce__(self) -> Any:
        return eval, ("1 + 1",)


def test_code_in_a_checkpoint_is_not_run(folder: Path) -> None:
    opennmt(folder, seed=Evil())
    with pytest.raises(ValueError, match="holds more than tensors"):
        convert(folder, folder.with_name("ours"), "a test")
    torch.save({"model_state": {}}, folder / "model_step_1.pt")
    with pytest.raises(ValueError, match="is no checkpoint of OpenNMT-py 3"):
        convert(folder, folder.with_name("ours"), "a test")
    torch.save({}, folder / "model_step_2.pt")
    with pytest.raises(ValueError, match=r"has 2 files \*\.pt: name the file of the checkpoint"):
        convert(folder, folder.with_name("ours"), "a test")


def test_a_damaged_checkpoint_is_told_in_a_sentence(folder: Path) -> None:
    sockeye(folder)
    (folder / "config").write_text("!ModelConfig\nconfig_encoder: [")
    with pytest.raises(ValueError, match="the file config of a test can't be read"):
        convert(folder, folder.with_name("ours"), "a test")
    joeynmt(folder)
    (folder / "best.ckpt").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="can't be read: it is damaged"):
        convert(folder, folder.with_name("ours"), "a test")


def test_rotary_neighbours_become_halves_of_each_head() -> None:
    rows = torch.arange(8)[:, None]
    assert in_halves(rows, 4).flatten().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
