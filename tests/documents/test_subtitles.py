"""Subtitles keep their times and their number of lines; long lines are noted."""

import re

import pytest

from nmt.documents.base import Answer
from nmt.documents.subtitles import share, split, wrap
from nmt.text.markup import parse
from nmt.text.scripts import STACKING, is_combining
from tests.documents.samples import SAMPLES, read, texts, translated


def test_a_sentence_is_split_at_words_by_the_lengths_of_its_cues() -> None:
    file, others = SAMPLES["srt"].data, ("- Who?", "- Me!", "Only <i>me</i>.")
    expected = file.decode().replace("Der kleine Hund\r\nläuft auf", "The little dog is running across")
    for old, new in (("der Wiese.", "the meadow."), ("- Wer?", "- Who?"), ("- Ich.", "- Me!"), ("Nur", "Only")):
        expected = expected.replace(old, new)
    answers = ("The little dog is running across the meadow.", *others)
    assert translated(file, "srt", *answers)[1] == expected.replace("<i>ich", "<i>me")
    document = read(file, "srt")
    document.join([Answer(answer) for answer in ("Dog.", *others)])
    assert "fewer words than the sentence has subtitles" in document.notes[0]


@pytest.mark.parametrize(("gap", "n_cues", "n_units"), [(1.5, 2, 1), (1.6, 2, 2), (0.0, 4, 1), (0.0, 5, 2)])
def test_a_sentence_has_at_most_four_cues_with_up_to_1_5_seconds_between(gap: float, n_cues: int, n_units: int) -> None:
    starts = [n * (1 + gap) for n in range(n_cues)]
    times = [f"00:{start:06.3f} --> 00:{start + 1:06.3f}" for start in starts]
    cues = [f"{time}\nWort{'.' * (n == n_cues)}\n\n" for n, time in enumerate(times, 1)]
    assert len(read("".join(cues), "srt").units) == n_units


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        *(("كيف حالك؟", "أنا بخير.", ["كيف حالك؟", "أنا بخير."]), ("你好。", "我是", ["你好。", "我是"])),
        *(("तुम कौन हो।", "मैं", ["तुम कौन हो।", "मैं"]), ("これは\nWord", "の\n本です。", ["これは Word の本です。"])),
        ("Ein", "Hund.", ["Ein Hund."]),
    ],
)
def test_sentences_end_at_the_marks_of_all_scripts(first: str, second: str, found: list[str]) -> None:
    cues = f"00:00:01.000 --> 00:00:02.000\n{first}\n\n00:00:02.000 --> 00:00:03.000\n{second}\n"
    assert texts(read(cues, "srt")) == found


BOUND = ["จะมาหาๆ", "ខ្ញុំស្រឡាញ់", "ဗုဒ္ဓသာသနာ။", "བཀྲ་ཤིས་བདེ་ལེགས།"]  # Thai, Khmer, Burmese, Tibetan


@pytest.mark.parametrize(
    "text", ["ที่นี่มีน้ำดื่ม", "ខ្ញុំទៅផ្ទះហើយ", "ကျွန်တော်အိမ်ပြန်မယ်", "がっこう", "私はWord 11を買った。", *BOUND]
)
def test_scripts_without_blanks_are_split_between_letters(text: str) -> None:
    parts = split(text)
    assert "".join(parts).strip() == text
    assert len(parts) > 2
    assert not any(is_combining(part[0]) or part[0] in "ำ。ะาๆ။་" or part[-1] in STACKING for part in parts)
    assert split(f"<i>{text}</i>") == ["<i>", *parts[:-1], f"{parts[-1].strip()}</i>", " "]
    assert [part.strip() for part in parts if part.isascii()] == re.findall("[a-zA-Z]+|[0-9]+", text)


def test_lines_are_balanced_and_long_ones_noted() -> None:
    words = [f"{word} " for word in ["one", "two", "three", "four", "five", "six"]]
    assert wrap(words, 2, 20) == ["one two three", "four five six"]
    assert wrap(words, 2, 40) == ["one two three four five six"]
    assert share(words, [1, 1]) == [words[:3], words[3:]]
    document = read(SAMPLES["vtt"].data, "vtt")
    answers = [Answer(document.units[0].text), Answer("word " * 20)]
    assert b"word word\nword" in document.join(answers)
    assert document.notes == ["line 14: 49 characters in a line of a subtitle; 42 can be read"]


def test_answers_stay_text_and_times_stay_times() -> None:
    answers = ("<v Anna>Good <1/><i>a --> b</i>", "1 --> <c> & d")
    _, joined = translated(SAMPLES["vtt"].data, "vtt", *answers)
    assert "<v Anna>Good <00:02.000><i>a --&gt; b</i>" in joined
    assert "1 --&gt; &lt;c&gt; &amp; d" in joined
    document = read("1\n00:01,0 --> 00:02,0\nEins\n", "srt")
    document.join([Answer("00:00:01,000 --> 00:00:02,000")])
    assert "would be read as a time" in document.notes[0]


def test_lines_of_srt_after_a_blank_one_are_text_and_notes_of_vtt_are_not() -> None:
    cues = "00:00:01.000 --> 00:00:02.000\nEins\n\nnoch\n\n2\n00:00:02.500 --> 00:00:04.000\nZwei.\n"
    found, joined = translated(f"1\n{cues}", "srt", "One", "more two.")
    assert found == ["Eins", "noch Zwei."]
    assert "One\n\nmore\n\n2\n00:00:02.500" in joined
    assert texts(read(f"WEBVTT\n\n{cues}", "vtt")) == ["Eins Zwei."]
    text = "1\n00:00:01,000 --> 00:00:02,000\nMann.\n2\n00:00:03,000 --> 00:00:04,000\nHund.\n"  # without a blank line
    expected = text.replace("Mann", "Man").replace("Hund", "Dog")
    assert translated(text, "srt", "Man.", "Dog.") == (["Mann.", "Hund."], expected)


def test_marks_of_styles_in_srt_stay_beside_their_words() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n"
    text = cue.format(r"{\i1}Der Hund{\i0}") + cue.format(r"Ein {\b1}Hut{\b0} & <Hund>")
    found, joined = translated(text, "srt", "The dog<1/>", r"A {\b1}hat{\b0} & <dog>")
    assert found == ["Der Hund<1/>", r"Ein {\b1}Hut{\b0} & <Hund>"]
    assert joined == cue.format(r"{\i1}The dog{\i0}") + cue.format(r"A {\b1}hat{\b0} & <dog>")


def test_a_tag_with_classes_in_vtt_ends_where_its_partner_is() -> None:
    cue = "WEBVTT\n\n00:01.000 --> 00:02.000\n{}\n"
    found, joined = translated(cue.format("Da <c.a.b>sitzt <i>er</i></c>"), "vtt", "<c .a.b><i>He</i> sits</c> there")
    [segment] = parse(found[0])
    assert len(segment.lifted.nodes) == 2
    assert joined == cue.format("<c.a.b><i>He</i> sits</c> there")
