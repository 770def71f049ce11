"""Stand-ins for checkpoints of other toolkits, with their files and the names of their weights; what doesn't fit is
refused with all reasons. `test_real_checkpoints.py` has those that the toolkits themselves write."""

import json
import re
from argparse import Namespace
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import save_file
from torch import Tensor

from nmt import convert as command
from nmt.interop.bart import in_halves
from nmt.interop.convert import convert
from nmt.translation.model_folder import load_model
from tests.interop.foreign import pieces_of, sentencepiece, sides
from tests.interop.parity import load_translator
from tests.tiny import Stderr

M, INNER = 16, 24
PIECES = pieces_of(sentencepiece(2))
ONMT = ["<unk>", "<blank>", "<s>", "</s>", *PIECES]
JOEY = ["<unk>", "<pad>", "<s>", "</s>", *PIECES]
SOCKEYE = ["<pad>", "<unk>", "<s>", "</s>", *PIECES]
SIZES = {"V": len(ONMT), "M": M, "INNER": INNER, "3M": 3 * M, "2M": 2 * M, "5000": 5000, "60": 60, "1": 1}


def weights(text: str) -> dict[str, Tensor]:
    """Random weights. Each line has a name, in which {a,b} stands for a and for b, and its sizes."""
    torch.manual_seed(1)
    found = {}
    for name, *sizes in map(str.split, text.strip().splitlines()):
        for parts in product(*(part.split(",") for part in re.split("[{}]", name))):
            found["".join(parts)] = torch.randn(*(SIZES[size] for size in sizes)) * 0.3
    return found


def opennmt(folder: Path, **changes: Any) -> Path:
    model = weights("""
        {encoder,decoder}.embeddings.make_embedding.emb_luts.0.weight V M
        {encoder,decoder}.layer_norm.{weight,bias} M
        encoder.transformer.0.self_attn.{linear_keys,linear_values,linear_query,final_linear}.weight M M
        encoder.transformer.0.layer_norm.{weight,bias} M
        decoder.transformer_layers.0.{self,context}_attn.{linear_keys,linear_values,linear_query}.weight M M
        decoder.transformer_layers.0.{self,context}_attn.final_linear.weight M M
        decoder.transformer_layers.0.{layer_norm_1,layer_norm_2}.{weight,bias} M
        {encoder.transformer,decoder.transformer_layers}.0.feed_forward.w_1.weight INNER M
        {encoder.transformer,decoder.transformer_layers}.0.feed_forward.w_2.weight M INNER
        {encoder.transformer,decoder.transformer_layers}.0.feed_forward.layer_norm.{weight,bias} M
    """)
    options: dict[str, Any] = {"model_task": "seq2seq", "encoder_type": "transformer", "decoder_type": "transformer"}
    options |= {"enc_layers": 1, "dec_layers": 1, "heads": 2, "transformer_ff": INNER}
    options |= dict.fromkeys(("enc_hid_size", "dec_hid_size", "src_word_vec_size", "tgt_word_vec_size"), M)
    options |= {"position_encoding": True, "transforms": ["sentencepiece"], "dropout": [0.1], "norm_eps": 1e-6}
    vocab = {"src": ONMT, "tgt": ONMT, "decoder_start_token": "<s>"}
    generator = {"weight": torch.randn(len(ONMT), M), "bias": torch.randn(len(ONMT))}
    state = {"model": model, "generator": generator, "vocab": vocab, "opt": Namespace(**options | changes)}
    torch.save(state, folder / "model_step_1.pt")
    return folder


def eole(folder: Path, **changes: Any) -> Path:
    tensors = weights("""
        src_emb.embeddings.weight V M
        generator.bias V
        src_emb.pe.pe 5000 1 M
        {encoder,decoder}.layer_norm.{weight,bias} M
        {encoder,decoder}.transformer_layers.0.self_attn.{linear_keys,linear_values,linear_query}.weight M M
        {encoder,decoder}.transformer_layers.0.self_attn.final_linear.weight M M
        {encoder,decoder}.transformer_layers.0.{input_layernorm,post_attention_layernorm}.{weight,bias} M
        {encoder,decoder}.transformer_layers.0.mlp.gate_up_proj.weight INNER M
        {encoder,decoder}.transformer_layers.0.mlp.down_proj.weight M INNER
        decoder.transformer_layers.0.context_attn.{linear_keys,linear_values,linear_query,final_linear}.weight M M
        decoder.transformer_layers.0.precontext_layernorm.{weight,bias} M
        decoder.transformer_layers.0.layer_scalar 1
    """)
    save_file(tensors, folder / "model.00.safetensors")
    settings = {"layers": 1, "hidden_size": M, "heads": 2, "transformer_ff": INNER, **changes}
    embeddings = {"src_word_vec_size": M, "tgt_word_vec_size": M, "position_encoding_type": "SinusoidalInterleaved"}
    both = {side: {**settings, f"{side}_type": "transformer"} for side in ("encoder", "decoder")}
    whole = {"model": {**both, "embeddings": embeddings}, "transforms": ["sentencepiece"], "training": {}}
    (folder / "config.json").write_text(json.dumps(whole))
    (folder / "vocab.json").write_text(json.dumps({"src": ONMT, "tgt": ONMT, "decoder_start_token": "<s>"}))
    return folder


