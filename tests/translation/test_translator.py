"""From text to text: no line and no word is lost, batches and threads change nothing, and output is always one line."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nmt
from nmt.config import ModelConfig, SearchConfig, TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.decode.hypothesis import Hypothesis
from nmt.model.encoder_decoder import Transformer
from nmt.text.suspicions import Flag
from nmt.translation.model_folder import ModelInfo, save_model
from nmt.translation.repair import gravity
from nmt.translation.request import Part, Request, Translation
from nmt.translation.spans import Span, cut_points, make_batches
from nmt.translation.translator import Translator, best_joins, find_model

TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, tied_embeddings="none")
SHORT = SearchConfig(beam_size=2, max_length_ratio=0.5, batch_size=4, guard=False)
PAIRS = [
    ("Der kleine Hund läuft über die grüne Wiese.", "The little dog runs across the green meadow."),
    ("Zwei Männer sitzen am Tisch und trinken Kaffee.", "Two men sit at the table and drink coffee."),
    ("Wo ist der Bahnhof? Er ist dort drüben!", "Where is the station? It is over there!"),
]
few = settings(max_examples=15, deadline=None, derandomize=True)
any_text = st.text(st.characters(exclude_categories=()), max_size=30)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return train_tokenizer(PAIRS * 5, TokenizerConfig(vocab_size=360), tmp_path_factory.mktemp("tokenizer"), "de", "en")


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> Translator:
    torch.manual_seed(1)
    return Translator(Transformer(TINY, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size), tokenizer, SHORT)


@few
@given(lines=st.lists(any_text, max_size=6))
def test_any_text_is_answered_line_by_line_without_a_line_break(translator: Translator, lines: list[str]) -> None:
    answers = translator.translate(lines)
    assert len(answers) == len(lines)
    for line, answer in zip(lines, answers, strict=True):
        assert len(answer.splitlines()) <= 1
        assert "\t" not in answer
        answer.encode("utf-8")
        assert line.strip() or not answer


def test_a_blank_line_never_reaches_the_model(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transformer, "encode", None)
    assert translator.translate(["", " ", "\t\r", "\u3000", "\x00", "\u2028"]) == [""] * 6
    assert [answer.score for answer in translator.translate_n_best([""])[0]] == [0.0]


@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        ("Der\tHund", "Der Hund"),
        ("Hund\x00", "Hund"),
        ("Hund\r", "Hund"),
        ("u\u0308ber", "über"),
        ("a\u2028b", "a b"),
        ("Hund\ud83d", "Hund\ufffd"),
        ("a\udcffb", "a\ufffdb"),
        ("  Hund ", "Hund"),
    ],
)
def test_source_text_is_tidied_as_training_text_was(translator: Translator, odd: str, plain: str) -> None:
    assert translator.translate([odd]) == translator.translate([plain])


def test_a_line_break_that_the_model_writes_becomes_a_space(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tokenizer, "decode_target", lambda self, ids: ["a\nb\u2028c\x85d\te\r\n"] * len(ids))
    assert translator.translate(["Hund"]) == ["a b c d e"]


@few
@given(order=st.permutations(range(6)), batch_size=st.integers(1, 7))
def test_batches_and_the_order_of_lines_change_nothing(
    translator: Translator, order: list[int], batch_size: int
) -> None:
    lines = [side for pair in PAIRS for side in pair]
    other = Translator(translator.model, translator.tokenizer, replace(SHORT, batch_size=batch_size))
    answers = translator.translate(lines)
    assert other.translate([lines[i] for i in order]) == [answers[i] for i in order]


def test_several_threads_may_translate_at_once(translator: Translator) -> None:
    jobs = [[source, target] for source, target in PAIRS] * 4
    alone = [translator.translate(job) for job in jobs]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(translator.translate, jobs)) == alone


def test_a_stream_is_translated_in_order_reading_only_some_lines_ahead(translator: Translator) -> None:
    taken = []

    def lines() -> Iterator[str]:
        for i in range(1000):
            taken.append(i)
            yield PAIRS[i % 3][0]

    stream = translator.stream(lines())
    assert [next(stream) for _ in range(6)] == translator.translate([source for source, _ in PAIRS]) * 2
    assert len(taken) == SHORT.batch_size * 16
    assert len(list(stream)) == 994


def test_n_best_translations_come_best_first_also_for_long_and_blank_lines(translator: Translator) -> None:
    other = Translator(translator.model, translator.tokenizer, replace(SHORT, beam_size=4, n_best=3))
    for line, n in ((PAIRS[0][0], 3), ("", 1), (PAIRS[1][0] * 20, 3)):
        (answers,) = other.translate_n_best([line])
        assert len(answers) == n
        assert [a.score for a in answers] == sorted((a.score for a in answers), reverse=True)
    best = Translator(translator.model, translator.tokenizer, replace(SHORT, beam_size=4)).translate([PAIRS[0][0]])
    assert other.translate_n_best([PAIRS[0][0]])[0][0].text == best[0]


def test_a_line_of_ten_thousand_words_is_translated_sentence_by_sentence_to_its_end(translator: Translator) -> None:
    sentences = [PAIRS[i % 3][0].replace("? Er", ", er") for i in range(1250)]
    (answer,) = translator.translate([" ".join(sentences)])
    assert answer == " ".join(translator.translate(sentences))


def test_lines_longer_than_training_had_are_translated_sentence_by_sentence(translator: Translator) -> None:
    sentences = [source for source, _ in PAIRS]
    (whole,) = translator.translate([" ".join(sentences)])
    split = Translator(translator.model, translator.tokenizer, replace(SHORT, split_above=25))
    (answer,) = split.translate([" ".join(sentences)])
    assert answer == " ".join(split.translate([*sentences[:2], "Wo ist der Bahnhof?", "Er ist dort drüben!"]))
    assert answer != whole


def test_a_long_line_without_sentences_or_spaces_is_translated_too(
    translator: Translator, tokenizer: Tokenizer
) -> None:
    for line in ("Hund " * 10_000, "Hund" * 3_000, "😀" * 500):
        (ids,) = tokenizer.encode_source([line.strip()])
        spans = [span.ids for span in translator.spans(ids, Request(line), SHORT)]
        assert [i for span in spans for i in span] == ids
        assert max(map(len, spans)) <= 200
        assert translator.translate([line])[0]


pieces_of_text = st.lists(
    min_size=1,
    max_size=80,
    elements=st.sampled_from(
        ["▁Der", "▁Hund", "e", "n", ".", "!", '"', "。", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    ),
)


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
    assert spans("▁D|as|▁endet|.|▁E|r|▁geht|.|▁E|r|▁kommt|.", 11) == ["▁Das▁endet.", "▁Er▁geht.", "▁Er▁kommt."]
    assert spans("▁D|as|▁ist|▁Prof|.|▁A|.|▁vgl|.|▁S", 9) == ["▁Das▁ist▁Prof.▁A.▁vgl.", "▁S"]
    assert spans("▁D|as|▁ist|▁Prof|.|▁A|▁vgl|.|▁S|.", 9) == ["▁Das▁ist▁Prof.▁A▁vgl.", "▁S."]
    assert spans("▁D|as|▁endet|.|▁oder|▁nicht|?|▁J|a|▁!", 9) == ["▁Das▁endet.▁oder▁nicht?", "▁Ja▁!"]
    assert spans("▁N|ein|!|▁D|as|▁endet|.", 6) == ["▁Nein!▁Das", "▁endet."]


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


def test_the_best_joins_of_spans_are_those_of_all_combinations() -> None:
    def hypotheses(*scores: float) -> list[Hypothesis]:
        return [Hypothesis([], score, score, [], finished=True) for score in scores]

    joins = best_joins([hypotheses(-1, -2), hypotheses(-1, -1.5), hypotheses(-3, -5)], 3)
    assert [sum(h.score for h in join) for join in joins] == [-5, -5.5, -6]


def test_a_model_folder_translates_as_the_model_did_with_the_settings_stored_in_it(
    translator: Translator, tmp_path: Path
) -> None:
    info = ModelInfo("de", "en", "three pairs", TINY, SHORT)
    save_model(tmp_path / "model", dict(translator.model.named_parameters()), translator.tokenizer, info, "A test.\n")
    loaded = nmt.Translator.load(tmp_path / "model", device="cpu", precision="fp32")
    assert loaded.decoding == SHORT
    lines = [source for source, _ in PAIRS]
    assert loaded.translate(lines) == translator.translate(lines)


def test_without_a_folder_the_newest_finished_run_is_meant(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"give one with --model DIR, or train one"):
        find_model(None, tmp_path)
    for name, files in {
        "old": ["report.json", "model/config.json"],
        "new": ["report.json", "model/config.json"],
        "unfinished": ["model/config.json"],
        "empty": ["report.json"],
    }.items():
        for file in files:
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
    newest = (tmp_path / "old" / "report.json").stat().st_mtime + 10
    os.utime(tmp_path / "new" / "report.json", (newest, newest))
    os.utime(tmp_path / "empty" / "report.json", (newest + 10, newest + 10))
    assert find_model(None, tmp_path) == tmp_path / "new" / "model"
    assert find_model(str(tmp_path / "old")) == tmp_path / "old" / "model"
    assert find_model(str(tmp_path / "old" / "model")) == tmp_path / "old" / "model"


class Syllables(Tokenizer):
    """Two letters a piece, without SentencePiece: so that exact output depends on nothing but the model."""

    VOWELS, CONSONANTS = "aeiou", "bdfgklmnprst"

    def __init__(self) -> None:
        self.pieces = [consonant + vowel for consonant in self.CONSONANTS for vowel in self.VOWELS]
        self.src_vocab_size = self.tgt_vocab_size = 4 + len(self.pieces)

    def encode_source(self, texts: Sequence[str]) -> list[list[int]]:
        return [[4 + self.pieces.index(text[i : i + 2]) for i in range(0, len(text), 2)] for text in texts]

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(self.pieces[i - 4] for i in sentence) for sentence in ids]


def frozen_model(positions: str) -> Transformer:
    """Weights from whole-number arithmetic alone, the same on every machine."""
    config = ModelConfig(
        d_model=16,
        n_heads=2,
        n_kv_heads=1,
        encoder_layers=2,
        decoder_layers=2,
        d_ff=32,
        tied_embeddings="none",
        positions=positions,  # type: ignore[arg-type]
    )
    model = Transformer(config, 64, 64)
    with torch.no_grad():
        for n, (name, weight) in enumerate(sorted(model.named_parameters())):
            if weight.dim() == 2:
                mixed = (torch.arange(weight.numel()) + 7919 * n) * 2654435761 % 2**32
                mixed = (mixed ^ (mixed >> 15)) * 2246822519 % 2**32
                scale = 0.7 if "embedding" in name else 0.4
                weight.copy_(((mixed >> 16) - 2**15).view(weight.shape) / 2**15 * scale)
    return model


@pytest.mark.parametrize(
    ("positions", "beam_size", "expected"),
    [
        ("sinusoidal", 1, [("reketureketureketure", -2.955), ("ri", -2.673), ("renamokaruforegegegeri", -3.013)]),
        (
            "sinusoidal",
            4,
            [("reketurekereketureke", -2.937), ("rilarinurinurinurinu", -2.663), ("dukakakagogogogogogoru", -2.721)],
        ),
        ("rotary", 1, [("", -2.275), ("nilaforarinugerinuge", -2.717), ("raforasepapapapapapapa", -2.541)]),
        ("rotary", 4, [("", -2.275), ("nilaforarinugerinuge", -2.717), ("raforasepapapapapapapa", -2.541)]),
    ],
)
def test_a_frozen_model_prints_its_exact_text(
    positions: str, beam_size: int, expected: list[tuple[str, float]]
) -> None:
    options = SearchConfig(beam_size=beam_size, max_length_ratio=0.2, guard=False)
    found = Translator(frozen_model(positions), Syllables(), options).translate_n_best(
        ["kakadu", "torado", "tomatetomatetomate"]
    )
    assert [best.text for (best,) in found] == [text for text, _ in expected]
    assert [best.score for (best,) in found] == pytest.approx([score for _, score in expected], abs=1e-3)


class Scripted(Translator):
    """Finds what it is told to: the first answers at first, then those of each further attempt."""

    def __init__(self, translator: Translator, *attempts: list[str]) -> None:
        super().__init__(translator.model, translator.tokenizer, replace(SHORT, guard=True))
        self.attempts, self.asked = list(attempts), list[tuple[list[Request], SearchConfig]]()

    def attempt(
        self, requests: Sequence[Request], decoding: SearchConfig, *, halved: bool = False
    ) -> list[list[Translation]]:
        self.asked.append((list(requests), decoding))
        part = Part((5,), Hypothesis([5], -1.0, -1.0, [-0.5, -0.5], finished=True))
        return [[Translation(text, -1.0, (part,))] for text in self.attempts.pop(0)]


LOOP = "the the the the the the the the the the the the the the the the"


def test_what_looks_wrong_is_tried_again_and_the_better_one_is_taken_and_marked(translator: Translator) -> None:
    scripted = Scripted(translator, ["A good one.", LOOP], ["A dog runs."])
    (good,), (repaired,) = scripted.translate_n_best(["Ein guter.", "Ein Hund läuft."])
    assert (good.text, good.flags, good.fallback) == ("A good one.", (), "")
    assert (repaired.text, repaired.flags, repaired.fallback) == ("A dog runs.", (), "no repeats")
    _, (requests, decoding) = scripted.asked
    assert [request.text for request in requests] == ["Ein Hund läuft."]
    assert decoding.no_repeat_ngram > 0


def test_what_looks_wrong_after_all_attempts_is_flagged_and_the_first_one_kept(translator: Translator) -> None:
    scripted = Scripted(translator, [LOOP], ["x " + LOOP], ["y " + LOOP])
    ((best,),) = scripted.translate_n_best(["Ein Hund läuft."])
    assert (best.text, best.fallback) == (LOOP, "")
    assert "loop" in best.flags
    assert len(scripted.asked) == 3


def test_the_second_look_is_at_spans_half_as_long_and_repeats_no_more_than_before(translator: Translator) -> None:
    scripted = Scripted(translator, [LOOP], [LOOP], [LOOP])
    scripted.decoding = replace(scripted.decoding, no_repeat_ngram=2)
    scripted.translate_n_best(["Ein Hund läuft."])
    assert [decoding.no_repeat_ngram for _, decoding in scripted.asked] == [2, 2, 2]
    (ids,) = translator.tokenizer.encode_source(["ein Hund und noch ein Hund " * 4])
    whole, halves = (translator.spans(ids, Request(""), SHORT, halved=halved) for halved in (False, True))
    assert [span.ids for span in whole] == [tuple(ids)]
    assert max(map(len, halves)) <= len(ids) // 2
    assert [i for span in halves for i in span.ids] == ids


def test_capitals_are_translated_as_small_letters_and_figures_copied(translator: Translator) -> None:
    scripted = Scripted(translator, [LOOP, "A team", "Good."], [LOOP], ["A dog."])
    shouted, figures, good = scripted.translate_n_best(["EIN HUND {x}.", "12:30!", "GUT."])
    assert (shouted[0].text, shouted[0].fallback) == ("A DOG {x}.", "lower case")
    assert [requests[0].text for requests, _ in scripted.asked[1:]] == ["EIN HUND.", "ein hund."]
    assert (figures[0].text, figures[0].fallback, figures[0].flags) == ("12:30!", "copy", ())
    assert (good[0].text, good[0].fallback) == ("Good.", "")


def test_what_the_model_is_unsure_of_keeps_its_mark_however_it_looks(translator: Translator) -> None:
    scripted = Scripted(translator, [LOOP, "Fine."], ["A dog runs."])
    scripted.decoding = replace(scripted.decoding, least_confidence=0.7)
    (looped,), (fine,) = scripted.translate_n_best(["Ein Hund läuft.", "Schön."])
    assert (looped.text, looped.flags, looped.fallback) == ("A dog runs.", ("unsure",), "no repeats")
    assert (fine.text, fine.flags, fine.fallback) == ("Fine.", ("unsure",), "")


def test_what_is_wrong_to_the_eye_is_worse_than_being_unsure(translator: Translator) -> None:
    falling: list[list[Flag]] = [["loop", "copy"], ["items", "unsure"], ["items"], ["unsure"], []]
    assert sorted(falling, key=gravity) == falling[::-1]
    scripted = Scripted(translator, [LOOP], [LOOP], [LOOP])
    scripted.translate_n_best(["NATO"])
    assert [requests[0].text for requests, _ in scripted.asked] == ["NATO"] * 3, "one word may be a name"


def test_lost_items_are_lifted_out_and_put_back(translator: Translator) -> None:
    scripted = Scripted(translator, ["Hello!"], ["Hello!"])
    ((best,),) = scripted.translate_n_best(["Hallo {name}!"])
    assert (best.text, best.flags, best.fallback) == ("Hello {name}!", (), "items")
    assert scripted.asked[1][0][0].text == "Hallo!"
    assert best.links is not None
    assert translator.align(best) == list(best.links)
    assert (1, 1) in best.links


@pytest.mark.parametrize("item", ["{name}", "%s", "https://example.org/a?b=1", "a.b@example.org", "<b>", "😀"])
def test_placeholders_addresses_tags_and_emoji_survive(translator: Translator, item: str) -> None:
    guarded = Translator(translator.model, translator.tokenizer, replace(SHORT, guard=True))
    for line in (f"Der Hund {item} läuft.", f"{item} Der Hund", f"{item}"):
        ((best,),) = guarded.translate_n_best([line])
        assert item in best.text
        assert "items" not in best.flags
