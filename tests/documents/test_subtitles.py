"""Subtitles keep their times and their number of lines; long lines are noted."""

import pytest

from nmt.documents.base import Answer, Options, read_document
from nmt.documents.subtitles import share, split, wrap
from nmt.text.scripts import is_combining
from tests.documents.samples import SAMPLES


def test_a_sentence_is_split_at_words_by_the_lengths_of_its_cues() -> None:
    document = read_document(SAMPLES["srt"].data, "srt", Options())
    answers = [
        Answer("The little dog is running across the meadow."),
        Answer("- Who?"),
        Answer("- Me!"),
        Answer("Only <i>me</i>."),
    ]
    lines = document.join(answers).decode("utf-8-sig").split("\r\n")
    assert lines[2] == "{\\an8}The little dog is running across"
    assert lines[6] == "the meadow."
    assert lines[10:12] == ["- Who?", "- Me!"]
    assert lines[-1] == "Only <i>me</i>."
    assert [line for line in lines if "-->" in line] == [
        line for line in SAMPLES["srt"].data.decode("utf-8-sig").split("\r\n") if "-->" in line
    ]
    document.join([Answer("Dog."), *answers[1:]])
    assert "fewer words than the sentence has subtitles" in document.notes[0]


@pytest.mark.parametrize(("gap", "n_cues", "n_units"), [(1.5, 2, 1), (1.6, 2, 2), (0.0, 4, 1), (0.0, 5, 2)])
def test_a_sentence_has_at_most_four_cues_with_at_most_one_and_a_half_seconds_between(
    gap: float, n_cues: int, n_units: int
) -> None:
    starts = [n * (1 + gap) for n in range(n_cues)]
    times = [f"00:{start:06.3f} --> 00:{start + 1:06.3f}" for start in starts]
    cues = [f"{time}\nWort{'.' * (n == n_cues)}\n\n" for n, time in enumerate(times, 1)]
    assert len(read_document("".join(cues).encode(), "srt", Options()).units) == n_units


@pytest.mark.parametrize(
    ("first", "second", "n_units"),
    [("كيف حالك؟", "أنا بخير.", 2), ("你好。", "我是", 2), ("तुम कौन हो।", "मैं", 2), ("Ein", "Hund.", 1)],
)
def test_sentences_end_at_the_marks_of_all_scripts(first: str, second: str, n_units: int) -> None:
    cues = f"00:00:01.000 --> 00:00:02.000\n{first}\n\n00:00:02.000 --> 00:00:03.000\n{second}\n"
    assert len(read_document(cues.encode(), "srt", Options()).units) == n_units


@pytest.mark.parametrize("text", ["ที่นี่มีน้ำดื่ม", "ខ្ញុំទៅផ្ទះហើយ", "ကျွန်တော်အိမ်ပြန်မယ်", "がっこう"])
def test_scripts_without_blanks_are_split_between_letters(text: str) -> None:
    parts = split(text)
    assert "".join(parts).strip() == text
    assert len(parts) > 2
    assert not any(is_combining(part[0]) or part[0] in "ำ" for part in parts)


def test_lines_are_balanced_and_long_ones_noted() -> None:
    words = [f"{word} " for word in ["one", "two", "three", "four", "five", "six"]]
    assert wrap(words, 2, 20) == ["one two three", "four five six"]
    assert wrap(words, 2, 40) == ["one two three four five six"]
    assert share(words, [1, 1]) == [words[:3], words[3:]]
    document = read_document(SAMPLES["vtt"].data, "vtt", Options())
    answers = [Answer(document.units[0].text), Answer("word " * 20)]
    assert b"word word\nword" in document.join(answers)
    assert document.notes == ["line 14: 49 characters in a line of a subtitle; 42 can be read"]


def test_answers_stay_text_and_times_stay_times() -> None:
    document = read_document(SAMPLES["vtt"].data, "vtt", Options())
    answers = [Answer("<v Anna>Good <1/><i>a --> b</i>"), Answer("1 --> <c> & d")]
    joined = document.join(answers).decode()
    assert "<v Anna>Good <00:02.000><i>a --&gt; b</i>" in joined
    assert "1 --&gt; &lt;c&gt; &amp; d" in joined
    document = read_document(b"1\n00:01,0 --> 00:02,0\nEins\n", "srt", Options())
    document.join([Answer("00:00:01,000 --> 00:00:02,000")])
    assert "would be read as a time" in document.notes[0]


def test_the_number_of_a_cue_is_no_text_without_a_blank_line_before_it() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nEin Mann.\n2\n00:00:03,000 --> 00:00:04,000\nEin Hund.\n"
    document = read_document(text.encode(), "srt", Options())
    assert [unit.text for unit in document.units] == ["Ein Mann.", "Ein Hund."]
    assert document.join([Answer("A man."), Answer("A dog.")]).decode() == (
        text.replace("Ein Mann", "A man").replace("Ein Hund", "A dog")
    )


def test_lines_of_srt_after_a_blank_one_are_text_and_notes_of_vtt_are_not() -> None:
    cues = "00:00:01.000 --> 00:00:02.000\nEins\n\nnoch\n\n2\n00:00:02.500 --> 00:00:04.000\nZwei.\n"
    document = read_document(f"1\n{cues}".encode(), "srt", Options())
    assert [unit.text for unit in document.units] == ["Eins", "noch Zwei."]
    assert b"One\n\nmore\n\n2\n00:00:02.500" in document.join([Answer("One"), Answer("more two.")])
    document = read_document(f"WEBVTT\n\n{cues}".encode(), "vtt", Options())
    assert [unit.text for unit in document.units] == ["Eins Zwei."]


def test_a_line_without_a_dash_belongs_to_the_speaker_before_it() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\n- Das ist ein Mann\nmit Hund.\n- Ja.\n"
    document = read_document(text.encode(), "srt", Options())
    assert [unit.text for unit in document.units] == ["- Das ist ein Mann mit Hund.", "- Ja."]


def test_marks_of_styles_in_srt_stay_beside_their_words() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n"
    text = cue.format(r"{\i1}Der Hund{\i0}") + cue.format(r"Ein {\b1}Hut{\b0} & <Hund>")
    document = read_document(text.encode(), "srt", Options())
    assert [unit.text for unit in document.units] == ["Der Hund<1/>", r"Ein {\b1}Hut{\b0} & <Hund>"]
    answers = [Answer("The dog<1/>"), Answer(r"A {\b1}hat{\b0} & <dog>")]
    assert r"{\i1}The dog{\i0}" in document.join(answers).decode()
    assert r"A {\b1}hat{\b0} & <dog>" in document.join(answers).decode()
