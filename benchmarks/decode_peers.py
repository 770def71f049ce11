"""A system translates what `decode_speed.py` gives it, with the weights of an nmt model. Started by that script, once a
row.

    PYTHON -m benchmarks.decode_peers ctranslate2-int8 --model DIR --source FILE --reference FILE --beam 5 --batch 64

nmt translates text. Its peers run in the environment `transformers` of `setup.py`, and get pieces: their time is that
of decoding alone, warmed up, in the mode that is fastest here. CTranslate2 gets the model as `nmt.export` writes it;
transformers needs a classic one (post-norm, sinusoidal positions, biases).
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.rows import run_script
from nmt.commands.options import keep_what_is_loaded
from nmt.config import Backend, ModelConfig, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.ctranslate2 import PATIENCE
from nmt.fields import require
from nmt.interop.export import export
from nmt.model.positions import sinusoids
from nmt.scoring.metrics import score
from nmt.translation.model_folder import load_model
from nmt.translation.translator import Translator
from nmt.vocabulary import BOS, EOS, PAD

# Longest output of the peers; none of the test set's comes near.
MAX_LENGTH = 100

Weights = dict[str, torch.Tensor]
Peer = tuple[Callable[[], list[Any]], str]
"""What translates all sources, to texts (nmt) or ids, and the mode in which it does."""


@dataclass(frozen=True)
class Job:
    """What to translate, and how."""

    folder: Path
    config: ModelConfig
    weights: Weights
    """Those of the model folder, by name; a tied one has all of its names."""
    tokenizer: Tokenizer
    lines: list[str]
    sources: list[list[int]]
    beam: int
    batch: int


def nmt(job: Job, dtype: Any) -> Peer:
    """As users run it; ":pytorch": by PyTorch alone; ":ids": also without the guard and the steps of reading."""
    precision, _, extra = dtype.partition(":")
    backend: Backend = "pytorch" if extra else "auto"
    search = SearchConfig(beam_size=job.beam, batch_size=job.batch)
    translator = Translator.load(job.folder, precision=precision, search=search, backend=backend)
    if extra == "ids":
        return partial(translate_ids, translator, job), ""
    return partial(translator.translate, job.lines), ""


def translate_ids(translator: Translator, job: Job) -> list[str]:
    """Search alone, one batch after another."""
    ids = sorted(enumerate(job.tokenizer.encode_source(job.lines)), key=lambda numbered: len(numbered[1]))
    found = dict[int, list[int]]()
    for start in range(0, len(ids), job.batch):
        numbers, rows = zip(*ids[start : start + job.batch], strict=True)
        for number, (best, *_) in zip(numbers, translator.engine.search(rows, translator.search), strict=True):
            found[number] = best.ids
    return job.tokenizer.decode_target([found[number] for number in range(len(ids))])


def ctranslate2(job: Job, compute_type: str) -> Peer:
    """CTranslate2 in its fastest mode: a worker of one thread for each core, or one worker with all threads. On a GPU,
    one worker. With ":patience", it searches as long as nmt does; its own beam search ends earlier, with less BLEU."""
    import ctranslate2

    on_gpu, (compute_type, _, is_patient) = torch.cuda.is_available(), compute_type.partition(":")
    threads = torch.get_num_threads()
    pieces = [job.tokenizer.source_pieces(ids) for ids in job.sources]
    number = {piece: i for i, piece in enumerate(job.tokenizer.target_pieces(range(job.tokenizer.tgt_vocab_size)))}
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "exported"
        export(job.folder, exported, "ctranslate2")
        translators = {
            f"{workers} × {each}": ctranslate2.Translator(
                str(exported),
                device="cuda" if on_gpu else "cpu",
                compute_type=compute_type,
                inter_threads=workers,
                intra_threads=each,
            )
            for workers, each in ([(1, 1)] if on_gpu else dict.fromkeys(((threads, 1), (1, threads))))
        }

    def translate(mode: str) -> list[list[int]]:
        results = translators[mode].translate_batch(
            pieces,
            beam_size=job.beam,
            patience=PATIENCE if is_patient else 1.0,
            max_batch_size=job.batch,
            max_decoding_length=MAX_LENGTH,
            length_penalty=1.0,
        )
        return [[number[piece] for piece in result.hypotheses[0]] for result in results]

    def seconds(mode: str) -> float:
        translate(mode)
        started = time.perf_counter()
        translate(mode)
        return time.perf_counter() - started

    fastest = min(translators, key=seconds)
    return partial(translate, fastest), f"workers × threads: {fastest}"


def part(weights: Weights, prefix: str) -> Weights:
    """The weights of one module, by their names in it."""
    start = f"{prefix}."
    return {name.removeprefix(start): weight for name, weight in weights.items() if name.startswith(start)}


def new_marian(config: ModelConfig, vocab_size: int) -> Any:
    """transformers' MarianMTModel of this size, with random weights."""
    from transformers import MarianConfig, MarianMTModel

    return MarianMTModel(
        MarianConfig(
            vocab_size=vocab_size,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.n_heads,
            decoder_attention_heads=config.n_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            activation_dropout=config.activation_dropout,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            bos_token_id=BOS,
            decoder_start_token_id=BOS,
            max_position_embeddings=512,
            forced_eos_token_id=None,
        )
    )