def joeynmt(folder: Path, **changes: Any) -> Path:
    tensors = weights("""
        {src_embed.lut,trg_embed.lut,decoder.output_layer}.weight V M
        {encoder,decoder}.pe.pe 1 5000 M
        {encoder,decoder}.layer_norm.{weight,bias} M
        encoder.layers.0.src_src_att.{k_layer,v_layer,q_layer,output_layer}.weight M M
        encoder.layers.0.src_src_att.{k_layer,v_layer,q_layer,output_layer}.bias M
        encoder.layers.0.layer_norm.{weight,bias} M
        decoder.layers.0.{trg_trg_att,src_trg_att}.{k_layer,v_layer,q_layer,output_layer}.weight M M
        decoder.layers.0.{trg_trg_att,src_trg_att}.{k_layer,v_layer,q_layer,output_layer}.bias M
        decoder.layers.0.{x_layer_norm,dec_layer_norm}.{weight,bias} M
        {encoder,decoder}.layers.0.feed_forward.pwff_layer.0.weight INNER M
        {encoder,decoder}.layers.0.feed_forward.pwff_layer.0.bias INNER
        {encoder,decoder}.layers.0.feed_forward.pwff_layer.3.weight M INNER
        {encoder,decoder}.layers.0.feed_forward.pwff_layer.3.bias M
        {encoder,decoder}.layers.0.feed_forward.layer_norm.{weight,bias} M
    """)
    torch.save({"model_state": tensors, "stats_state": {"steps": 1}}, folder / "best.ckpt")
    settings: dict[str, Any] = {"type": "transformer", "num_layers": 1, "num_heads": 2, "hidden_size": M}
    settings |= {"ff_size": INNER, "layer_norm": "pre", "embeddings": {"embedding_dim": M, "scale": True}, **changes}
    text = {"level": "bpe", "tokenizer_type": "sentencepiece"}
    data = {"src": {"lang": "de", **text}, "trg": {"lang": "en", **text}}
    model = {"encoder": settings, "decoder": settings}
    (folder / "config.yaml").write_text(yaml.safe_dump({"data": data, "model": model}))
    for name in ("src", "trg"):
        (folder / f"{name}_vocab.txt").write_text("\n".join(JOEY) + "\n", encoding="utf8")
    return folder


def sockeye(folder: Path, **changes: Any) -> Path:
    tensors = weights("""
        {embedding_source.embedding,embedding_target.embedding,output_layer}.weight V M
        output_layer.bias V
        {encoder,decoder}.pos_embedding.weight 60 M
        {encoder,decoder}.final_process.layer_norm.{weight,bias} M
        {encoder.layers.0.self_attention,decoder.layers.0.autoregr_layer}.ff_in.weight 3M M
        {encoder.layers.0.self_attention,decoder.layers.0.autoregr_layer}.ff_out.weight M M
        encoder.layers.0.pre_{self_attention,ff}.layer_norm.{weight,bias} M
        decoder.layers.0.pre_{autoregr_layer,ff,enc_attention}.layer_norm.{weight,bias} M
        decoder.layers.0.enc_attention.{ff_q,ff_out}.weight M M
        decoder.layers.0.enc_attention.ff_kv.weight 2M M
        {encoder,decoder}.layers.0.ff.ff1.weight INNER M
        {encoder,decoder}.layers.0.ff.ff1.bias INNER
        {encoder,decoder}.layers.0.ff.ff2.weight M INNER
        {encoder,decoder}.layers.0.ff.ff2.bias M
    """)
    torch.save(tensors, folder / "params.best")
    settings: dict[str, Any] = {"model_size": M, "attention_heads": 2, "feed_forward_num_hidden": INNER}
    settings |= {"num_layers": 1, "act_type": "relu", "max_seq_len_source": 60}
    settings |= {"preprocess_sequence": "n", "postprocess_sequence": "dr", **changes}
    section = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in settings.items())
    both = "".join(f"config_{name}: !TransformerConfig\n{section}" for name in ("encoder", "decoder"))
    buckets = "config_data: !DataConfig\n  buckets:\n  - !!python/tuple\n    - 1\n    - 1\n"
    (folder / "config").write_text(f"!ModelConfig\n{buckets}{both}dtype: float32\n")
    for name in ("src", "trg"):
        (folder / f"vocab.{name}.0.json").write_text(json.dumps({piece: i for i, piece in enumerate(SOCKEYE)}))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a SentencePiece model."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "joint.model").write_bytes(sentencepiece(2))
    return theirs


