"""tokenizer.json: the tokenizers library divides text as nmt does, and joins pieces to the same text."""

import json
import random
from typing import Any

import pytest

from nmt.config import TokenizerConfig
from nmt.data.phrasebook import phrasebook
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.interop.fast_tokenizer import tokenizer_json
from nmt.text.items import find_items
from nmt.text.normalise import tidy
from nmt.vocabulary import BOS, EOS, SPACE

tokenizers = pytest.importorskip("tokenizers", reason="needs the tokenizers library")

SYMBOLS = ("<br>", "{name}", "{n}")
KINDS = {
    "unigram": TokenizerConfig(vocab_size=600),
    "bpe": TokenizerConfig(vocab_size=600, kind="bpe"),
    "unigram without bytes": TokenizerConfig(vocab_size=300, byte_fallback=False),
    "bpe without bytes": TokenizerConfig(vocab_size=300, kind="bpe", byte_fallback=False),
    "unigram with symbols": TokenizerConfig(vocab_size=600, user_defined_symbols=SYMBOLS),
    "bpe with symbols": TokenizerConfig(vocab_size=600, kind="bpe", user_defined_symbols=SYMBOLS),
}
SCRIPTS = (
    "abcdefghijklmnopqrstuvwxyzäöüß ABC", "0123456789.,%€$ ", "   \t", "<>/&;{}[]|\\\"'#@", "😀👍🇩❤", "e\u0301\u0308",
    "\x00\x07\x1b\x7f\x85\xad\u200b\u2060\ufeff\u00a0\u2028\u3000\u202f",
    "中文日本語한국어ไทยहिन्दीعربيעבריתΕλληνικάКириллицаქართული",
    "“”„‘’«»–—…´`éèêëçñøåœæıłđ①½²³™ﬁＡ１",
)  # fmt: skip
WORDS = (
    "<s>", "</s>", "<unk>", "<pad>", "<0x41>", "<0xFF>", ">>de<<", "</", "naïve", "Hund", "\ufdd0", "\U0010ffff",
    *SYMBOLS,
)  # fmt: skip


def odd_lines(n: int) -> list[str]:
    generator = random.Random(1)

    def part() -> str:
        if generator.random() < 0.3:
            return generator.choice(WORDS)
        return "".join(generator.choices(generator.choice(SCRIPTS), k=generator.randint(1, 6)))

    def line() -> str:
        return "".join(part() + generator.choice(("", " ", "  ")) for _ in range(generator.randint(1, 10)))

    return [line() for _ in range(n)]


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Any]:
    """A tokenizer, and the same as the tokenizers library reads it."""
    pairs = phrasebook(1, 400, 1).train
    tokenizer = train_tokenizer(pairs, KINDS[request.param], tmp_path_factory.mktemp("tokenizer"), "de", "en")
    fast = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(tokenizer, "<s> $A </s>")))
    fast.encode_special_tokens = True  # what split_special_tokens is in tokenizer_config.json
    return tokenizer, fast


def divided(fast: Any, lines: list[str]) -> list[list[int]]:
    ids = [encoding.ids for encoding in fast.encode_batch(lines)]
    assert all([i[0], i[-1]] == [BOS, EOS] for i in ids), "the template puts special pieces around the text"
    return [i[1:-1] for i in ids]


def test_sentences_are_divided_and_joined_alike(both: tuple[Tokenizer, Any]) -> None:
    tokenizer, fast = both
    lines = [line for pair in phrasebook(2, 300, 1).train for line in pair]
    ids = tokenizer.encode_source(lines)
    assert divided(fast, lines) == ids
    assert fast.decode_batch(ids) == [tokenizer.source.decode(sentence) for sentence in ids]


def test_odd_lines_in_known_characters_are_divided_and_joined_alike(both: tuple[Tokenizer, Any]) -> None:
    tokenizer, fast = both
    read = [tokenizer.readable(tidy(line)) for line in odd_lines(1000)]
    lines = [line for line in read if tokenizer.readable(line) == line and not looked_up(line)]
    assert len(lines) > 500
    ids = tokenizer.encode_source(lines)
    assert divided(fast, lines) == ids
    known = [sentence for sentence in ids if 0 not in sentence]  # SentencePiece writes unk as ⁇
    assert fast.decode_batch(known) == [tokenizer.source.decode(sentence) for sentence in known]


def looked_up(line: str) -> bool:
    """Whether a line has an item, whose characters keep their form in nmt only."""
    return any(item.kind != "number" and not item.text.isascii() for item in find_items(line))


def test_characters_take_their_nearest_form(both: tuple[Tokenizer, Any]) -> None:
    tokenizer, fast = both
    texts = ("naïve œuvre", "“Hund”", "Ｈｕｎｄ １", "x\u200by", "e\u0301 \u0301e", "10² m²", "ﬁn", "½")
    for text in (*texts, "Hund\u2003Katze\x07"):
        assert divided(fast, [text]) == tokenizer.encode_source([tidy(text)]), text
    assert divided(fast, [f"ein{SPACE}Hund"]) == tokenizer.encode_source(["ein Hund"])
