"""Characters without a piece take the nearest form that has pieces; all others, and items, stay as they are."""

import string
import time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.characters import Characters, unaccented
from nmt.text.items import find_items
from nmt.text.normalise import tidy

ASCII = string.ascii_letters + string.digits + string.punctuation
VOCABULARIES = {
    "de": ASCII + "äöüßÄÖÜ„“–°",
    "fr": ASCII + "àâçéèêëîïôûœ’«»\xa0…",
    "cs": ASCII + "áčďéěíňóřšťúůýž„“–",
    "ru": ASCII + "абвгдеёжзийклмнопрстуфхцчшщъыьэюяВГДё«»—",
    "ar": ASCII + "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءأإآئؤ،؟",
    "fa": ASCII + "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی،؟\u200c",
    "zh": string.ascii_letters + string.digits + "我们在北京的大学学习，。？！《》",
    "ja": string.ascii_letters + string.digits + "駅はどこですかカメラガパトドーアイウ、。「」",
    "ro": ASCII + "ăâîșțĂÂÎȘȚ",
    "yo": ASCII + "ẹọṣàáèéìíòóùúẸỌṢ\u0301\u0300",
    "chr": string.punctuation + "ᎠᏂᏴᏫᏯ",
    "ka": string.punctuation + "საქართველო",
    "hi": ASCII + "स्टेशनकहाँहै।मंेिीाुूो०१२३",
}
known = {language: Characters(characters) for language, characters in VOCABULARIES.items()}


@pytest.mark.parametrize(
    ("language", "written", "read"),
    [
        # Blanks and what is invisible
        ("de", "12\xa0Euro, 12\u202f345\u2009km", "12 Euro, 12 345 km"),
        ("fr", "le\xa0chat dit\xa0: «\xa0oui\xa0»", "le chat dit\xa0: «\xa0oui\xa0»"),
        ("de", "Haus\u200b, Auf\u200clage, a\u2060b", "Haus, Auflage, ab"),
        ("fa", "می\u200cخواهم", "می\u200cخواهم"),
        ("ar", "مي\u200cخا a\u200cb", "مي\u200cخا ab"),
        ("hi", "स्\u200dट", "स्\u200dट"),
        # Marks of direction, isolates, tatweel
        ("ar", "\u200fسلام\u200e \u2067abc\u2069 \u202bx\u202c", "سلام abc x"),
        ("ar", "ســـلام", "سلام"),
        # Small letters of Cherokee, capitals of Georgian
        ("chr", "ꭰꮒꮿꮻꮿ ꮝ", "ᎠᏂᏯᏫᏯ ꮝ"),
        ("ka", "ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ", "საქართველო"),
        # Quotes, dashes, punctuation
        ("de", "»Ja«, “nein”, ‚so‘ und l’eau", "\"Ja\", “nein\", 'so' und l'eau"),
        ("fr", "„oui“ ou ‚non‘", '"oui" ou \'non\''),
        ("de", "Ja — nein ‑ so − 3…", "Ja – nein - so - 3..."),
        ("hi", "कहाँ है؟", "कहाँ है?"),
        # Ligatures, full-width and half-width forms, other compatibility characters
        ("de", "Oﬃce, ﬁnden, Ａｂｃ１２％", "Office, finden, Abc12%"),
        ("ja", "ｶﾒﾗ ﾄﾞｱ ﾊﾟ ｱｲｳ｡", "カメラ ドア パ アイウ。"),
        ("ar", "ﺳﻼم", "سلام"),
        ("de", "№ 5, 20℃, Ⅷ, ①, 𝐇𝐢", "No 5, 20°C, VIII, 1, Hi"),
        ("de", "m², x², 10², ½ l, 2½ l, H₂O", "m2, x2, 10², 1/2 l, 2½ l, H2O"),
        # Digits of other scripts
        ("de", "१२ ٣٤ ５", "12 34 5"),
        # Accents, decomposed ones too, and letters with a stroke
        ("de", "Dvořák, Łódź, São Paulo, STRAẞE", "Dvorak, Lodz, Sao Paulo, STRASSE"),
        ("cs", "Dvor\u030ca\u0301k", "Dvořák"),
        ("ro", "peşte, ȘI ţară", "pește, ȘI țară"),
        ("yo", "e̩ja, ìs̩ẹ́", "ẹja, ìṣẹ́"),
        # Combining marks: after a character with a piece, without a base, after a character without a piece
        ("ar", "سَلَامٌ", "سلام"),
        ("de", "a\u0332b\u0332 \u0301x", "ab x"),
        ("de", "\u0301", ""),
        ("de", "नमस्ते", "नमस्ते"),
        # Variation selectors, but for those of emoji
        ("ja", "駅\U000e0100は\ufe00", "駅は"),
        # Other scripts stay, also letters that look like those of the vocabulary
        ("de", "Москва 北京 Ноtel", "Москва 北京 Ноtel"),
        # Items stay as they are written
        ("de", "Auf\xa0https://ex.org/ﬁ\xa0mit {name}", "Auf https://ex.org/ﬁ mit {name}"),
        ("de", "und\xa0<b title='„…'>…</b>", "und <b title='„…'>...</b>"),
        ("de", "👩\u200d👩\u200d👧 ❤\ufe0f 5\xa0€", "👩\u200d👩\u200d👧 ❤\ufe0f 5 €"),
    ],
)  # fmt: skip
def test_each_rule_in_each_language(language: str, written: str, read: str) -> None:
    assert known[language].nearest(tidy(written)) == read