@pytest.mark.parametrize("write", [eole, opennmt, joeynmt, sockeye])
def test_a_checkpoint_becomes_a_model_that_translates(folder: Path, write: Callable[..., Path]) -> None:
    said = " ".join(convert(write(folder), folder.with_name("ours"), "a test", ("de", "en")))
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


@pytest.mark.parametrize(("write", "name"), [(joeynmt, "config.yaml"), (sockeye, "config")])
def test_a_file_of_endless_settings_is_refused_at_once(folder: Path, write: Callable[..., Path], name: str) -> None:
    plain = (write(folder) / name).read_text()
    (folder / name).write_text(plain + "more: [&x {a: 1, b: 1}, *x, *x]\n")
    convert(folder, folder.with_name("ours"), "a test", ("de", "en"))
    merged = "{a: 1}", "{<<: [*x%d, *x%d, *x%d]}"
    for first, members in (("{a: 1}", "{a: *x%d, b: *x%d, c: *x%d}"), ("{}", "{a: *x%d, b: *x%d, c: *x%d}"), merged):
        bomb = "".join(f"x{n + 1}: &x{n + 1} {members % (n, n, n)}\n" for n in range(40))
        (folder / name).write_text(f"{plain}x0: &x0 {first}\n{bomb}")
        with pytest.raises(ValueError, match=f"the file {name} of a test can't be read: it stands for more than 100,"):
            convert(folder, folder.with_name("bad"), "a test", ("de", "en"))


@pytest.mark.parametrize(
    ("write", "changes", "reasons"),
    [
        (eole, {"num_experts": 4, "query_norm": True}, ["model.encoder.num_experts is 4", "model.decoder.query_norm"]),
        (eole, {"position_encoding_type": "Alibi"}, ["position_encoding_type is 'Alibi', and only 'SinusoidalInterl"]),
        (opennmt, {"max_relative_positions": 20, "copy_attn": True}, ["positions is 20", "copy_attn is True"]),
        (opennmt, {"transforms": ["onmt_tokenize"]}, ["transforms has onmt_tokenize, and only sentencepiece"]),
        (joeynmt, {"alpha": 1.2, "activation": "tanh"}, ["encoder.alpha is 1.2", "model.decoder.activation is 't"]),
        (joeynmt, {"layer_norm": None}, ["model.encoder.layer_norm is None, and only 'pre' or 'post'"]),
        (sockeye, {"decoder_type": "ssru_transformer", "use_lhuc": True}, ["r_type is 'ssru_tra", "use_lhuc is True"]),
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


def test_the_sentencepiece_model_must_be_there_and_fit(folder: Path, stderr_of: Stderr) -> None:
    opennmt(folder)
    (folder / "joint.model").rename(folder.parent / "joint.model")
    words = [str(folder / "model_step_1.pt"), str(folder.with_name("ours")), "--source", "de", "--target", "en"]
    told = "needs the SentencePiece model that it was trained with, and 0 were found"
    assert told in stderr_of(command.main, words)
    words += ["--tokenizer", str(folder.parent / "joint.model")]
    assert command.main(words) == 0
    state = torch.load(folder / "model_step_1.pt", weights_only=False)
    state["vocab"]["tgt"] = [re.sub("^▁?(.*)$", r"\1@@", piece) if n > 3 else piece for n, piece in enumerate(ONMT)]
    torch.save(state, folder / "model_step_1.pt")
    words[1] += "-2"
    told = "Vocabularies of subword-nmt, or of pyonmttok with joiners, can't be converted"
    assert told in stderr_of(command.main, words)


class Evil:
    """An object whose reading would run code."""

    def __reduce__(self) -> Any:
        return eval, ("1 + 1",)


def check_refused(folder: Path, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(folder, folder.with_name("ours"), "a test")


def test_code_in_a_checkpoint_is_not_run(folder: Path) -> None:
    opennmt(folder, seed=Evil())
    check_refused(folder, "holds more than tensors")
    torch.save({"model_state": {}}, folder / "model_step_1.pt")
    check_refused(folder, "is no checkpoint of OpenNMT-py 3")
    torch.save({}, folder / "model_step_2.pt")
    check_refused(folder, r"has 2 files \*\.pt: name the file of the checkpoint")


def test_a_damaged_checkpoint_is_told_in_a_sentence(folder: Path) -> None:
    sockeye(folder)
    (folder / "config").write_text("!ModelConfig\nconfig_encoder: [")
    check_refused(folder, "the file config of a test can't be read")
    joeynmt(folder)
    (folder / "best.ckpt").write_bytes(b"nothing")
    check_refused(folder, "can't be read: it is damaged")


def test_rotary_neighbours_become_halves_of_each_head() -> None:
    rows = torch.arange(8)[:, None]
    assert in_halves(rows, 4).flatten().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
