"""Batches side by side give what they give one after the other, and leave the threads as they were."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident

import pytest
import torch

from nmt.decode.parallel import halve_if_too_large, map_batches

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def test_two_batches_run_at_once_each_with_its_share_of_the_threads() -> None:
    together = Barrier(2)

    def work(batch: int) -> tuple[int, int, int]:
        together.wait(10)
        return batch, torch.get_num_threads(), get_ident()

    (batch, threads, thread), (next_batch, _, next_thread) = map_batches(work, [1, 2], CPU)
    assert (batch, next_batch, threads) == (1, 2, 2)
    assert thread != next_thread
    assert torch.get_num_threads() == 4


def test_an_error_is_raised_and_the_threads_are_restored() -> None:
    def work(batch: int) -> int:
        if batch == 3:
            raise ValueError("batch 3")
        return batch

    with pytest.raises(ValueError, match="batch 3"):
        map_batches(work, list(range(9)), CPU)
    assert torch.get_num_threads() == 4
    assert map_batches(work, [1, 2], CPU) == [1, 2]


def test_several_callers_at_once_all_get_their_own() -> None:
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda k: map_batches(lambda n: n * k, list(range(20)), CPU), range(12)))
    assert results == [[n * k for n in range(20)] for k in range(12)]
    assert torch.get_num_threads() == 4


def test_one_thread_or_a_gpu_runs_them_one_after_the_other() -> None:
    torch.set_num_threads(1)
    assert set(map_batches(lambda _: get_ident(), [1, 2, 3], CPU)) == {get_ident()}
    torch.set_num_threads(4)
    assert set(map_batches(lambda _: get_ident(), [1, 2], torch.device("cuda"))) == {get_ident()}


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_a_batch_is_halved_until_it_fits_in_memory(error: Exception) -> None:
    def work(batch: list[int]) -> list[int]:
        if sum(batch) > 99:
            raise RuntimeError("shapes differ")
        if sum(batch) > 8:
            raise error
        return [n * n for n in batch]

    assert halve_if_too_large(work, [1, 2, 3, 4, 5, 6, 7, 8]) == [1, 4, 9, 16, 25, 36, 49, 64]
    assert halve_if_too_large(work, []) == []
    with pytest.raises(ValueError, match="memory ran out over a single sentence"):
        halve_if_too_large(work, [1, 9])
    with pytest.raises(RuntimeError, match="shapes differ"):
        halve_if_too_large(work, [1, 99])
