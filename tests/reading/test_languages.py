"""Lines of many scripts come through as they are written: nothing German, or English, happens to them."""

import unicodedata
from pathlib import Path

import pytest

from nmt.config import CleaningConfig, TokenizerConfig
from nmt.data.cleaning.filters import make_filters
from nmt.data.tokenizer import train_tokenizer
from nmt.text.words import Words, spellings_of
from nmt.translation.repair import CLAUSES, LIFTED, PLAIN, USUAL
from tests.reading.pretended import context_of, text_of

# By language: two sentences. Apostrophes that are letters, tones and vowels as combining marks, no blanks, no capitals.
LINES = {
    "am": ("ዛሬ አየሩ ጥሩ ነው። ", "ወደ ቤት እንሂድ።"),
    "ar": ("هذا كتاب جديد، أليس كذلك؟ ", "نعم، هو جديد."),
    "chr": ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᎠᏆᏚᎵᎭ. ", "ᎣᏏᏲ ᎤᏪᏴ."),
    "gn": ("Mba'éichapa nde ko'ẽ, che angirũ? ", "Che róga tuichaiterei, ndéve g̃uarã."),
    "ha": ("'Yan makaranta sun ƙi cin ƙwai. ", "'Ya'yan ɗan'uwana suna gida."),
    "haw": ("ʻO ka ʻōlelo Hawaiʻi kēia. ", "Aia ka hale ma ʻaneʻi."),
    "he": ("זה ספר חדש, נכון? ", 'צה"ל הוא צבא.'),
    "hi": ("यह किताब नई है। ", "लड़की घर जाती है।"),
    "ja": ("今日は天気がいいです。", "「公園へ行きましょう」と母が言った。"),
    "ka": ("დღეს კარგი ამინდია. ", "სახლში მივდივართ."),
    "ko": ("오늘은 날씨가 좋다. ", "우리는 공원에 간다."),
    "my": ("ဒီနေ့ ရာသီဥတု ကောင်းတယ်။ ", "အိမ်ပြန်မယ်။"),
    "th": ("วันนี้อากาศดีมาก ", "เราไปสวนสาธารณะกัน"),
    "tr": ("İstanbul'da ışıklar yandı. ", "IĞDIR'dan geldim."),
    "yo": ("Ọmọdé náà ń ka ìwé ní ilé ẹ̀kọ́. ", "Ó dára púpọ̀."),
    "zh": ("今天天气很好。", "我们去公园吧！"),
}
languages = pytest.mark.parametrize("language", LINES)


@languages
def test_an_echo_gives_back_the_line_in_its_letters(language: str, tmp_path: Path) -> None:
    """For a line, for both of its Unicode forms, and for a tokenizer that learned its words."""
    first, second = LINES[language]
    line = first + second
    pairs = [(text, text) for text in (line, first.strip(), second)] * 8
    tokenizer = train_tokenizer(pairs, TokenizerConfig(vocab_size=400), tmp_path, language, language)
    tokenizer = tokenizer.with_words(Words.learn([text for text, _ in pairs]))
    assert tokenizer.decode_target(tokenizer.encode_target([line])) == [line]
    context = context_of(tokenizer, spellings=spellings_of(language))
    for steps in (USUAL, LIFTED, PLAIN, CLAUSES):
        for form in ("NFC", "NFD"):
            assert text_of(unicodedata.normalize(form, line), steps, context).text == line
        assert text_of(f"1) {line}", steps, context).text == f"1) {line}"


@languages
def test_no_filter_drops_a_line_for_its_script(language: str) -> None:
    config = CleaningConfig(profile="strict", language=False)
    filters = make_filters(config, (language, language if language != "gn" else ""))
    first, second = (text.strip() for text in LINES[language])
    assert [cause for cause, is_bad in filters.items() if is_bad(first, second)] == []