odd = "aZéřﬁ\xa0\u202f\xad\u200b\u200c\u200dかｶ１²½؟ـسَ„»—…😀\ufe0f\u2067{x}<b>日Łन्▁"
texts = st.text() | st.text(st.sampled_from(f"{odd}\u0301\u3099ﾞ"))


@given(language=st.sampled_from([*VOCABULARIES]), text=texts)
def test_what_is_put_in_has_pieces(language: str, text: str) -> None:
    tidied = tidy(text)
    read = known[language].nearest(tidied)
    # What stood between a letter and its mark may go: then both are one character, as か and its mark are が.
    signs = {*normalize("NFD", tidied)}
    assert all(sign in known[language].known or signs.issuperset(normalize("NFD", sign)) for sign in read)
    assert read == read.strip()


@given(language=st.sampled_from([*VOCABULARIES]), text=st.text(st.sampled_from(odd)))
def test_characters_with_a_piece_stay_in_their_order(language: str, text: str) -> None:
    tidied, pieces = tidy(text), known[language].known
    read = iter(known[language].nearest(tidied))
    # A blank before a character that disappears comes to the end, where no blank stays.
    assert all(character in read for character in tidied if character in pieces and not character.isspace())


@given(text=texts)
def test_items_stay(text: str) -> None:
    tidied = tidy(f"{text} https://example.org/ﬁ {{name}} 👩\u200d👩 {text}")
    read = known["de"].nearest(tidied)
    for item in find_items(tidied):
        assert item.kind == "number" or item.text in read


@pytest.mark.parametrize("part", ["\xa0x{y}", "\u0301", "ﾞ", "か\u3099", "\u200d", "ﬁ", "日\u0301", "\xad", "½", "😀"])
def test_time_is_linear_in_the_length_of_the_text(part: str) -> None:
    begin = time.process_time()
    known["de"].nearest(tidy(part * 100_000))
    assert time.process_time() - begin < 5  # well below a second; quadratic time is minutes


def test_letters_and_signs_without_a_piece_are_told_outside_of_items() -> None:
    characters = Characters("abcde. ")
    assert not characters.lacks("abc de.")
    assert characters.lacks("abc x")
    assert characters.lacks("abc § e")
    assert not characters.lacks("abc https://xyz.org/ü {zz}")
    assert not characters.lacks("§ 12"), "without letters there is nothing to translate"


def test_marks_that_make_another_letter_are_no_accents() -> None:
    for text in ("कर्म", "ড়", "かぎ", "ดี", "мой ўсе її"):
        assert unaccented(text) == text
    assert unaccented("niño, Ёлка, Ωμέγα, ẹ̀kọ́, سَلَام") == "nino, Елка, Ωμεγα, eko, سلام"
