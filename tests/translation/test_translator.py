"""From text to text: no line and no word is lost, batches and threads change nothing, and output is always one line."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.pytorch import TorchEngine
from nmt.decode.stop import Stop, Stopped
from nmt.extras import typed
from nmt.reading.request import Constraints, Request, Term
from nmt.translation.model_folder import Facts
from nmt.translation.repair import PORTION, portions
from nmt.translation.translator import Translator, find_model
from tests.tiny import PAIRS, SHORT

few = settings(max_examples=15, deadline=None, derandomize=True)


@few
@given(lines=st.lists(st.text(st.characters(exclude_categories=()), max_size=30), max_size=6))
def test_any_text_is_answered_line_by_line_without_another_line_break(translator: Translator, lines: list[str]) -> None:
    answers = translator.translate(lines)
    assert len(answers) == len(lines)
    for line, answer in zip(lines, answers, strict=True):
        assert len(answer.splitlines()) <= max(1, len(line.strip().splitlines()))
        assert "\t" not in answer or "\t" in line.strip()
        answer.encode("utf-8")
        assert line.strip() or not answer


def test_a_blank_line_never_reaches_the_model(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchEngine, "search", None)
    assert translator.translate(["", " ", "\t\r", "\u3000", "\x00", "\u2028"]) == [""] * 6
    assert [answer.score for answer in translator.translate_n_best([""])[0]] == [0.0]


def test_the_only_language_of_a_model_may_be_named(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="one pair of languages"):
        translator.translate(["Hund"], to="en")
    monkeypatch.setattr(translator, "source", "de")
    monkeypatch.setattr(translator, "language", "en")
    for code in ("en", "eng", "en-GB"):
        assert translator.translate(["Hund"], to=code) == translator.translate(["Hund"])
    assert translator.between("de", "en").translate(["Hund"]) == translator.translate(["Hund"])
    with pytest.raises(ValueError, match="from de to en, not to fr"):
        translator.translate(["Hund"], to="fr")
    with pytest.raises(ValueError, match="not from en to de"):
        translator.between("en", "de")


def test_a_line_break_that_a_model_writes_is_a_space(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokenizer, "decode_target", lambda self, ids: ["a\nb\u2028c\x85d\te\r\n"] * len(ids))
    assert translator.translate(["Hund"]) == ["a b c d e"]


@few
@given(order=st.permutations(range(6)), batch_size=st.integers(1, 7))
def test_batches_and_order_of_lines_change_nothing(translator: Translator, order: list[int], batch_size: int) -> None:
    lines = [side for pair in PAIRS for side in pair]
    answers = translator.translate(lines)
    shuffled = translator.translate([lines[i] for i in order], replace(SHORT, batch_size=batch_size))
    assert shuffled == [answers[i] for i in order]


def test_several_threads_may_ask_for_different_things_at_once(translator: Translator) -> None:
    searches = [SHORT, replace(SHORT, beam_size=4), replace(SHORT, samples=2), replace(SHORT, guard=True)] * 3
    jobs = [([source, target], search) for source, target in PAIRS for search in searches]
    alone = [translator.translate(lines, search) for lines, search in jobs]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda job: translator.translate(*job), jobs)) == alone
    assert translator.search == SHORT


def test_a_line_of_ten_thousand_words_is_translated_sentence_by_sentence_to_its_end(translator: Translator) -> None:
    sentences = [PAIRS[i % 3][0].replace("? Er", ", er") for i in range(1250)]
    (answer,) = translator.translate([" ".join(sentences)])
    assert answer == " ".join(translator.translate(sentences))


def test_lines_longer_than_training_had_are_translated_sentence_by_sentence(translator: Translator) -> None:
    sentences = [source for source, _ in PAIRS]
    apart = " ".join(translator.translate([*sentences[:2], "Wo ist der Bahnhof?", "Er ist dort drüben!"]))
    whole = translator.translate([" ".join(sentences)], replace(SHORT, split_above=200))
    assert translator.translate([" ".join(sentences)], replace(SHORT, split_above=25)) == [apart] != whole

    def learned(longest: int, usual: int) -> list[str]:
        facts = Facts(longest_source=longest, usual_sentences=usual)
        return Translator(translator.model, translator.tokenizer, SHORT, facts=facts).translate([" ".join(sentences)])

    assert learned(25, 4) == learned(200, 3) == translator.translate([" ".join(sentences)]) == [apart]
    assert learned(200, 4) == whole


def test_what_belongs_to_a_line_of_several_sentences_is_made_of_its_sentences(translator: Translator) -> None:
    lines = ["Wo ist der Tisch?", "Der Hund läuft!"]
    wide = replace(SHORT, beam_size=3, n_best=3)
    (first,), (second,) = translator.translate_n_best(lines, replace(wide, n_best=1))
    joined = translator.translate_n_best(["  ".join(lines)], wide)[0]
    assert joined[0].text == f"{first.text}  {second.text}"
    assert joined[0].score == pytest.approx((first.score + second.score) / 2)
    assert joined[0].log_prob == pytest.approx(first.log_prob + second.log_prob)
    assert min(first.confidence, second.confidence) <= joined[0].confidence <= max(first.confidence, second.confidence)
    assert len({translation.text for translation in joined}) == 3
    links = translator.align("  ".join(lines), joined[0])
    of_first, of_second = translator.align(lines[0], first), translator.align(lines[1], second)
    assert links[: len(of_first)] == of_first
    assert links[len(of_first) :] == [(i + 4, j + len(of_first)) for i, j in of_second]  # "Wo ist der Tisch?"


def test_without_a_folder_the_newest_finished_run_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = r"no model is given and runs/ has no finished run with training\.objective translation: give one with "
    with pytest.raises(ValueError, match=rf"{missing}--model DIR, or train one: {re.escape(typed('train'))}"):
        find_model(None)
    for name, files in {
        "old": ["report.json", "model/config.json"],
        "new": ["report.json", "model/config.json"],
        "unfinished": ["model/config.json"],
        "empty": ["report.json"],
    }.items():
        for file in files:
            path = Path("runs", name, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
    newest = Path("runs/old/report.json").stat().st_mtime + 10
    os.utime("runs/new/report.json", (newest, newest))
    os.utime("runs/empty/report.json", (newest + 10, newest + 10))
    Path("runs/new/model/languages.json").write_text('{"before_target": 5}')
    assert find_model(None) == Path("runs/new/model"), "what is wrong with it is told when it is loaded"
    assert capsys.readouterr().err == "Model: runs/new/model (?)\n"
    assert find_model("runs/old") == find_model("runs/old/model") == Path("runs/old/model")
    assert capsys.readouterr().err == ""
    Path("runs/new/model/config.json").write_text('{"objective": "lm", "source": "en", "target": "en"}')
    Path("runs/old/model/config.json").write_text('{"source": "de", "target": "en"}')
    assert find_model(None) == Path("runs/old/model")
    assert capsys.readouterr().err == "Model: runs/old/model (de to en)\n"
    Path("runs/old/model/languages.json").write_text('{"before_target": {"de": "", "en": "", "fr": ""}}')
    assert find_model(None) == Path("runs/old/model")
    assert capsys.readouterr().err == "Model: runs/old/model (de, en, fr)\n"
    assert find_model(None, "lm") == find_model(None, None) == Path("runs/new/model")
    assert capsys.readouterr().err == "Model: runs/new/model (en)\n" * 2
    with pytest.raises(ValueError, match=r"no finished run with training\.objective pair"):
        find_model(None, "pair")


@pytest.mark.parametrize("options", [{"samples": 3}, {"samples": 2, "beam_size": 1}])
def test_fewer_samples_than_the_beam_has_hypotheses_will_do(translator: Translator, options: dict[str, Any]) -> None:
    assert len(translator.translate(["Hund"], SearchConfig(guard=False, **options))) == 1


def test_wrong_arguments_are_named(translator: Translator, model_folder: Path) -> None:
    wrong: Any = {"search": {"beam_size": 2}, "stop": 0.5}
    for name, value in wrong.items():
        with pytest.raises(TypeError, match="search must be a SearchConfig"):
            translator.translate(["Hund"], **{name: value})
    with pytest.raises(TypeError, match="give a list of strings"):
        translator.translate("Hund")
    lines: Any
    for lines in ([None], [1], ["Hund", b"Hund"], ["Hund", Request(wrong)]):
        with pytest.raises(TypeError, match=r"lines has .*, but a text must be a string"):
            translator.translate(lines)
    for call in (lambda markup: translator.translate(["Hund"], markup=markup), lambda m: translator.scorer(markup=m)):
        with pytest.raises(ValueError, match="markup is 'xml': it must be one of auto, html, none"):
            call("xml")
    for name, value in {"precision": "fp16", "backend": "x"}.items():
        options: Any = {name: value}
        with pytest.raises(ValueError, match=f"{name} is '{value}': it must be one of auto, "):
            Translator.load(model_folder, **options)
    with pytest.raises(ValueError, match="the list of model folders is empty"):
        Translator.load([])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Zwei\xa0Männer sitzen am\u202fTisch.", "Zwei Männer sitzen am Tisch."),
        ("Ｚwei Mãnner sitzen\u200e am Tisch．", "Zwei Manner sitzen am Tisch."),
    ],
)
def test_characters_without_a_piece_are_read_in_near_forms(translator: Translator, written: str, read: str) -> None:
    guarded = replace(SHORT, guard=True)
    for search in (SHORT, guarded):
        ((one,),), ((other,),) = (translator.translate_n_best([line], search) for line in (written, read))
        assert (one.text, one.score, one.flags) == (other.text, other.score, other.flags)


@pytest.mark.parametrize("search", [replace(SHORT, guard=True), replace(SHORT, samples=2, n_best=2)])
def test_each_search_may_stop(translator: Translator, search: SearchConfig) -> None:
    """The guard's retries, and what places terms, are further searches."""
    stop, must = Stop(1000), () if search.samples else (Term(("dog",)),)
    lines = [Request("Der Hund läuft. Zwei Männer sitzen.", Constraints(must=must)), Request("EIN {x} HUND!")]
    with patch.object(TorchEngine, "search", autospec=True, side_effect=TorchEngine.search) as searched:
        assert translator.translate(lines, search, stop=stop) == translator.translate(lines, search)
    passed = [call.args[-1] for call in searched.call_args_list]
    assert passed.count(stop) == passed.count(None) > 0
    stop.set()
    with pytest.raises(Stopped):
        translator.translate(["Hund"], search, stop=stop)
    with pytest.raises(Stopped):
        translator.scorer().score([("Hund", "dog")], stop)


@given(st.lists(st.text("ab ", max_size=30), max_size=60), st.integers(1, 8), st.integers(1, 4), st.booleans())
def test_each_line_is_in_one_short_portion(texts: list[str], batch_size: int, workers: int, ordered: bool) -> None:
    numbers = portions([Request(text) for text in texts], batch_size, workers, ordered=ordered)
    read = [number for portion in numbers for number in portion]
    assert sorted(read) == [*range(len(texts))]
    lengths = [len(texts[number]) for number in read]
    assert read == sorted(read) if ordered else lengths == sorted(lengths, reverse=True)
    most = max(batch_size, min(PORTION * batch_size, -(-len(texts) // workers)))
    assert all(1 <= len(portion) <= most for portion in numbers)


def test_a_translation_of_two_lines_has_a_score_for_each(translator: Translator) -> None:
    lines = ["Hund", "Kaffee"]
    [[best, *_]] = translator.translate_n_best(lines[:1])
    rescored = translator.with_forced_scores([Request(line) for line in lines], [[best], [best]], SHORT)
    scored = translator.scorer(SHORT).score([(line, best.text) for line in lines])
    assert [found.score for (found,) in rescored] == pytest.approx([found.score for found in scored if found])