def marian_model(job: Job) -> Any:
    """transformers' MarianMTModel with the weights of the job."""
    config, weights = job.config, job.weights
    model = new_marian(config, job.tokenizer.tgt_vocab_size).eval()
    with torch.no_grad():
        model.lm_head.weight.copy_(weights["output.weight"])
        for side, name, embedding in (
            (model.model.encoder, "encoder", "src_embedding"),
            (model.model.decoder, "decoder", "tgt_embedding"),
        ):
            side.embed_tokens.weight.copy_(weights[f"{embedding}.weight"])
            side.embed_positions.weight.copy_(sinusoids(512, config.d_model))
            for i, layer in enumerate(side.layers):
                block = part(weights, f"{name}.{i}")
                copy_attention(layer.self_attn, part(block, "self_attention"), ["qkv"])
                layer.self_attn_layer_norm.load_state_dict(part(block, "around_self.norm"))
                if side is model.model.decoder:
                    copy_attention(layer.encoder_attn, part(block, "cross_attention"), ["q", "kv"])
                    layer.encoder_attn_layer_norm.load_state_dict(part(block, "around_cross.norm"))
                layer.fc1.load_state_dict(part(block, "feed_forward.up"))
                layer.fc2.load_state_dict(part(block, "feed_forward.down"))
                layer.final_layer_norm.load_state_dict(part(block, "around_feed_forward.norm"))
    return model


def transformers(job: Job, dtype: str) -> Peer:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = marian_model(job).to(device, getattr(torch, dtype))
    order = sorted(range(len(job.sources)), key=lambda i: -len(job.sources[i]))

    @torch.inference_mode()
    def translate() -> list[list[int]]:
        output: list[list[int]] = [[]] * len(order)
        for start in range(0, len(order), job.batch):
            rows = order[start : start + job.batch]
            src_BS = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor([*job.sources[i], EOS]) for i in rows], batch_first=True, padding_value=PAD
            ).to(device)
            out_BT = model.generate(
                input_ids=src_BS,
                attention_mask=src_BS != PAD,
                num_beams=job.beam,
                do_sample=False,
                max_new_tokens=MAX_LENGTH,
                length_penalty=1.0,
            )
            for i, ids in zip(rows, out_BT[:, 1:].tolist(), strict=True):
                output[i] = [token for token in (ids[: ids.index(EOS)] if EOS in ids else ids) if token != PAD]
        return output

    return translate, ""


def copy_attention(attention: Any, weights: Weights, fused: list[str]) -> None:
    """`fused`: the linear layers whose rows, one after another, are those of q, k and v."""
    for kind in ("weight", "bias"):
        rows = torch.cat([weights[f"{name}.{kind}"] for name in fused]).chunk(3)
        for linear, values in zip((attention.q_proj, attention.k_proj, attention.v_proj), rows, strict=True):
            getattr(linear, kind).copy_(values)
    attention.out_proj.load_state_dict(part(weights, "out"))


PEERS: dict[str, Callable[[Job, str], Peer]] = {"nmt": nmt, "ctranslate2": ctranslate2, "transformers": transformers}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", help="as decode_speed's --peer, or nmt-DTYPE")
    for name in ("--model", "--source", "--reference"):
        parser.add_argument(name, type=Path, required=True)
    for name in ("--beam", "--batch", "--repeats"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    system, _, dtype = args.system.partition("-")
    model, tokenizer, info = load_model(args.model)
    classic = ("layer", "sinusoidal", "relu", True, "post")
    given = (info.model.norm, info.model.positions, info.model.activation, info.model.bias, info.model.norm_position)
    problem = f"{args.model} is not a classic Transformer, which MarianMTModel is"
    require(system != "transformers" or given == classic, problem)
    lines, references = (file.read_text(encoding="utf8").splitlines() for file in (args.source, args.reference))
    sources = tokenizer.encode_source(lines)
    job = Job(args.model, info.model, model.state_dict(), tokenizer, lines, sources, args.beam, args.batch)
    translate, mode = PEERS[system](job, dtype or "float32")
    translate()
    keep_what_is_loaded()  # as nmt.translate does
    best, output = float("inf"), []
    for _ in range(args.repeats):
        started = time.perf_counter()
        output = translate()
        best = min(best, time.perf_counter() - started)
    is_text = system == "nmt"
    ids, texts = (tokenizer.encode_target(output), output) if is_text else (output, tokenizer.decode_target(output))
    (bleu,) = score(texts, references, metrics=["bleu"])
    speeds = {"sentences_per_second": len(sources) / best, "tokens_per_second": sum(map(len, ids)) / best}
    about = {"version": "" if is_text else version(system), "mode": mode}
    print(json.dumps({**speeds, "bleu": bleu.value, **about}))
    return 0


if __name__ == "__main__":
    run_script(main)
