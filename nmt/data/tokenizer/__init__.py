"""Tokenizers: text flows in, ids of pieces flow out, and back."""

from nmt.data.tokenizer.tokenizer import WORDS, LineCodec, Start, Tokenizer, encode_pairs, encode_side, load_words
from nmt.data.tokenizer.trainer import train_tokenizer

__all__ = ["WORDS", "LineCodec", "Start", "Tokenizer", "encode_pairs", "encode_side", "load_words", "train_tokenizer"]
