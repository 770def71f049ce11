"""Promises of the tokenizer: nothing is lost, ids are where they belong, and damaged or unfit models are refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from nmt.config import TokenizerConfig
from nmt.data.tokenizer import LineCodec, Tokenizer, encode_pairs, train_tokenizer
from nmt.data.tokenizer import trainer as module
from nmt.data.tokenizer.trainer import sample
from nmt.text.normalise import tidy
from nmt.text.words import Words
from nmt.vocabulary import BOS, EOS, PAD, SPACE, UNK

PAIRS = [
    (f"Der {adjective} {noun} läuft durch den {place}.", f"The {word} {thing} runs through the {where}.")
    for adjective, word in (("große", "big"), ("kleine", "small"), ("müde", "tired"), ("schöne", "beautiful"))
    for noun, thing in (("Hund", "dog"), ("Mann", "man"), ("Junge", "boy"), ("Fuchs", "fox"))
    for place, where in (("Park", "park"), ("Wald", "forest"), ("Schnee", "snow"), ("Garten", "garden"))
]

Train = Callable[..., Tokenizer]


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train on PAIRS with the settings given."""

    def run(pairs: list[tuple[str, str]] = PAIRS, folder: Path | None = None, **settings: object) -> Tokenizer:
        config = TokenizerConfig(**({"vocab_size": 320} | settings))  # type: ignore[arg-type]
        return train_tokenizer(pairs, config, folder or tmp_path_factory.mktemp("tokenizer"), "de", "en")

    return run


@pytest.fixture(scope="session", params=["unigram", "bpe"])
def tokenizer(request: pytest.FixtureRequest, train: Train) -> Tokenizer:
    return train(kind=request.param, user_defined_symbols=("<br>", "{name}"))


