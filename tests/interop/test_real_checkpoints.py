"""Models that Eole, OpenNMT-py, JoeyNMT and Sockeye wrote are the same after the conversion. These libraries are not
installed with ours: OpenNMT-py and Sockeye ask for an older PyTorch. On Python 3.11, install all without their
dependencies, and then pyonmttok configargparse importlib_metadata subword-nmt matplotlib seaborn pandas six. What isn't
installed is skipped."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.decode.beam import search
from nmt.decode.pytorch import pad
from nmt.interop.convert import convert
from nmt.interop.export import export
from nmt.translation.model_folder import load_model
from tests.interop import toolkits
from tests.interop.foreign import pieces_of, sentencepiece, sides
from tests.interop.parity import load_translator

pytestmark = pytest.mark.services
LINES, TARGETS = sides()[0][500:530], sides()[1][500:530]
ROTARY = {"max_relative_positions": -1, "rotary_interleave": True}
GATES = {"pos_ffn_activation_fn": "silu", "layer_norm": "rms", "num_kv": 2, "add_qkvbias": True, "add_ffnbias": True}
EOLE_GATES = {"layer_norm": "rms", "mlp_activation_fn": "gated-silu", "heads_kv": 2}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("joeynmt", {}),
    ("joeynmt", {"norm": "post", "joint": False}),
    ("sockeye", {}),
    ("sockeye", {"preprocess_sequence": "", "postprocess_sequence": "drn", "act_type": "gelu"}),
    ("sockeye", {"use_glu": True, "act_type": "swish1", "positional_embedding_type": "learned"}),
    ("opennmt", {"position_encoding": True}),
    ("opennmt", {"position_encoding": True, "position_encoding_type": "SinusoidalConcat", "share_embeddings": True}),
    ("opennmt", ROTARY | GATES),
    ("eole", {}),
    ("eole", {"positions": "Learned", "share_embeddings": True, "share_decoder_embeddings": True}),
    ("eole", {"rope_config": {"rotary_interleave": True}, "positions": "Rotary", **EOLE_GATES}),
]


@pytest.mark.parametrize(("name", "changes"), CASES, ids=lambda value: str(value)[:60])
def test_a_model_of_another_toolkit_is_the_same(tmp_path: Path, name: str, changes: dict[str, Any]) -> None:
    pytest.importorskip({"opennmt": "pyonmttok"}.get(name, name))
    theirs_folder = tmp_path / name
    theirs_folder.mkdir()
    (theirs_folder / "joint.model").write_bytes(sentencepiece(2))
    write: Callable[..., Any] = getattr(toolkits, name)
    logits, names = write(theirs_folder, pieces_of(sentencepiece(2)), **changes)
    convert(theirs_folder, tmp_path / "ours", name, ("de", "en"))
    model, tokenizer, info = load_model(tmp_path / "ours")
    translator = load_translator(tmp_path / "ours")
    ours = [tokenizer.target.id_to_piece(i) for i in range(model.vocab_size)]
    order = [ours.index({"<blank>": "<pad>"}.get(piece, piece)) for piece in names]
    number = {piece: i for i, piece in enumerate(order)}
    sources, targets = tokenizer.encode_source(LINES), tokenizer.encode_target(TARGETS)
    options = translator.search.__class__(beam_size=1, max_length=12, max_length_ratio=100, allow_unk=True)
    written = [best.ids for best, *_ in search(model, *pad(sources, model.device), options)]  # type: ignore[arg-type]
    pairs = list(zip(sources, targets, strict=True))
    scores = translator.scorer(options).score_ids(pairs)
    with torch.no_grad():
        for (source, target), ids, score in zip(pairs, written, scores, strict=True):
            their_source = [number[i] for i in source]
            expected_TV = logits(their_source, [number[i] for i in [1, *target]])
            found_TV = model(*pad([source], model.device), torch.tensor([[1, *target]]))[0][:, order]
            torch.testing.assert_close(found_TV, expected_TV, atol=1e-4, rtol=0)
            gold = torch.tensor([number[i] for i in [*target, 2]])
            log_probs = expected_TV.log_softmax(-1).gather(1, gold[:, None])[:, 0]
            assert score is not None
            torch.testing.assert_close(torch.tensor(score.token_log_probs), log_probs, atol=1e-4, rtol=0)
            assert [number[i] for i in ids] == greedy(logits, their_source, number)
    (tmp_path / "lines").write_text("\n".join(LINES))
    export(tmp_path / "ours", tmp_path / "ctranslate2", "ctranslate2", check=tmp_path / "lines")
    assert info.source == "de"


def greedy(logits: toolkits.Logits, source: list[int], number: dict[int, int]) -> list[int]:
    written = [number[1]]
    while len(written) <= 12:
        last_V = logits(source, written)[-1]
        last_V[[number[1], number[3]]] = -torch.inf  # BOS and PAD are never written here
        written.append(int(last_V.argmax()))
        if written[-1] == number[2]:
            return written[1:-1]
    return written[1:]
