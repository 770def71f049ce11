"""Promises about what makes a translation suspicious, and what doesn't."""

import time
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.text.scripts import WORD
from nmt.text.suspicions import LOOP_CHARACTERS, LOOP_WORDS, Flag, chance, repeats, repeats_more, suspicions

exactly = settings(derandomize=True, deadline=None, max_examples=50)

SOURCE = "Ein Mann mit Hut geht am Abend durch den Park."
vocabulary = ["the", "man", "walks", "dog", "red", "house", "and", "with", "over", "small"]
phrases = st.lists(st.sampled_from(vocabulary), min_size=1, max_size=8, unique=True).map(" ".join)
pieces = st.sampled_from([*vocabulary, " ", ". ", "日本", "<b>", "x@y.de", "25", "{x}", "😀", "!", "\u0301", "\ud800"])
texts = st.text() | st.lists(pieces, max_size=40).map("".join)


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        (SOURCE, "A man with a hat walks through the park in the evening."),
        ("Ganz genau!", "Yes, yes, yes!"),
        ("Ninas Katze kratzt Nina.", "Nina's cat scratches Nina."),
        ("Hahahahaha!", "Ha ha ha ha ha!"),
        ("哈哈哈哈哈", "Ha ha ha ha ha ha"),
        ("Und dann ........................", "And then ........................"),
        ("Eine Billion", "1000000000000"),
        ("Ja.", "Yes, that's right."),
        ("我喜欢吃苹果。", "I like to eat apples."),
        ("Wolfgang Amadeus Mozart, Salzburg", "Wolfgang Amadeus Mozart, Salzburg"),
        ("Info: info@x.de https://x.de/ein-weg <b> {ab} 2024", "Info: info@x.de https://x.de/ein-weg <b> {ab} 2024"),
        ("東京大学", "東京大学"),
        ("Zwei Männer sitzen am Tisch. Einer lacht.", "Two men sit at the table, and one of them laughs."),
        ("Where is he? I don't know where he is.", "เขาอยู่ที่ไหน ไม่รู้"),
        ("5 km und 3 Hunde", "5 kilometres and three dogs"),
        ("Es ist 14:30.", "It is half past two."),
        ("24.12.2023", "December 24, 2023"),
        ("1/2", "½"),
        ("3", "٣"),
        ("Ⅳ.", "IV."),
        ("24.12.2023", "12/24/2023"),
        ("1000 · 09:00 · 1½", "1,000 · 9:00 · 1 1/2"),
        ("Nimm ({x}) und „%s“", 'Take ({x}) and "%s"'),
        ("200,000 people", "2 แสนคน"),
        ("5,000 and 2,000,000", "5 آلاف, 20 லட்சம்"),
        ("Nimm „{x}“ (%s) „{y}“", "Ta ”{x}” （%s） ״{y}״"),
        ("Anna: Yes, I am here.", "አና፦ አዎ፣ እዚህ ነኝ።"),
        ("Anna: Yes, I am here.", "អាណា៖ បាទ ខ្ញុំនៅទីនេះ។"),
        ("Since 1990, on the 20th", "منذ 1990 وفي الـ20"),
        ("About 3.5 percent on 2023/5/31", "حدود ۳/۵ درصد در ۲۰۲۳/۵/۳۱"),
        ("He came home very late that night; she had already been asleep.", "عاد متأخرا؛ كانت نائمة منذ زمن."),
        ("Where do you live? I am living in the small house.", "Πού μένετε; Σε σπίτι."),
        ("彼は1990年に3.5億円を払った。", "He paid 350 million yen in 1990."),
        ("He paid 350 million yen.", "彼は3.5億円を払った。"),
        ("100만 달러", "1 million dollars"),
        ("2023年12月24日に来た", "He came on December 24, 2023."),
        ("", ""),
    ],
)
def test_a_plausible_translation_is_not_suspicious(source: str, translation: str) -> None:
    assert suspicions(source, translation) == []


