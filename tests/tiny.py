"""What many tests share: a few pairs, a tokenizer of them, and tiny random models; conftest.py has fixtures."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from nmt.config import ModelConfig, ObjectiveName, SearchConfig, TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.model.build import build_model
from nmt.model.contract import GenerativeModel, Model
from nmt.translation.model_folder import Facts, ModelInfo, save_model

TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=2, d_ff=32, tied_embeddings="none")
SHORT = SearchConfig(beam_size=2, max_length_ratio=0.3, batch_size=4, guard=False)
Stderr = Callable[..., str]  # the fixture `stderr_of`
PAIRS = [
    ("Der kleine Hund läuft über die grüne Wiese.", "The little dog runs across the green meadow."),
    ("Zwei Männer sitzen am Tisch und trinken Kaffee.", "Two men sit at the table and drink coffee."),
    ("Wo ist der Bahnhof? Er ist dort drüben!", "Where is the station? It is over there!"),
]


def write(path: Path, lines: list[str]) -> str:
    """Write a file, in a new folder or not; its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


def make_tokenizer(folder: Path, pairs: list[tuple[str, str]] = PAIRS, vocab_size: int = 360) -> Tokenizer:
    return train_tokenizer(pairs * 5, TokenizerConfig(vocab_size=vocab_size), folder, "de", "en")


def build_generative_model(config: ModelConfig, src_vocab_size: int, tgt_vocab_size: int) -> GenerativeModel:
    """As `build_model`, for a family that writes."""
    model = build_model(config, src_vocab_size, tgt_vocab_size)
    assert isinstance(model, GenerativeModel)
    return model


def make_model(tokenizer: Tokenizer, seed: int = 1, config: ModelConfig = TINY) -> GenerativeModel:
    torch.manual_seed(seed)
    return build_generative_model(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)


def save_tiny(
    folder: Path,
    model: Model,
    tokenizer: Tokenizer,
    search: SearchConfig = SHORT,
    languages: tuple[str, str] = ("de", "en"),
    objective: ObjectiveName = "translation",
) -> Path:
    """Write a model folder."""
    info = ModelInfo(*languages, "three pairs", model.config, search, Facts(), objective=objective)
    save_model(folder, dict(model.named_parameters()), tokenizer, info, "A test.\n")
    return folder


def save_scorer(folder: Path, tokenizer: Tokenizer, languages: tuple[str, str] = ("de", "en")) -> Path:
    """Write the model folder of a pair scorer with random weights."""
    config = replace(TINY, family="encoder-only")
    torch.manual_seed(1)
    model = build_model(config, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)
    return save_tiny(folder, model, tokenizer, languages=languages, objective="pair")