def test_texts_without_translations_train_one_model_of_their_text_alone(train: Train, tmp_path: Path) -> None:
    texts = [("", text) for pair in PAIRS for text in pair]
    tokenizer = train(texts, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["joint.model"]
    assert tokenizer.same_as(train())
    english = train([("", text) for _, text in PAIRS], vocab_size=8000)
    assert english.notes[0].startswith("The text in de and en supports")
    assert not {"ä", "ü", "ö"} & set(english.source_pieces(range(english.src_vocab_size)))
    with pytest.raises(ValueError, match=r"tokenizer\.joint is false"):
        train(texts, joint=False)


def normal(text: str) -> str:
    """Without outer spaces and runs of spaces, which SentencePiece takes for one."""
    return " ".join(part for part in text.split(" ") if part)


# Ordinary text, and what a tokenizer stumbles over: its own marks and special pieces, emoji of several code points,
# combining marks, right-to-left text, private and unassigned characters.
odd_texts = [
    "Der Hund", "▁", "▁▁", "▅", "<unk>", "<s>", "</s>", "<pad>", "<0x41>", "<br>", "{name}", "⁇", ",",
    "\U0001f469\u200d\U0001f467", "e\u0301", "\u0301", "שלום", "日本", "\ufeff", "\ufdd0", "\ufffd", "\U0010ffff",
    "\xa0", "\t", " ",
]  # fmt: skip
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.lists(
    st.sampled_from(odd_texts), max_size=12
).map("".join)


@given(text=texts)
def test_decoding_gives_back_what_was_encoded(tokenizer: Tokenizer, text: str) -> None:
    if SPACE in text:
        text = text.replace("\ufdd0", "")  # a noncharacter: only where a ▁ is too does it become U+FFFD
    ids = tokenizer.encode_target([text])
    assert tokenizer.decode_target(ids) == [normal(text)]
    assert not {UNK, BOS, EOS, PAD} & set(ids[0])


ODD_SOURCE = "Der\xa0kleine »Hund« läuft… durch {name}\u202f, ﬁnden ▁ 日 \ud800"


def test_sources_take_the_nearest_characters_with_a_piece_in_training_and_translation(tokenizer: Tokenizer) -> None:
    read = tokenizer.readable(ODD_SOURCE)
    assert read == "Der kleine »Hund« läuft... durch {name} , finden ▁ 日 \ufffd"
    expected = tokenizer.encode_target([read])
    assert tokenizer.encode_source([ODD_SOURCE]) == tokenizer.encode_source([read]) == expected
    pairs = encode_pairs(tokenizer, [(ODD_SOURCE, ODD_SOURCE)])
    assert pairs.source.flat[:-1].tolist() == expected[0]
    assert pairs.target.flat[:-1].tolist() == tokenizer.encode_target([ODD_SOURCE])[0] != expected[0]


def test_each_language_has_its_own_characters(train: Train) -> None:
    separate = train(joint=False, vocab_size=60, byte_fallback=False)
    assert [side.nearest("müde") for side in separate.characters] == ["müde", "mude"]
    assert UNK not in separate.encode_source(["mù\xa0de"])[0]
    assert UNK in separate.encode_target(["müde"])[0]


def test_a_noncharacter_beside_the_mark_becomes_the_replacement_character(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode_target(tokenizer.encode_target(["a\ufdd0▁b", "\ufdd0"])) == ["a\ufffd▁b", "\ufdd0"]


@given(text=st.text(st.characters(categories=["Cs", "Ll"]), max_size=20))
def test_lone_surrogates_are_encoded_as_the_replacement_character(tokenizer: Tokenizer, text: str) -> None:
    repaired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert tokenizer.encode_source([text]) == tokenizer.encode_source([repaired])
    assert tokenizer.decode_target(tokenizer.encode_target([text])) == [repaired]


@given(data=st.data())
def test_any_ids_can_be_decoded_and_read_as_pieces(tokenizer: Tokenizer, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.lists(st.integers(0, tokenizer.tgt_vocab_size - 1), max_size=20), max_size=4))
    decoded = tokenizer.decode_target(ids)
    assert len(decoded) == len(ids)
    for text, sentence in zip(decoded, ids, strict=True):
        text.encode()
        assert len(tokenizer.target_pieces(sentence)) == len(sentence)
        assert tokenizer.decode_target([[BOS, *sentence, EOS, PAD, PAD]]) == [text]


def test_broken_byte_pieces_become_the_replacement_character(tokenizer: Tokenizer) -> None:
    snowman = tokenizer.encode_target(["☃"])[0]
    assert tokenizer.target_pieces(snowman)[-3:] == ["<0xE2>", "<0x98>", "<0x83>"]
    assert "\ufffd" in tokenizer.decode_target([snowman[:-1]])[0]


def test_special_ids_and_user_defined_symbols_have_their_places(tokenizer: Tokenizer) -> None:
    assert tokenizer.source_pieces(range(6)) == ["<unk>", "<s>", "</s>", "<pad>", "<br>", "{name}"]
    pieces = tokenizer.source_pieces(tokenizer.encode_source(["Hallo{name},<br>Hund"])[0])
    assert "{name}" in pieces
    assert "<br>" in pieces


@pytest.mark.parametrize("joint", [True, False])
def test_a_saved_tokenizer_is_the_same_when_loaded(train: Train, tmp_path: Path, joint: bool) -> None:
    trained = train(folder=tmp_path / "trained", joint=joint)
    trained.save(tmp_path / "copy")
    names = ["joint.model"] if joint else ["source.model", "target.model"]
    for folder in ("trained", "copy"):
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == names
        loaded = Tokenizer.load(tmp_path / folder)
        assert loaded.joint == trained.joint == joint
        assert loaded.same_as(trained)
        assert loaded.encode_target([PAIRS[5][1]]) == trained.encode_target([PAIRS[5][1]])


def test_without_byte_fallback_the_unknown_is_one_id_and_shows(train: Train) -> None:
    plain = train(byte_fallback=False, vocab_size=60)
    for unknown in ("日", "▁"):
        assert plain.encode_target([f"dog{unknown}"])[0].count(UNK) == 1
    assert "⁇" in plain.decode_target([[UNK]])[0]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("joint", [True, False])
def test_a_vocabulary_larger_than_the_text_is_reduced_and_said(train: Train, kind: str, joint: bool) -> None:
    large = train(kind=kind, joint=joint, vocab_size=8000)
    assert 280 < large.src_vocab_size < 1000
    languages = ["de and en"] if joint else ["de", "en"]
    sizes = [large.src_vocab_size] if joint else [large.src_vocab_size, large.tgt_vocab_size]
    assert large.notes == [
        f"The text in {language} supports {size} pieces, fewer than tokenizer.vocab_size, 8,000."
        for language, size in zip(languages, sizes, strict=True)
    ]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_vocabulary_too_small_for_the_characters_says_the_least_size(train: Train, kind: str) -> None:
    with pytest.raises(ValueError, match=r"vocab_size is 270: .* de and en need at least \d+") as error:
        train(kind=kind, vocab_size=270)
    least = int(str(error.value).partition("at least ")[2].partition(";")[0])
    assert train(kind=kind, vocab_size=least).src_vocab_size == least
    with pytest.raises(ValueError, match=f"at least {least}"):
        train(kind=kind, vocab_size=least - 1)


def test_auto_makes_room_for_the_characters_of_a_text(train: Train) -> None:
    """4,000 pieces are too few for 5,000 characters of Chinese. The size comes from the text: nothing is told."""
    han = [chr(0x4E00 + n) for n in range(5000)]
    pairs = [("".join(han[n : n + 20]), f"line {n}") for n in range(0, 5000, 20)]
    tokenizer = train(pairs=pairs, vocab_size="auto")
    assert set(han) <= set(tokenizer.source_pieces(range(tokenizer.src_vocab_size)))
    assert tokenizer.notes == []
    assert 280 < train(vocab_size="auto").src_vocab_size < 1000, "as many as the text supports"


@pytest.mark.parametrize("pairs", [[("a", "b")], [("日本語", "x" * 300)], [("😀", "▁ ▅")]])
def test_tiny_corpora_make_a_tokenizer(train: Train, pairs: list[tuple[str, str]]) -> None:
    tiny = train(pairs=pairs)
    assert tiny.decode_target(tiny.encode_target(list(pairs[0]))) == list(pairs[0])


def test_a_text_of_marks_alone_cannot_be_learned_from(train: Train) -> None:
    with pytest.raises(ValueError, match="can't be trained on the text in de and en"):
        train(pairs=[("▁", "▁")])


RARE = [("Das Ω steht hier.", "The Ω is here.")]


@pytest.mark.parametrize(
    ("pairs", "coverage", "is_piece"),
    [
        (RARE, 1.0, True),
        (RARE, 0.999, False),
        ([("Ω ▅", "▁\ufdd0▅")] * 9, 1.0, True),  # marks of SentencePiece
        ([("Ω " * 3000, "Hund")], 1.0, True),  # SentencePiece alone would skip a line above 4,192 bytes without a word
    ],
)
def test_a_character_has_a_piece_or_is_spelled_in_bytes_where_coverage_allows(
    train: Train, pairs: list[tuple[str, str]], coverage: float, is_piece: bool
) -> None:
    tokenizer = train(pairs=[*PAIRS, *pairs], character_coverage=coverage)
    assert ("Ω" in "".join(tokenizer.source_pieces(tokenizer.encode_source(["Ω"])[0]))) == is_piece
    assert tokenizer.decode_target(tokenizer.encode_target(["Ω ▁ ▅"])) == ["Ω ▁ ▅"]


def test_of_a_large_corpus_the_first_pairs_are_used() -> None:
    config, notes = TokenizerConfig(sample_characters=10_000), list[str]()
    pairs = [("a" * 100, "b" * 200)] * 50
    assert sample(pairs, config, notes) == pairs[:33]
    limit = "10,000 characters (tokenizer.sample_characters)"
    assert notes == [f"The tokenizer is trained on a sample of 33 of the pairs or texts: {limit}."]
    assert sample([("a" * 20_000, "b")], config, []) == [("a" * 20_000, "b")], "at least one pair"


def test_training_on_much_text_says_how_much_memory_it_takes(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    characters = sum(len(text.replace(" ", "")) for pair in PAIRS for text in pair)
    words = sum(map(len, {word for pair in PAIRS for text in pair for word in text.split()}))
    monkeypatch.setattr(module, "BYTES_A_CHARACTER", {"unigram": (2**31 / characters, 2**33 / words)})
    train()
    assert "about 2.0 GB of memory" in capsys.readouterr().err


def test_a_frequent_word_is_a_piece_although_a_blank_follows_it_always(train: Train) -> None:
    """SentencePiece alone never takes a text that is always followed by the same character."""
    tokenizer = train(pairs=[*PAIRS, *[(f"{a} the {b}", "x") for a in "abcdefg" for b in "hijklmn"]])
    assert tokenizer.source_pieces(tokenizer.encode_source(["the"])[0]) == ["▁the"]


def test_the_default_sample_leaves_room_in_two_gigabytes() -> None:
    """A process of nmt.prepare takes a quarter of a gigabyte without it."""
    taken = TokenizerConfig().sample_characters * min(module.BYTES_A_CHARACTER["unigram"])
    assert taken + (1 << 28) < 1 << 31


# Lines of pieces and ids


@pytest.mark.parametrize("ids", [True, False])
@given(lines=st.lists(texts.map(str.encode) | st.binary(max_size=20), max_size=4))
def test_decoding_encoded_lines_gives_the_normalised_text(tokenizer: Tokenizer, ids: bool, lines: list[bytes]) -> None:
    codec = LineCodec(tokenizer.source, ids=ids)
    lines = [line.replace(b"\n", b"").replace("\ufdd0".encode(), b"") for line in lines]
    encoded = codec.encode(lines)
    assert len(encoded) == len(lines)
    assert "\n" not in "".join(encoded)
    tidied = [normal(tidy(line.decode("utf-8", "surrogateescape"))) for line in lines]
    assert codec.decode([line.encode() for line in encoded]) == tidied


def test_no_piece_makes_a_line_two_lines(tokenizer: Tokenizer) -> None:
    assert LineCodec(tokenizer.source, ids=False).decode([b"D <0x0A> D <0x0D> D"]) == ["D D D"]


# Files


def test_a_folder_with_other_files_than_those_of_a_tokenizer_is_refused(train: Train, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no tokenizer: neither joint\.model nor"):
        Tokenizer.load(tmp_path)
    (tmp_path / "joint.model").write_text("the\nof\nand\n")
    with pytest.raises(ValueError, match="is damaged or not a SentencePiece model"):
        Tokenizer.load(tmp_path)
    train(folder=tmp_path, joint=False)
    with pytest.raises(ValueError, match="remove what doesn't belong"):
        Tokenizer.load(tmp_path)
    for name in ("joint.model", "target.model"):
        (tmp_path / name).unlink()
    with pytest.raises(ValueError, match=r"target\.model is missing"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("name", ["joint.model", "source.model", "pieces.json"])
def test_devices_and_pipes_which_have_no_end_are_no_files_of_a_tokenizer(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/null")
    with pytest.raises(ValueError, match="holds no tokenizer"):
        Tokenizer.load(tmp_path)


def test_a_model_cut_anywhere_is_refused(train: Train, tmp_path: Path) -> None:
    train(folder=tmp_path)
    path = tmp_path / "joint.model"
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 20, 97), len(whole) - 20]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"joint\.model is (empty|damaged or not a SentencePiece model)"):
            Tokenizer.load(tmp_path)


def test_a_model_with_other_special_ids_is_refused(tmp_path: Path) -> None:
    SentencePieceTrainer.Train(
        sentence_iterator=(pair[0] for pair in PAIRS),
        model_prefix=str(tmp_path / "joint"),
        vocab_size=50,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    assert SentencePieceProcessor(model_file=str(tmp_path / "joint.model")).pad_id() == -1
    with pytest.raises(ValueError, match=r"special ids .*'pad_id': -1}, not .*'pad_id': 3}"):
        Tokenizer.load(tmp_path)


# Settings


@pytest.mark.parametrize("symbols", [("",), ("a b",), ("▁x",), ("\ud800",), ("<s>",), ("<0x41>",), ("<br>", "<br>")])
def test_symbols_that_sentencepiece_cannot_keep_are_refused(symbols: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"tokenizer\.user_defined_symbols"):
        TokenizerConfig(user_defined_symbols=symbols)


def test_words_of_training_are_saved_and_a_damaged_file_is_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    words = Words.learn([source for source, _ in PAIRS])
    tokenizer.with_words(words).save(tmp_path)
    assert Tokenizer.load(tmp_path).words == words
    tokenizer.save(tmp_path / "without")
    assert Tokenizer.load(tmp_path / "without").words is None
    (tmp_path / "words.txt").write_text("Hund\n")
    with pytest.raises(ValueError, match=r"words\.txt is damaged"):
        Tokenizer.load(tmp_path)
    (tmp_path / "words.txt").unlink()
    (tmp_path / "words.txt").symlink_to("/dev/null")  # /dev/zero would fill the memory
    assert Tokenizer.load(tmp_path).words is None
