"""What the process does for the speed of its device."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from nmt.model.device import allow_tf32, choose_attention, choose_device, choose_precision, let_segments_grow, move


def test_memory_that_was_freed_is_kept_for_the_next_step() -> None:
    """Nothing is promised for other C libraries; with glibc, the pages of a large tensor are fetched once."""
    code = """if True:
        import resource, torch
        from nmt.model.device import keep_freed_memory

        def pages_fetched():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(5):
                tensors = [torch.ones(1 << 20) for _ in range(16)]  # 1,024 pages each
                del tensors
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        first = pages_fetched()
        kept = keep_freed_memory()
        pages_fetched()
        print(first, pages_fetched() if kept else 0)
    """
    # In a process of its own: that of the tests has freed memory in many places, and kept it.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after < 1000 < before


PRODUCTS = """if True:
    import os, torch
    from nmt.model.device import remember_few_shapes

    def pages():
        return int(open("/proc/self/statm").read().split()[1])

    remember_few_shapes()
    weight, rows = torch.ones(256, 256, dtype=torch.bfloat16), torch.ones(1000, 256, dtype=torch.bfloat16)
    torch.nn.functional.linear(rows, weight)
    before = pages()
    for n in range(300, 900):
        torch.nn.functional.linear(rows[:n], weight)
    print(pages() - before, os.environ["LRU_CACHE_CAPACITY"], os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.skipif(choose_precision("auto", torch.device("cpu")) != "bf16", reason="bf16 needs such a processor")
def test_what_is_prepared_for_many_shapes_takes_little_memory() -> None:
    grown = {}
    for given in ({}, {"LRU_CACHE_CAPACITY": "1024", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "1024"}):
        command, environment = [sys.executable, "-c", PRODUCTS], {**os.environ, **given}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        pages, *capacities = map(int, done.stdout.split())
        assert capacities == [128 if not given else 1024] * 2, "what the user has set stays"
        grown[capacities[0]] = pages
    assert grown[128] < grown[1024] / 2


def test_what_goes_to_a_gpu_is_pinned_first(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[Tensor] = []

    def pin(tensor: Tensor) -> Tensor:
        pinned.append(tensor)
        return tensor

    monkeypatch.setattr(Tensor, "pin_memory", pin)
    ids, elsewhere = torch.ones(3), torch.device("meta")  # which stands for a GPU
    assert move(ids, torch.device("cpu")) is ids
    assert not pinned
    there = move(ids, elsewhere)
    assert move(there, elsewhere) is there
    assert there.device == elsewhere
    assert len(pinned) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PyTorch can't do it")
def test_the_user_s_way_to_allocate_memory_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "")  # so that it is as before after the test
        monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF")
        monkeypatch.setenv(name, "backend:native")
        let_segments_grow()
        assert os.environ[name] == "backend:native"
        monkeypatch.delenv(name)
        let_segments_grow()
        assert os.environ["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"


@pytest.fixture
def usual_kernels() -> Iterator[None]:
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_cudnn_sdp(True)


@pytest.mark.usefixtures("usual_kernels")
def test_only_a_gpu_multiplies_in_tf32() -> None:
    for device, precision in (("cpu", "highest"), ("cuda:1", "high")):
        allow_tf32(torch.device(device))
        assert torch.get_float32_matmul_precision() == precision


@pytest.mark.usefixtures("usual_kernels")
def test_attention_on_a_gpu_suits_short_sentences_of_many_lengths() -> None:
    choose_device("cpu")
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    for device, length, flash in (("cpu", 30.0, True), ("cuda:1", 30.0, False), ("cuda:1", 400.0, True)):
        choose_attention(torch.device(device), length)
        assert torch.backends.cuda.flash_sdp_enabled() == flash
