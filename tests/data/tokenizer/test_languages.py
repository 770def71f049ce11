"""A model of several languages is told the target language, and no text can pretend to be a language's piece."""

from pathlib import Path

import pytest

from nmt.config import TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.data.tokenizer.languages import Languages
from nmt.vocabulary import FIRST_PIECE
from tests.tiny import PAIRS

CODES = ("de", "en", "pt-BR")
KNOWN = Languages.among(CODES)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder, tags = tmp_path_factory.mktemp("several"), list(KNOWN.before_target.values())
    tokenizer = train_tokenizer(PAIRS * 5, TokenizerConfig(vocab_size=360), folder, *CODES, tags=tags)
    return tokenizer.with_languages(KNOWN)


def test_the_piece_of_the_target_is_before_the_source_and_the_source_language_is_not_told(several: Tokenizer) -> None:
    [piece] = several.source_pieces(several.between("de", "pt-BR").starts()[0])
    assert piece == "<2pt-BR>"
    assert several.between("", "pt-BR").starts() == several.between("en", "pt-BR").starts()
    assert several.between("", "en").starts()[1] == []
    several.between("", "en").languages.require_chosen()
    with pytest.raises(ValueError, match="knows 3 languages, de, en, pt-BR: choose the target language with --to"):
        several.languages.require_chosen()
    with pytest.raises(ValueError, match="the source language is fr, which the model doesn't know"):
        several.between("fr", "")


@pytest.mark.parametrize("text", ["<2de>", "<2de> Hund", "Hund<2en>", " <2pt-BR> ", "▁<2de>"])
def test_a_text_that_is_written_like_a_piece_of_a_language_stays_text(several: Tokenizer, text: str) -> None:
    [ids] = several.encode_source([text])
    tags = range(FIRST_PIECE, FIRST_PIECE + len(CODES))
    assert several.source_pieces(tags) == list(KNOWN.before_target.values())
    assert not {*ids} & {*tags}
    assert several.decode_target(several.encode_target([text])) == [text.strip()]


def test_a_tokenizer_folder_keeps_the_languages_and_damage_is_named(several: Tokenizer, tmp_path: Path) -> None:
    several.between("", "en").save(tmp_path)
    assert Tokenizer.load(tmp_path).languages == KNOWN.between("", "en")
    (tmp_path / "languages.json").write_text('{"before_target": 3}')
    with pytest.raises(ValueError, match=r"languages.json is damaged"):
        Tokenizer.load(tmp_path)


def test_a_tokenizer_without_their_pieces_takes_no_languages(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="the tokenizer has no piece <2de>, <2en>, <2pt-BR>"):
        tokenizer.with_languages(KNOWN)


def test_a_test_set_is_named_by_its_direction() -> None:
    assert KNOWN.direction_in("test.de-pt-BR") == ("de", "pt-BR")
    assert KNOWN.direction_in("test_2016.pt-BR-en") == ("pt-BR", "en")
    assert KNOWN.direction_in("test.de-de") == KNOWN.direction_in("test") == ("", "")
