"""Tokenizers are trained: pairs of a corpus flow in, the SentencePiece models of both sides flow out."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import mul
from pathlib import Path
from typing import Any

from nmt.config import TokenizerConfig
from nmt.config.choice import row_for
from nmt.data.cleaning.cleaner import Pair
from nmt.data.tokenizer.tokenizer import SPECIAL_IDS, STAND_IN, Tokenizer
from nmt.fields import require
from nmt.messages import say
from nmt.vocabulary import SPACE

# Must not become pieces: U+2585, with which SentencePiece skips sentences, and the tab, which is between columns, too.
NO_PIECE = re.compile(f"[{SPACE}{STAND_IN}\u2585\t]")
TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")  # in a message of SentencePiece
# Bytes of memory for a character of text, and for one of its different words; the lesser sum counts (measured).
BYTES_A_CHARACTER = {"unigram": (55, 320), "bpe": (80, 80)}
MOST_LETTERS = 1 << 14  # of a word that a tokenizer learns from
WORDS_A_LINE = 50  # of the text that SentencePiece reads
# Pieces to begin with, for each that is wanted, and the share of them that each round keeps. With ten and
# SentencePiece's share, 0.75, training takes 1.4 to 2.3 times as long, and val texts have up to 4% more pieces (nine
# pairs of languages).
SEEDS, KEPT = 4, 0.5


def train_tokenizer(
    pairs: Iterable[Pair], config: TokenizerConfig, folder: Path, *languages: str, tags: Sequence[str] = ()
) -> Tokenizer:
    """Train the model(s) on the pairs and write them to the folder; the same pairs and settings give the same bytes.

    The first pairs are used, up to `config.sample_characters`. `languages`: those of source and target or, for texts or
    several directions, all. `tags`: pieces that no text becomes, not even one that is written so. A vocabulary larger
    than the text supports is reduced, with a note; ValueError if one is too small for the characters.
    """
    notes: list[str] = []
    chosen = sample(pairs, config, notes)
    n_pairs = sum(source != "" for source, _ in chosen)
    usual, is_paired = row_for(n_pairs or len(chosen)).pieces, n_pairs > 0
    problem = "tokenizer.joint is false, which needs a corpus with two languages: set it to true"
    require(config.joint or is_paired, problem)
    if config.joint:
        texts = filter(None, chain.from_iterable(chosen))
        # Of several directions, each text is there several times.
        distinct = dict.fromkeys(texts) if is_paired and len(languages) > 2 else texts
        src_model = tgt_model = train_model(distinct, config, usual, " and ".join(languages), notes, tags)
    else:
        source, target = languages
        src_model = train_model((src for src, _ in chosen), config, usual, source, notes)
        tgt_model = train_model((tgt for _, tgt in chosen), config, usual, target, notes)
    tokenizer = Tokenizer(src_model, tgt_model, notes=notes)
    tokenizer.save(folder)
    return tokenizer


def sample(pairs: Iterable[Pair], config: TokenizerConfig, notes: list[str]) -> list[Pair]:
    """The first pairs, with at most `config.sample_characters` on both sides together."""
    chosen, characters = list[Pair](), 0
    for pair in pairs:
        characters += len(pair[0]) + len(pair[1])
        if chosen and characters > config.sample_characters:
            limit = f"{config.sample_characters:,} characters (tokenizer.sample_characters)"
            notes.append(f"The tokenizer is trained on a sample of {len(chosen):,} of the pairs or texts: {limit}.")
            break
        chosen.append(pair)
    return chosen


def train_model(
    texts: Iterable[str],
    config: TokenizerConfig,
    usual: int,
    languages: str,
    notes: list[str],
    tags: Sequence[str] = (),
) -> Any:
    """Train one model, with fewer pieces if the text has too few: SentencePiece's error says how many it has. `usual`:
    the size for `auto`, which is doubled as long as the characters alone, such as those of Japanese, need more."""
    words = Counter(chain.from_iterable(NO_PIECE.sub(" ", text).split(" ") for text in texts))
    characters = sum(len(word) * count for word, count in words.items()), sum(map(len, words))
    if (gigabytes := min(map(mul, characters, BYTES_A_CHARACTER[config.kind])) / 2**30) >= 1:
        say(f"Training the tokenizer takes about {gigabytes:.1f} GB of memory: tokenizer.sample_characters sets it")
    is_auto = config.vocab_size == "auto"
    size = wanted = usual if config.vocab_size == "auto" else config.vocab_size
    while True:
        try:
            model = run_trainer(words, config, size, tags)
            break
        except RuntimeError as error:
            if is_auto and TOO_SMALL.search(str(error)):
                size *= 2
            else:
                size = supported_size(str(error), size, languages)
    if size < wanted and not is_auto:
        notes.append(f"The text in {languages} supports {size:,} pieces, fewer than tokenizer.vocab_size, {wanted:,}.")
    return model


def supported_size(message: str, size: int, languages: str) -> int:
    """The vocabulary size that an error message of SentencePiece suggests; ValueError if it suggests none."""
    if too_small := TOO_SMALL.search(message):
        least = f"the characters of the text in {languages} need at least {too_small[1]}"
        raise ValueError(f"tokenizer.vocab_size is {size}: {least}; raise it, or lower tokenizer.character_coverage")
    too_high = re.search(r"Please set it to a value <= (\d+)", message)
    if not too_high or int(too_high[1]) >= size:
        raise ValueError(f"the tokenizer can't be trained on the text in {languages}: {message}")
    return int(too_high[1])


def lines_of(words: Mapping[str, int]) -> Iterator[str]:
    """Words with the number of times they occur, in SentencePiece's format tsv.

    A text that is always followed by the same character never becomes a piece: not ▁this, if a blank follows each. So a
    word that occurs twice stands before the end of a line, and before a blank: val texts have 2% fewer pieces.
    """
    known = [word for word in words if 0 < len(word) <= MOST_LETTERS]
    yield from (f"{word}\t{words[word] - 1}" for word in known if words[word] > 1)
    yield from (f"{' '.join(known[n : n + WORDS_A_LINE])}\t1" for n in range(0, len(known), WORDS_A_LINE))


def run_trainer(words: Mapping[str, int], config: TokenizerConfig, size: int, tags: Sequence[str]) -> Any:
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    proto = io.BytesIO()
    SentencePieceTrainer.Train(
        sentence_iterator=lines_of(words),
        input_format="tsv",
        model_writer=proto,
        model_type=config.kind,
        vocab_size=size,
        **SPECIAL_IDS,
        normalization_rule_name="identity",
        byte_fallback=config.byte_fallback,
        character_coverage=config.character_coverage,
        user_defined_symbols=list(config.user_defined_symbols),
        control_symbols=list(tags),
        max_sentence_length=WORDS_A_LINE * (MOST_LETTERS + 1) * 4,  # bytes
        seed_sentencepiece_size=SEEDS * size,
        shrinking_factor=KEPT,
        num_sub_iterations=1,  # of two, val texts have no fewer pieces
        num_threads=16,  # fixed: unigram's sums, and so its pieces, depend on the number of threads
        minloglevel=2,
    )
    return SentencePieceProcessor(model_proto=proto.getvalue())
