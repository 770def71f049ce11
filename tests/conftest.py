"""Settings of all tests: one CPU thread, so that results repeat and tests can share a machine; no hub."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("nmt", deadline=None, max_examples=25)
settings.load_profile("nmt")
