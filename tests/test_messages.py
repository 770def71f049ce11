"""Messages never end what their reader waits for."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no file that is always full")
@pytest.mark.parametrize("tell", ["say('a')", "show(Table('a'))", "print_to_stderr('a')"])
def test_a_log_on_a_full_disk_ends_no_work(tell: str) -> None:
    code = f"from nmt.messages import *; from rich.table import Table; {tell}; {tell}; print('done')"
    with open("/dev/full", "w") as log:
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=log, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n")