@pytest.mark.parametrize(
    ("source", "translation", "flags"),
    [
        ("Ja.", "Yes yes yes yes.", ["loop"]),
        (SOURCE, "A man, a man, a man walks through the park.", ["loop"]),
        (SOURCE, "Aaaaaaaaaaaaah! A man.", ["loop"]),
        ("Lena", "Lena is Lena", ["loop"]),
        (f"Karl sagt Lena, {'dass das so ist ' * 4}", f"Karl tells Lena, {'as it is ' * 4}, Lena", []),
        (SOURCE, "A man walks through the park . . . . . . . .", ["loop"]),
        (SOURCE, "公园里的男人公园里的男人公园里的男人公园里的男人", ["loop"]),
        ("Hallo.", "Hello, how are you today, my dear old friend?", ["too_long"]),
        (f"{SOURCE} {SOURCE} {SOURCE}", "A man with a hat walks in the park.", ["too_short", "sentences"]),
        (SOURCE, f" {SOURCE.upper()} ", ["copy"]),
        ("公园里的男人戴着帽子。", "公园里的男人戴着帽子。", ["copy"]),
        (SOURCE, "", ["empty"]),
        (SOURCE, " … !", ["empty"]),
        ("Das Rathaus öffnet am Freitag. Das Museum nicht.", "The town hall opens on Friday.", ["sentences"]),
        ("Das Rathaus öffnet am Freitag; Das Museum öffnet nicht.", "The town hall opens on Friday.", ["sentences"]),
        ("Das Rathaus öffnet am Freitag; Das Museum öffnet nicht.", "It opens on Friday; the museum.", []),
        ("Where is he? I don't know where he is.", "他在哪里？", ["sentences"]),
        ("Anna: Der Hund läuft.", "The dog is running.", ["sentences"]),
        ("Anna: Der Hund läuft.", "Anna, the dog is running.", []),
        ("1. (Anna: Der Hund läuft.)", "1. (The dog is running.)", ["sentences"]),
        ("Anna: {name} läuft.", "{name} is running.", ["sentences"]),
        ("D'Arc-Lys: Der Hund läuft.", "The dog is running.", ["sentences"]),
        ("Anna\u202f: Le chien court.", "The dog is running.", ["sentences"]),
        ("注意：狗在跑。", "Note: the dog is running.", []),
        ("我想告诉你的是：狗在跑。", "What I want to tell you is that the dog is running.", []),
        ("Klick <b>hier</b>", "Click <b>here", ["items"]),
        ("Klick hier", "Click here: www.x.de", ["items"]),
        ("Ein <b>Hut</b> hier", "A hat</b> <b>here", ["items"]),
        ("<b>Ein</b> Hut", "<b></b> A hat", ["items"]),
        ("12:30", "A New York team.", ["invented"]),
        ("12", "A 12 is 12.", ["invented"]),
        ("1-2", "12", ["numbers"]),
        ("5²", "52", ["numbers"]),
        ("...", "What?", ["invented"]),
        ("24.12.2023", "December 24, 2022", ["invented", "numbers"]),
        ("Stuhl", "The chair is a chair", ["loop"]),
        ("Stuhl/Stuhl", "chair/chair", []),
        ("Es kostet 12 Euro.", "It costs 122 euros.", ["numbers"]),
        ("Es kostet 2,5 Euro.", "It costs 2.50 euros.", []),
        ("Es kostet 2,5 Euro.", "It costs 2.51 euros.", ["numbers"]),
        ("彼は1990年に3.5億円を払った。", "He paid 450 million yen in 1990.", ["numbers"]),
        ("2023年12月24日に来た", "He came on December 2, 2023.", ["numbers"]),
        (f"Um 27 {{{'1' * 5000}}}", f"At {{{'1' * 5000}}}", ["numbers"]),
        ("Die Musik der 50er ist gut.", "The music of the 1950s is good.", []),
        ("Mehr CO2 um 2 Uhr", "More CO2 at 2 o'clock", []),
        ("Um 2 Uhr sank das CO₂.", "At 2nd street, the C3PO sank.", []),
        ("at 2 o'clock", "在2点钟", []),
        ("Das Haus ({name}) brennt", "The house {name} burns", ["items"]),
        ("<p>Eins.</p><p>Zwei.</p>", "<p>One <p>two</p>.</p>", ["items"]),
    ],
)
def test_what_is_wrong_is_flagged(source: str, translation: str, flags: list[Flag]) -> None:
    assert suspicions(source, translation) == flags
    assert suspicions(source, translation, finished=False, sure=False) == [
        flag for flag in get_args(Flag) if flag in flags or flag in ("unfinished", "unsure")
    ]


