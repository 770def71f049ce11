"""Given translations get the scores that a search would give them."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from nmt.data.tokenizer import Tokenizer
from nmt.decode.hypothesis import Hypothesis
from nmt.reading.request import Constraints, Part, Request, Translation
from nmt.text.markup import Mode
from nmt.translation.forced import known_of
from nmt.translation.jobs import Scoring
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS
from tests.tiny import PAIRS, SHORT, TINY, make_model


def scored(translator: Translator, pairs: list[tuple[str, str]], markup: Mode = "auto") -> list[Translation]:
    return [forced for forced in translator.scorer(markup=markup).score(pairs) if forced]


def test_given_translations_get_the_score_of_search(tokenizer: Tokenizer, capsys: pytest.CaptureFixture[str]) -> None:
    model: Any = make_model(tokenizer, config=replace(TINY, output_bias=True))
    model.output.bias.data[EOS] = 10.0  # so that a translation is its prefix, whose pieces are those of its text
    translator, lines = Translator(model, tokenizer, replace(SHORT, beam_size=1)), [source for source, _ in PAIRS[:2]]
    requests = [Request(source, Constraints(target)) for source, target in PAIRS[:2]]
    found = [best for best, *_ in translator.translate_n_best(requests)]
    assert [best.text for best in found] == [target for _, target in PAIRS[:2]]
    pairs = [(line, best.text) for line, best in zip(lines, found, strict=True)]
    scores = scored(translator, pairs)
    for best, forced in zip(found, scores, strict=True):
        assert forced.score == pytest.approx(best.score, abs=1e-4)
        assert forced.token_log_probs == pytest.approx(best.token_log_probs, abs=1e-4)
    data = ["\t".join(pair).encode() for pair in pairs]
    assert Scoring(translator, SHORT, "text").answer(data).decode().split() == [f"{s.score:.4f}" for s in scores]
    objects = [json.dumps({"text": line, "translation": text, "id": 7}).encode() for line, text in pairs]
    rows = [json.loads(line) for line in Scoring(translator, SHORT, "jsonl").answer(objects).decode().splitlines()]
    assert [(row["text"], row["translation"], row["id"]) for row in rows] == [(*pair, 7) for pair in pairs]
    assert [row["score"] for row in rows] == [round(s.score, 4) for s in scores]
    job = Scoring(translator, SHORT, "tsv")
    assert job.answer([b"", b"Hund", b"Hund\tdog\r"]).decode().count("\n") == 3
    assert capsys.readouterr().err == "line 2: no tab: scored as if its translation were empty\n"


def test_a_pair_of_blank_sides_is_not_scored_and_a_lost_translation_is(translator: Translator) -> None:
    lines = [b"", b" \t\r", b"Hund\t", b"\tdog"]
    blank, also, lost, invented = Scoring(translator, SHORT, "text").answer(lines).decode().splitlines()
    assert (blank, also) == ("0.0000", "0.0000")
    assert float(lost) < 0
    assert float(invented) < 0
    assert Scoring(translator, SHORT, "tsv").answer(lines[:1]) == b"\t0.0000\n"
    (row,) = Scoring(translator, SHORT, "jsonl").answer([b"  "]).decode().splitlines()
    answer = json.loads(row)
    assert (answer["text"], answer["translation"], answer["score"], answer["tokens"]) == ("", "", 0, [])


def test_lines_of_a_json_text_are_scored_one_by_one(translator: Translator) -> None:
    first, second, whole = scored(translator, [("Hund", "dog"), ("Wiese", "meadow"), ("Hund Wiese", "meadow")])
    pairs = [("Hund\n\nWiese", "dog\n\nmeadow"), ("Hund\nWiese", "meadow")]
    lines = [json.dumps({"text": line, "translation": text}).encode() for line, text in pairs]
    output = Scoring(translator, SHORT, "jsonl").answer(lines)
    alike, unlike = map(json.loads, output.decode().splitlines())
    assert alike["score"] == pytest.approx((first.score + second.score) / 2, abs=1e-4)
    assert unlike["score"] == pytest.approx(whole.score, abs=1e-4)


def test_other_columns_are_repeated_byte_for_byte_and_not_scored(translator: Translator) -> None:
    job = Scoring(translator, SHORT, "tsv")
    plain, longer, returns = job.answer([b"Hund\tdog", b"Hund\tdog\tStra\xdfe", b"Hund\tdog\r\r"]).split(b"\n")[:-1]
    assert longer == plain.replace(b"dog", b"dog\tStra\xdfe")
    assert returns.startswith(b"Hund\tdog\r\t"), "one belongs to the end of the line"


@pytest.mark.parametrize("line", [b"Hund\tdog", b'"Hund"', b'{"text": "Hund"}', b'{"text": "a", "translation": 7}'])
def test_a_line_that_is_no_pair_of_json_becomes_an_error(translator: Translator, line: bytes) -> None:
    (row,) = Scoring(translator, SHORT, "jsonl").answer([line]).splitlines()
    assert "error" in json.loads(row)


def test_sentences_are_scored_one_by_one_where_they_would_be_translated_so(translator: Translator) -> None:
    pairs = [("Wo ist der Bahnhof?", "Where is it?"), ("Er ist dort.", "It is there.")]
    source, target = (" ".join(side) for side in zip(*pairs, strict=True))
    first, second, both, fewer = scored(translator, [*pairs, (source, target), (source, "It is there.")])
    assert both.token_log_probs == pytest.approx([*first.token_log_probs, *second.token_log_probs], abs=1e-4)
    assert both.score == pytest.approx((first.score + second.score) / 2, abs=1e-4)
    assert both.text == target
    assert len(fewer.parts) == 1, "its sentences can't be paired"
    (whole,) = translator.scorer(replace(SHORT, split_above=200)).score([(source, target)])
    assert whole is not None
    assert whole.score >= both.score - 1e-4, "of several readings the most probable one counts"
    assert translator.scorer().score([("Hund " * 5000 + ". Wo ist er?", "dog. Where?")])[0] is None


def test_a_segment_that_was_not_made_so_costs_no_other_segment_its_score(translator: Translator) -> None:
    pairs = [("Wo ist der Bahnhof?", "Where is it?"), ("Er ist dort. Sie ist hier.", "It is <b>there</b>.")]
    source, target = ("".join(f"<p>{text}</p>" for text in side) for side in zip(*pairs, strict=True))
    first, second, both = scored(translator, [*pairs, (source, target)], "html")
    assert [part.written for part in both.parts] == ["Where is it?", "It is there."]
    assert both.score == pytest.approx((first.score + second.score) / 2, abs=1e-4)


def test_scores_that_are_not_numbers_are_an_error(tokenizer: Tokenizer) -> None:
    model = make_model(tokenizer)
    with torch.no_grad():
        model.output.weight[7] = torch.nan
    with pytest.raises(ValueError, match="logits are not numbers"):
        Translator(model, tokenizer, SHORT).scorer().score([("Hund", "dog")])


def test_a_repetition_penalty_does_not_count_in_scores() -> None:
    found = Hypothesis([7, 7], -4.0, -3.0, [-1.0, -1.0, -1.0], finished=True)
    (known,) = known_of([Translation("a a", -4.0, (Part((5,), found),))], SHORT).values()
    assert known
    assert known.score == pytest.approx(-3.0 / 3**SHORT.length_penalty)
