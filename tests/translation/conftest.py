"""Tests of translation run with a tiny model of each family that writes."""

from dataclasses import replace

import pytest

from nmt.data.tokenizer import Tokenizer
from nmt.translation.translator import Translator
from tests.tiny import SHORT, TINY, make_model


@pytest.fixture(scope="session", params=["encoder-decoder", "decoder-only"])
def translator(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Translator:
    """A tiny random model in fp32, which translates without the guard."""
    return Translator(make_model(tokenizer, config=replace(TINY, family=request.param)), tokenizer, SHORT)