@pytest.mark.parametrize(
    ("source", "text", "more", "flags"),
    [
        ("Ja gut", "one two three four five six seven eight " * 2, "one two three four five six seven eight", ["loop"]),
        ("Ja gut", "an be do go he if me no so " * 2, "an be do go he if me no so", []),
        ("Ja gut", "abcdefghijklmnopqrst" * 3, "abcdefghijklmnopqrst", ["loop"]),
        ("Ja gut", "abcdefghijklmnopqrstu" * 3, "abcdefghijklmnopqrstu", []),
        ("hahahaha", "ha" * 8, "ha", ["loop"]),
        (
            "森林の中に古い家が立",
            "The quick brown fox jumps over a very lazy dog while seven wise women ",
            "w",
            ["too_long"],
        ),
        ("nur drei worte", "nur drei worte", "", []),
        ("nur drei worte hier", "nur drei worte hier", "", ["copy"]),
        ("Lena " + "sieht " * 14, "Lena sees", " Lena", ["loop"]),
        ("Lena " + "sieht " * 15, "Lena sees", " Lena", []),
        ("Katze", "cat or", " cat", []),
        ("Vogel", "bird or", " bird", ["loop"]),
    ],
)
def test_a_little_more_than_the_most_is_flagged(source: str, text: str, more: str, flags: list[Flag]) -> None:
    lengths: set[Flag] = {"too_long", "too_short"} if "too_long" not in flags else set()
    assert [flag for flag in suspicions(source, text + more) if flag not in lengths] == flags
    if more:
        assert lengths.issuperset(suspicions(source, text))


@pytest.mark.parametrize(
    ("length", "other", "flags"), [(30, 80, []), (30, 81, ["too_long"]), (80, 30, []), (81, 30, ["too_short"])]
)
def test_a_text_may_be_twice_as_long_and_20_characters_more(length: int, other: int, flags: list[Flag]) -> None:
    source = "Ein Mann mit einem neuen schwarzen Hut geht am Abend ganz allein durch einen dunklen Park nach Hause"
    translation = "The quick brown fox jumps over a very lazy dog while seven wise women want their picture taken"
    assert suspicions(source[:length], translation[:other]) == flags


@pytest.mark.parametrize(("end", "flags"), [("very quietly.", []), ("aloud.", ["sentences"])])
def test_a_sentence_is_lost_if_half_of_an_average_one_is_missing_too(end: str, flags: list[Flag]) -> None:
    source = "Der Mann mit dem neuen Hut geht am Abend durch den Park. Die Frau auf der Bank liest in der Zeitung."
    translation = f"The man walks through the park while the woman is sitting there, {end}"
    assert (len(source), len(translation) < 75) == (100, bool(flags))
    assert suspicions(source, translation) == flags


@exactly
@given(texts)
def test_a_text_is_no_suspicious_translation_of_itself_except_for_being_a_copy(text: str) -> None:
    assert suspicions(text, text) in ([], ["copy"])


@exactly
@given(texts, texts, st.booleans())
def test_flags_stand_in_their_order_and_unfinished_is_what_the_search_says(source: str, text: str, done: bool) -> None:
    flags = suspicions(source, text, finished=done)
    assert flags == [flag for flag in get_args(Flag) if flag in flags]
    assert ("unfinished" in flags) == (not done)


@exactly
@given(phrases, phrases, st.integers(4, 30))
def test_a_phrase_said_again_and_again_is_a_loop_unless_the_source_has_it(start: str, phrase: str, times: int) -> None:
    looped = f"{start}, {', '.join([phrase] * times)}"
    assert "loop" in suspicions(SOURCE, looped)
    assert "loop" not in suspicions("Hut, " * times, looped)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(unit=st.text(alphabet="ab c", min_size=1, max_size=24), times=st.integers(1, 15), rest=texts)
def test_texts_that_are_read_once_only_have_no_rows(unit: str, times: int, rest: str) -> None:
    text = unit * times + rest
    assert repeats_more(text, 1, 1) == (
        any(times > max(chance(n), 2) for n, times in repeats(WORD.findall(text), LOOP_WORDS))
        or any(times > max(3, 12 // n) for n, times in repeats(text, LOOP_CHARACTERS))
    )


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10_000, "word " * 5_000, "今天" * 5_000, "ab, c. " * 1_500, "1 2 " * 3_000, "10 " * 3_000,
        "".join(chr(97 + i * i * i % 23) for i in range(10_000)),
    ],
)  # fmt: skip
def test_long_and_repetitive_text_takes_milliseconds(text: str) -> None:
    begin = time.process_time()
    suspicions(SOURCE, text)
    suspicions(text, text)
    suspicions(text, text.replace("1", "31"))
    assert time.process_time() - begin < 1  # 0.01 to 0.1 s; what is quadratic takes seconds


def test_lengths_are_compared_by_the_usual_ratio_of_two_languages() -> None:
    cherokee = "ᎠᎴ ᎾᏍᎩ ᏅᏗᎦᎵᏍᏙᏗᎭ ᏂᎦᏛ ᎠᏃᎯᏳᎲᏍᎩ"
    english = "and by him every one that believeth is justified from all things and more than all"
    assert suspicions(cherokee, english) == ["too_long"]
    assert not suspicions(cherokee, english, length_ratio=2.2)
    assert suspicions(cherokee, "and", length_ratio=2.2) == ["too_short"]
