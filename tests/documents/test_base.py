"""Every format: an unchanged translation leaves every byte; bad files get a sentence."""

import pytest

from nmt.documents.base import (
    FORMATS,
    Options,
    Unit,
    decode,
    format_of,
    read_document,
    splice,
    translate_document,
    units_translator,
)
from nmt.translation.translator import Translator
from tests.documents.samples import IDENTITY, OPTIONS, SAMPLES, TEXTS
from tests.tiny import SHORT

CASES = pytest.mark.parametrize(("case", "data"), SAMPLES.items(), ids=[" ".join(case) for case in SAMPLES])


@CASES
def test_an_unchanged_translation_leaves_every_byte(case: tuple[str, str], data: bytes) -> None:
    options = OPTIONS.get(case[0], Options())
    assert translate_document(data, case[0], IDENTITY, options) == data
    assert [unit.text for unit in read_document(data, case[0], options).units] == TEXTS[case]


def test_every_format_has_a_sample_and_is_found_by_its_suffixes() -> None:
    assert {name for name, _ in SAMPLES} == set(FORMATS)
    for name, has in FORMATS.items():
        assert all(format_of(f"a/Letter{suffix.upper()}") == name for suffix in has.suffixes)
    with pytest.raises(ValueError, match=r"letter\.xyz: .* known are .*\.txt"):
        format_of("letter.xyz")
    with pytest.raises(ValueError, match="'pdf' is not a format"):
        read_document(b"", "pdf", Options())


def test_encodings_come_back_and_wrong_ones_get_a_sentence() -> None:
    for text in ("Grüße", "\ufeffGrüße"):
        for name in ("utf-8", "utf-16-le", "utf-16-be") if text[0] == "\ufeff" else ("utf-8", "cp1252", "mac-roman"):
            source = decode(text.encode(name), name)
            assert source.text == "Grüße"
            assert source.encode("Grüße") == text.encode(name)
    assert decode(b"a", "ascii").encode("\u20ac \ud800") == b"? ?"
    with pytest.raises(ValueError, match=r"line 2 is not valid utf-8 \(byte 0xfc\)"):
        decode(b"a\n\xfc", "")
    for name in ("klingon", "idna", "hex"):
        with pytest.raises(ValueError, match=name):
            decode(b"a", name)
    with pytest.raises(ValueError, match="can't be written"):
        decode("a".encode("utf-16-le"), "utf-16")


def test_splice_replaces_parts_and_inserts() -> None:
    assert splice("abcdef", [(4, 5, "X"), (1, 3, ""), (6, 6, "!")]) == "adXf!"
    assert splice(b"", [(0, 0, b"a")]) == b"a"


def test_units_are_translated_as_lines_or_as_markup(translator: Translator) -> None:
    units = [Unit("Der Hund läuft."), Unit("Zwei <1>Männer</1> &amp; Hunde", markup=True), Unit("x < y")]
    answers = units_translator(translator, SHORT)(units)
    assert answers[0].text == translator.translate_n_best([units[0].text], SHORT)[0][0].text
    assert answers[1].text.count("<1>") == answers[1].text.count("</1>") == 1
    assert len(answers) == 3
