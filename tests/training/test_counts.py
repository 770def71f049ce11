"""What a training step does that costs a GPU much, counted on the CPU: memory, casts, and waits for a number."""

import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from nmt.config import Config, DataConfig, ModelConfig, SearchConfig, TrainingConfig
from nmt.data.batches import Pairs, Sequences, make_batch
from nmt.data.tokenizer import Tokenizer
from nmt.model.build import build_model
from nmt.model.device import Numerics, move
from nmt.model.positions import LENGTH
from nmt.training.data import TrainingData
from nmt.training.distributed import SINGLE_PROCESS
from nmt.training.loss import CHUNK_LOGITS, Learner, Terms, cross_entropy
from nmt.training.monitor import Window
from nmt.training.validation import Validator
from tests.training.reversal import NO_DROPOUT, TINY, corpus, new_trainer


class Watch(TorchDispatchMode):
    """Notes all operations of PyTorch."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.note(func, args, kwargs or {}, result)
        return result

    def note(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        raise NotImplementedError


# Of a tensor of a GPU, these need its numbers: the program waits until the GPU has done all work before.
READERS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "_unique2", "unique_consecutive", "bincount"}
COPIES = {"tolist", "numpy", "cpu", "item", "__bool__", "__int__", "__float__", "__index__"}


class Waits(Watch):
    """Counts the operations for which the program would wait, if the model were on a GPU, in a step of this trainer.

    The tensors that would be there: parameters, what `move` moves, and what is computed of them.
    """

    def __init__(self, model: nn.Module, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.found, self.there = list[str](), dict[int, weakref.ref[Tensor]]()
        self.mark([*model.parameters(), *model.buffers()])
        for name, module in list(sys.modules.items()):
            if name.startswith("nmt.") and getattr(module, "move", None) is move:
                patch.setattr(module, "move", lambda tensor, device: self.mark([tensor.clone()])[0])
        for name in COPIES:  # not all of them are operations on a CPU
            patch.setattr(Tensor, name, self.watched(name, getattr(Tensor, name)))

    def mark(self, tensors: list[Any]) -> list[Any]:
        self.there |= {id(x): weakref.ref(x) for x in tensors if isinstance(x, Tensor)}
        return tensors

    def is_there(self, x: Any) -> bool:
        return isinstance(x, Tensor) and id(x) in self.there and self.there[id(x)]() is x

    def watched(self, name: str, plain: Any) -> Any:
        def copy(tensor: Tensor) -> Any:
            self.found += [name] if self.is_there(tensor) else []
            with torch._C._DisableTorchDispatch():  # so that nothing counts twice
                return plain(tensor)

        return copy

    def note(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        given = [x for x in tree_leaves((args, kwargs)) if self.is_there(x)]
        name = func.overloadpacket.__name__
        by_mask = name == "index" and any(x.dtype == torch.bool for x in given)
        by_counts = name == "repeat_interleave" and kwargs.get("output_size") is None
        self.found += [name] if given and (name in READERS or by_mask or by_counts) else []
        self.mark(tree_leaves(result) if given else [])


class Memory(Watch):
    """The most bytes of all tensors that are alive at once."""

    def __init__(self) -> None:
        super().__init__()
        self.peak, self.made = 0, list[weakref.ref[Tensor]]()

    def note(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        results = [x for x in (result if isinstance(result, tuple) else [result]) if isinstance(x, Tensor)]
        self.made += map(weakref.ref, results)
        alive = (x.untyped_storage() for made in self.made if (x := made()) is not None)
        self.peak = max(self.peak, sum({storage.data_ptr(): storage.nbytes() for storage in alive}.values()))


def test_the_logits_of_a_batch_are_never_all_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHUNK_LOGITS, "cpu", 25 * 640)
    peaks = []
    for n in (100, 400):
        states, weight = torch.randn(1, n, 8, requires_grad=True), torch.randn(640, 8, requires_grad=True)
        with Memory() as memory:
            cross_entropy(states, weight, torch.arange(n), Terms(0.1)).smoothed.backward()
        peaks.append(memory.peak)
    assert peaks[1] - peaks[0] < 300 * 8 * 4 * 3  # some copies of the states; the logits are 80 times as large
    assert peaks[0] < 3 * 25 * 640 * 4 + 5 * 640 * 8 * 4 + 20_000


def test_a_step_waits_for_one_number_alone(data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The norm of the gradient, which must be finite."""
    trainer = new_trainer(data, tmp_path, accumulate=3)
    window = Window()
    with Waits(trainer.model, monkeypatch) as waits:
        for _ in range(2):
            trainer.step(window)
    assert waits.found == ["__float__"] * 2
    assert 0 < window.figures(trainer.processes)["train/nll"] < 10


