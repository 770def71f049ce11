"""What the process does for the speed of its device."""

import subprocess
import sys


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
