"""Words of training: lines are read in known words, known words stay, and reading takes linear time."""

import json
import time
import unicodedata

import pytest

from nmt.text.words import WordCounts, Words, casing_of, forms_of, initials, spellings_of, upper

TEXTS = [
    "Der Großvater hat heute eine blaue Mütze gekauft, weil er müde war.",
    "Während Clara liest, ist die Straße schön und die Frau wartet auf dem Hund.",
    "Gestern hat Sie der Mann gesehen, und sie hat es nicht gehört – ja.",
    "Er ist in den Park gegangen.",
] * 2
GERMAN = spellings_of("de")
WORDS = Words.learn(TEXTS)


def test_words_inside_sentences_come_first_and_those_at_their_beginning_are_apart() -> None:
    assert WORDS.usual[0] == "hat"
    assert "Großvater" in WORDS.usual
    assert "Gestern" in WORDS.first
    assert "Gestern" not in WORDS.usual
    assert WORDS.signs == {"–"}


def test_signs_between_a_sentence_and_its_first_word_change_nothing() -> None:
    found = Words.learn(["Er ging. „– (Dann“ kam sie: »Wir gehen.", "(Nun ist «Alles» gut"])
    assert set(found.first) == {"Er", "Dann", "Wir", "Nun"}
    assert set(found.usual) == {"ging", "kam", "sie", "gehen", "ist", "Alles", "gut"}


def test_words_that_are_counted_in_parts_are_those_of_the_whole() -> None:
    texts = ["Der Hund – ein Tier – läuft.", "Die Katze schläft. Der Hund läuft.", "„Ja“, sagt der Mann.", "Die Maus!"]
    counts = WordCounts()
    for part in (texts[:1], texts[1:3], texts[3:]):
        counts.add(**json.loads(json.dumps(vars(WordCounts.of(part)))))
    assert Words.counted(counts) == Words.learn(texts)


def test_the_case_of_unknown_words_is_that_of_most_rare_words() -> None:
    nouns = Words.learn(["Hat ein Mann ein Messer, ein Haus und ein Auto?"])
    assert nouns.recased("EIN MANN UND EIN APFEL", GERMAN) == "Ein Mann und ein Apfel"
    others = Words.learn(["he said that the king of England is old"])
    assert others.recased("THE 1.ª QUEEN IS OLD", {}) == "The 1.ª queen is old", "ª has no case"


def test_without_capitals_a_word_that_is_nearly_always_written_with_one_gets_it() -> None:
    errors = ["und dann sind viele andere Wörter hier zwischen ihnen allen noch gut zu sehen", "da lacht das kind"]
    words = Words.learn(["da lacht das Kind", "da ist der Weg", "da ist er weg"] * 9 + errors)
    assert words.recased("da ist das kind weg", GERMAN) == "Da ist das Kind weg"


def test_signs_of_all_scripts_are_no_parts_of_words() -> None:
    words = Words.learn(["یہ گھر۔ یہ", "ያ ቤት። ያ", "ein տուն։ ein", "Hola. ¿Dónde vive y dónde"])
    assert {"گھر", "ቤት", "տուն", "dónde"} <= set(words.usual)
    assert "Dónde" in words.first


def test_a_file_gives_the_same_words_again_and_a_damaged_one_an_error() -> None:
    for names in ("", "\nAnna\n", "\nAnna\n\nFrau Anna\n"):  # of older files
        assert Words.parse(WORDS.dump() + names) == WORDS
    assert Words.parse(Words.learn([]).dump()) == Words(frozenset(), ())
    with pytest.raises(ValueError, match="these parts"):
        Words.parse("eins\nzwei")


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("Waehrend der Grossvater liest, ist er muede.", "Während der Großvater liest, ist er müde."),
        ("Ein- und Ausgang", "Ein- und Ausgang"),
        ("Michael, Israel, das Steuer und 100 neue Poeten", "Michael, Israel, das Steuer und 100 neue Poeten"),
        ("www.muede.de ist {muede}, er ist müde", "www.muede.de ist {muede}, er ist müde"),
    ],
)
def test_unknown_words_are_read_as_known_ones_and_others_stay(line: str, read: str) -> None:
    assert WORDS.respelled(line, GERMAN) == read


@pytest.mark.parametrize(
    ("trained", "line", "read"),
    [
        ("¿Dónde está el niño?", "Donde esta el nino?", "Dónde está el niño?"),
        ("¿Dónde está el niño?", "¡Donde esta el niñó!", "¡Donde esta el niñó!"),
        ("मेरा क्रम और मन", "यह कर्म है", "यह कर्म है"),
        ("かき を", "かぎ を", "かぎ を"),
        ("мои мой", "моих мой", "моих мой"),
        ("Ṣé o wà níbẹ̀?", "se o wa nibe", "ṣé o wà níbẹ̀"),
        ("Ёлка и ёж", "елка и еж", "ёлка и ёж"),
        ("घर कि है", "घर क ह", "घर क ह"),
        ("Müller und Muller", "Muller", "Muller"),
    ],
)
def test_words_without_their_accents_are_read_with_them(trained: str, line: str, read: str) -> None:
    words = Words.learn([f"{trained} {trained.lower()}"])
    assert unicodedata.normalize("NFC", words.respelled(line, {})) == unicodedata.normalize("NFC", read)


