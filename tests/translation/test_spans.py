"""Long lines are cut into spans that fit, at the best places; batches are bounded."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.data.tokenizer import Tokenizer
from nmt.text.words import Words
from nmt.reading.request import Request
from nmt.translation.spans import Cut, Limits, Span, cut_lines, cut_points, make_batches
from nmt.translation.translator import Translator

pieces_of_text = st.lists(
    min_size=1,
    max_size=80,
    elements=st.sampled_from(
        ["▁Der", "▁Hund", "e", "n", ".", "!", '"', "。", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    ),
)


def test_a_long_line_without_sentences_or_spaces_is_translated_too(
    translator: Translator, tokenizer: Tokenizer
) -> None:
    for line in ("Hund " * 10_000, "Hund" * 3_000, "😀" * 500):
        (ids,) = tokenizer.encode_source([line.strip()])
        (cut,) = cut_lines([Request(line)], tokenizer, Limits(200, 200))
        spans = [span.ids for span in cut]
        assert [i for span in spans for i in span] == ids
        assert max(map(len, spans)) <= 200
        assert translator.translate([line])[0]


@settings(max_examples=300, derandomize=True)
@given(pieces=pieces_of_text, limit=st.integers(1, 30), split_above=st.integers(1, 40))
def test_cuts_cover_a_source_in_spans_that_fit(pieces: list[str], limit: int, split_above: int) -> None:
    ends = cut_points(pieces, limit, split_above)
    assert ends[-1] == len(pieces)
    assert all(0 < end - start <= limit for start, end in zip([0, *ends], ends, strict=False))
    assert len(pieces) > min(limit, split_above) or len(ends) == 1


def test_cuts_are_made_after_sentences_then_before_words_then_between_characters() -> None:
    def spans(text: str, limit: int) -> list[str]:
        pieces = text.split("|")
        ends = cut_points(pieces, limit, limit)
        return ["".join(pieces[start:end]) for start, end in zip([0, *ends], ends, strict=False)]

    assert spans('▁a|b|c|.|"|▁d|e|f|g|!|▁h', 5) == ['▁abc."', "▁defg!", "▁h"]
    assert spans("▁a|b|c|d|▁e|f|▁g|h", 5) == ["▁abcd", "▁ef▁gh"]
    assert spans("a|b|<0xE2>|<0x82>|<0xAC>|c", 4) == ["ab", "<0xE2><0x82><0xAC>c"]
    assert spans("▁z|.|▁B|." + "|▁x" * 14, 16) == ["▁z.▁B." + "▁x" * 12, "▁x" * 2]
    assert spans("|".join("日本語日本語日本語日。日本"), 12) == ["日本語日本語日本語日。", "日本"]
    assert spans("▁d|as|▁endet|.|▁e|r|▁geht|.|▁e|r|▁kommt|.|▁j|a", 11) == ["▁das▁endet.▁er▁geht.▁er", "▁kommt.▁ja"]
    assert spans("▁d|as|▁endet|▁heute|.|▁e|r|▁geht|▁jetzt|.|▁e|r", 11) == ["▁das▁endet▁heute.▁er▁geht▁jetzt.", "▁er"]
    assert spans("▁D|as|▁ist|▁der|▁neue|▁Herr|▁mit|▁Prof|essor|▁Dr|.|▁A|▁B", 12)[1:] == ["▁B"]


def test_a_line_of_more_sentences_or_pieces_than_usual_is_cut_into_sentences(tokenizer: Tokenizer) -> None:
    sentences = ["Der kleine Hund läuft über die Wiese.", "Wo ist der Tisch?", "Ja!"]

    def texts(limits: Limits, cut: Cut = "usual", gap: str = " ") -> list[str]:
        (spans,) = cut_lines([Request(gap.join(sentences))], tokenizer, limits, cut)
        assert [span.blank for span in spans[:-1]] == [gap] * (len(spans) - 1)
        return tokenizer.decode_source([span.ids for span in spans])

    whole = [" ".join(sentences)]
    assert texts(Limits(200, 200)) == texts(Limits(200, 200, 3)) == whole
    assert texts(Limits(200, 200, 2)) == texts(Limits(200, 200, 1)) == texts(Limits(200, 20)) == sentences
    assert texts(Limits(200, 200), "sentences") == texts(Limits(200, 200, 1), gap="\t") == sentences
    assert texts(Limits(200, 200, 1), gap="\u00a0") == sentences


def test_spans_amid_a_sentence_know_the_blank_after_them(tokenizer: Tokenizer) -> None:
    (spans,) = cut_lines([Request("Hund Tisch")], tokenizer, Limits(2, 200))
    assert (spans[0].ends_sentence, spans[-1].ends_sentence) == (False, True)
    assert {span.blank for span in spans[:-1]} <= {"", " "}
    assert " " in {span.blank for span in spans}


@settings(max_examples=200, derandomize=True)
@given(lengths=st.lists(st.integers(1, 200), max_size=50), batch_size=st.integers(1, 9))
def test_batches_hold_every_span_once_and_are_bounded_in_sentences_and_pieces(
    lengths: list[int], batch_size: int
) -> None:
    spans = [Span((i, *[0] * (length - 1))) for i, length in enumerate(lengths)]
    batches = list(make_batches(spans, batch_size, len))
    assert dict.fromkeys(spans, 1) == Counter(span for batch in batches for span in batch)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * len(batch[0].ids) <= batch_size * 64
        assert len(batch) <= batch_size


def test_a_line_is_cut_at_a_dash_between_words_if_training_had_none(tokenizer: Tokenizer) -> None:
    line, limits = "Der kleine Hund läuft – Zwei Männer sitzen am Tisch.", Limits(100, 100, 9)
    words = Words.learn(["Der kleine Hund läuft."]), Words.learn(["Hier – ein Hund."])
    known = [tokenizer.with_words(one) for one in words] + [tokenizer]
    assert [len(cut_lines([Request(line)], one, limits)[0]) for one in known] == [2, 1, 1]
