"""Settings of all tests: one CPU thread, so that results repeat and tests can share a machine; no hub, no make."""

import os
import signal

import torch
from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's client, which no test module imports at its top
for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # a test that calls make is no part of the make that runs the tests
    os.environ.pop(name, None)
# Where tests run in the background, Ctrl-C is ignored, and every process they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)
settings.register_profile("nmt", deadline=None, max_examples=25)
settings.load_profile("nmt")