@pytest.mark.parametrize("word", ["aeoeueaeoeueaeoeue", "ss" * 50])
def test_a_word_has_few_forms(word: str) -> None:
    """Lines of serial numbers would take seconds."""
    assert 27 <= len([*forms_of(word, GERMAN)]) <= 64


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("DER GROSSVATER WARTET AUF NGUYEN.", "Der Großvater wartet auf nguyen."),
        ("Der Mann Hat Die Mütze Gekauft", "Der Mann hat die Mütze gekauft"),
        ("der großvater hat {NAME} die mütze gekauft", "Der Großvater hat {NAME} die Mütze gekauft"),
        ("Der Mann Clara", "Der Mann Clara"),
        ("er hat die straße gehört", "Er hat die Straße gehört"),
        ("ja, er hat es gehört", "ja, er hat es gehört"),
        ("NHKのニュース、JRの電車。", "NHKのニュース、JRの電車。"),
        ("شاهدت FBI و HBO اليوم.", "شاهدت FBI و HBO اليوم."),
    ],
)
def test_lines_in_an_unusual_case_are_read_in_the_usual_one(line: str, read: str) -> None:
    assert WORDS.recased(line, GERMAN) == read


def test_spellings_are_those_of_the_language() -> None:
    assert spellings_of("de-AT") == GERMAN
    assert spellings_of("fr") == spellings_of("") == {}
    assert WORDS.respelled("Er ist muede", {}) == "Er ist muede"
    assert Words.learn(["елка и еще"]).respelled("ёлка и ещё", spellings_of("ru")) == "елка и еще"


def test_unknown_words_are_found_without_regard_to_capitals_at_the_beginning() -> None:
    assert WORDS.unknown("Hat Nguyễn 8 Hunde? – Der Hund") == (["Nguyễn", "8", "Hunde"], 6)


@pytest.mark.parametrize("text", ["ae" * 20_000, "a- " * 10_000, "Ä Ae 1O " * 3000, "Ã¤" * 20_000, "aa- bb" * 9000])
def test_long_lines_take_linear_time(text: str) -> None:
    started = time.process_time()
    WORDS.respelled(WORDS.recased(text.upper(), GERMAN), GERMAN)
    WORDS.respelled(text, GERMAN)
    Words.learn([text])
    assert time.process_time() - started < 3


@pytest.mark.parametrize("line", ["ᏉᎳ, ᎠᎴ ᏌᏱᎳ, ᎠᎴ ᏗᎹᏗ", "თბილისი დიდი ქალაქია", "ᎤᎴᏅᎮ ᎠᏦᏱᎲᎢ B ᎠᎳᏂ"])
def test_scripts_of_one_case_are_not_in_capitals_nor_without_them(line: str) -> None:
    """Unicode calls the usual letters of Cherokee capitals, and those of Georgian small letters."""
    assert casing_of(line) is None
    words = Words.learn([line.lower()] * 3 + [line.upper()])
    assert words.recased(line, {}) == line


def test_a_letter_after_a_combining_accent_is_no_initial() -> None:
    assert initials("ọ̀rọ̀ ẹ̀kọ́ don't", "yo") == "Ọ̀rọ̀ Ẹ̀kọ́ Don't"
    assert initials("il·lusió istanbul", "ca") == "Il·lusió Istanbul"
    assert initials("ʻo hawaiʻi ǃnami ʼyan", "haw") == "ʻO Hawaiʻi ǃNami ʼYan"


def test_capitals_are_those_of_the_language() -> None:
    assert [upper(*pair) for pair in (("kişi", "tr"), ("kişi", "de"), ("άνθρωπος ϊ", "el"), ("Երևան", "hy"))] == [
        *("KİŞİ", "KIŞI", "ΑΝΘΡΩΠΟΣ Ϊ", "ԵՐԵՎԱՆ")
    ]
    words = Words.learn(["kız bir sınırda durdu, kız bir kişi"])
    assert words.recased("BİR KIZ SINIRDA DURDU", {}) == "Bir kız sınırda durdu"
    in_city = Words.learn(["kız bir yıl İstanbul ve ıslak bir yol"])
    assert in_city.recased("bir yıl istanbul", {}) == "Bir yıl İstanbul"
    assert in_city.recased("istanbul bir yol", {}) == "İstanbul bir yol"
    assert in_city.unknown("Islak") == ([], 1)
    assert Words.learn(["ǃnū ge ra, ǃGâb ge"]).recased("ǃNŪ GE RA", {}) == "ǃnū ge ra", "clicks have no case"
    news = Words.learn([f"she is in {a}in{b} and visits Kılıç" for a in "bdfghlpst" for b in "abcdefghk"])
    assert news.recased("SHE IS IN BINA AND VISITS", {}) == "She is in bina and visits", "a Turkish name"