class Casts(Watch):
    """Counts the conversions between float32 and bfloat16."""

    n = 0

    def note(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if func is torch.ops.aten._to_copy.default:
            self.n += {args[0].dtype, result.dtype} == {torch.float32, torch.bfloat16}


def casts_of_a_step(layers: int, model: ModelConfig = NO_DROPOUT) -> int:
    ids = Sequences.of([[5, 6, 7], [8]])
    config = replace(model, encoder_layers=layers, decoder_layers=layers)
    learner = Learner(build_model(config, 30, 30), TrainingConfig(), Numerics(torch.device("cpu"), bf16=True))
    with Casts() as casts:
        learner(make_batch(Pairs(ids, ids), torch.arange(2))).smoothed.backward()
    return casts.n


def test_each_weight_is_cast_once_in_a_step_and_so_is_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """And states are not widened again. Of an encoder layer and a decoder layer together."""
    for room in ("layers", "attention"):
        monkeypatch.setattr(f"nmt.model.{room}.needs_code", lambda x: False)
    n_parameters = 12 + 20
    assert casts_of_a_step(2) - casts_of_a_step(1) == 2 * n_parameters
    rest = 2 * (2 + 2) + 2 * 2 + 3  # last norms; states after embeddings; logits, output matrix and probabilities
    assert casts_of_a_step(1, TINY) == 2 * n_parameters + rest


@pytest.mark.slow
def test_a_long_sentence_compiles_nothing_anew(
    tokenizer: Tokenizer, tmp_path: Path, traced: list[torch.nn.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables of positions are made for the longest sentence of the corpus."""
    monkeypatch.setattr("nmt.model.positions.LENGTH", 16)
    long = " ".join(["ab"] * 30)
    data = TrainingData.encode(tokenizer, [*corpus(20, 1), ("ab cd", "cd ab"), (long, long)], corpus(5, 2))
    trainer = new_trainer(data, tmp_path, replace(TINY, positions="rotary"), compile=True)
    graphs = [0]
    for index in ([0, 1, 2, 3], [0, 1, 20], [20, 21]):
        batch = make_batch(data.train.chosen(torch.arange(22)), torch.tensor(index))
        trainer.model.target_states(batch.src_BS, batch.src_mask_BS, batch.tgt_in_BT, batch.tgt_mask_BT)
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    assert traced
    assert 0 < graphs[1] <= graphs[2] == graphs[3]


def test_the_longest_usual_sequence_needs_no_new_table_of_positions() -> None:
    """With another table, compiled layers are compiled again. A piece more is the start or the end of a sentence."""
    assert DataConfig().max_pieces + 1 <= LENGTH


@pytest.mark.parametrize("family", ["encoder-decoder", "encoder-only"])
def test_a_batch_without_padding_has_no_masks(
    family: Literal["encoder-decoder", "encoder-only"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU uses flash attention then, in each layer."""
    kernel, additive = F.scaled_dot_product_attention, []

    def watched(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *rest: Any, **more: Any) -> Tensor:
        additive.append(mask is not None)
        return kernel(q, k, v, mask, *rest, **more)

    monkeypatch.setattr("nmt.model.attention.SHORT", 0)
    monkeypatch.setattr("nmt.model.attention.F.scaled_dot_product_attention", watched)
    model = build_model(replace(NO_DROPOUT, family=family), 30, 30)
    ids, real = torch.randint(4, 30, (2, 5)), torch.ones(2, 5, dtype=torch.bool)
    states = model.target_states(ids, real, ids, real)
    layers = len(additive)
    assert not any(additive)
    longer, hidden = torch.cat([ids, ids], 1), torch.cat([real, ~real], 1)
    torch.testing.assert_close(model.target_states(longer, hidden, ids, real)[:5], states[:5])
    assert sum(additive) == (layers if family == "encoder-only" else 2), "the encoder, and attention to the source"


@pytest.mark.parametrize(("device", "search", "expected"), [("cpu", 64, 64), ("cuda", 64, 512), ("cuda", 900, 900)])
def test_a_gpu_translates_validation_text_in_large_batches(
    device: str, search: int, expected: int, data: TrainingData, tmp_path: Path
) -> None:
    trainer = new_trainer(data, tmp_path)
    config = Config(model=TINY, search=SearchConfig(batch_size=search))
    validator = Validator(
        trainer.model, trainer.data, config, Numerics(torch.device(device), bf16=False), SINGLE_PROCESS
    )
    (translator,) = validator.translators
    assert (translator.search.batch_size, translator.search.beam_size) == (expected, 1)
