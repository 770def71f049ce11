"""Continuations and scores are those of the model, whatever the batch; a language model chooses among translations."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import ModelConfig, SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.beam import force_score
from nmt.decode.hypothesis import FORBIDDEN_IDS
from nmt.decode.pytorch import pad
from nmt.decode.stop import Stop, Stopped
from nmt.model.contract import GenerativeModel, without_sources
from nmt.model.decoder_only import DecoderOnly
from nmt.translation.language_model import LENGTH, Growing, LanguageModel
from nmt.vocabulary import BOS, EOS
from tests.tiny import TINY, make_model

PROMPTS = ["The little dog", "", "Two men", "Where is the station? It is over", "Kaffee €"]
ONE = SearchConfig(samples=1, max_length=12)
CAUSAL = replace(TINY, family="decoder-only")


def decoder_only(tokenizer: Tokenizer, config: ModelConfig = CAUSAL, seed: int = 3) -> DecoderOnly:
    model = make_model(tokenizer, seed, config)
    assert isinstance(model, DecoderOnly)
    with torch.no_grad():
        model.output.weight[EOS] *= 1.5
    return model


@pytest.fixture(scope="module")
def lm(tokenizer: Tokenizer) -> LanguageModel:
    return LanguageModel(decoder_only(tokenizer), tokenizer)


def forced(model: GenerativeModel, ids: list[int]) -> list[float]:
    """The log-probability of each piece of a text, and of EOS."""
    with torch.inference_mode():
        scores_BT = force_score(model, *without_sources(1, model.device), *pad([ids], model.device))
    return [float(score) for score in scores_BT[0]]


@given(st.permutations(range(5)), st.integers(1, 5), st.sampled_from([0, 1, 3]), st.sampled_from([0, 5]))
def test_batches_change_nothing(lm: LanguageModel, order: Sequence[int], size: int, samples: int, top_k: int) -> None:
    search = replace(ONE, samples=samples, top_k=top_k)
    together = lm.generate(PROMPTS, search)
    assert [len(found) for found in together] == [max(1, samples)] * 5
    for part in (order[i : i + size] for i in range(0, 5, size)):
        apart = lm.generate([PROMPTS[i] for i in part], search)
        assert [[c.ids for c in found] for found in apart] == [[c.ids for c in together[i]] for i in part]


@pytest.mark.parametrize("attention", ["bidirectional", "causal"])
def test_log_probabilities_are_those_of_the_whole_text(tokenizer: Tokenizer, attention: str) -> None:
    """A prompt is read as training reads a text: each piece sees those before it."""
    model = decoder_only(tokenizer, replace(CAUSAL, source_attention=attention))  # type: ignore[arg-type]
    for prompt, found in zip(PROMPTS, LanguageModel(model, tokenizer).generate(PROMPTS, ONE), strict=True):
        [ids] = tokenizer.encode_target([prompt])
        for c in found:
            assert not {*c.ids} & {*FORBIDDEN_IDS, EOS}
            expected = forced(model, [*ids, *c.ids])[len(ids) : len(ids) + len(c.token_log_probs)]
            assert c.token_log_probs == pytest.approx(expected, abs=1e-4)
            assert c.ending == ("end" if len(c.token_log_probs) > len(c.ids) else "length")
            assert c.ending == "end" or len(c.ids) == 12


def test_without_samples_the_most_probable_piece_is_taken(lm: LanguageModel) -> None:
    for prompt, [c] in zip(PROMPTS, lm.generate(PROMPTS, SearchConfig(max_length=5)), strict=True):
        ids = lm.encode([prompt])[0]
        for piece in [*c.ids, *[EOS] * (c.ending == "end")]:
            with torch.inference_mode():
                logits_V = lm.model(*without_sources(1, lm.device), torch.tensor([[BOS, *ids]]))[0, -1]
                logits_V[[*FORBIDDEN_IDS]] = -math.inf
            assert int(logits_V.argmax()) == piece
            ids.append(piece)


def test_settings_of_sampling_are_obeyed(lm: LanguageModel) -> None:
    def texts(search: SearchConfig) -> list[str]:
        return [c.text for c in lm.generate(["The"], search)[0]]

    many = replace(ONE, samples=6)
    assert texts(many) == texts(many) != texts(replace(many, seed=2))
    assert len(set(texts(many))) > 1
    assert set(texts(replace(many, top_k=1))) == set(texts(replace(ONE, samples=0)))
    assert all(len(c.ids) >= 7 for c in lm.generate(["The"], replace(many, min_length=7))[0])
    assert all(len(c.ids) <= LENGTH for c in lm.generate(["The"], SearchConfig(samples=6))[0])


def test_a_continuation_follows_its_prompt_without_a_gap(lm: LanguageModel) -> None:
    for prompt, found in zip(PROMPTS, lm.generate(PROMPTS, replace(ONE, samples=8)), strict=True):
        [ids] = lm.encode([prompt])
        assert [prompt + c.text for c in found] == lm.tokenizer.decode_target([[*ids, *c.ids] for c in found])


def test_a_blank_at_the_end_of_a_prompt_is_not_doubled(lm: LanguageModel) -> None:
    search = replace(ONE, samples=8, max_length=6)
    [free], [ended] = lm.generate(["Two men"], search), lm.generate(["Two men \r"], search)
    assert any(one.text.startswith(" ") for one in free)
    assert [one.text for one in ended] == [one.text.lstrip(" ") for one in free]
    one = replace(search, samples=1)
    assert "".join(lm.stream("Two men ", one)) == "".join(lm.stream("Two men", one)).lstrip(" ")


@given(st.lists(st.one_of(st.integers(4, 310), st.sampled_from([260, 4 + 0x20, 4 + 0xE2, 4 + 0x82, 4 + 0xAC]))))
def test_growing_text_is_the_decoded_text_in_whole_characters(tokenizer: Tokenizer, ids: list[int]) -> None:
    for prompt in ([], tokenizer.encode_target(["dog"])[0]):
        text = Growing(tokenizer, at_start=not prompt)
        parts = [*(text.add(i, 0.0) for i in ids), text.finish()]
        assert "".join(parts) == tokenizer.decode_target([[*prompt, *ids]])[0].removeprefix("dog" if prompt else "")


def test_a_character_of_several_byte_pieces_comes_at_once(tokenizer: Tokenizer) -> None:
    text = Growing(tokenizer)
    assert [text.add(4 + byte, 0.0) for byte in "€😀".encode()] == ["", "", "€", "", "", "", "😀"]
    assert [text.add(4 + byte, 0.0) for byte in "€".encode()[:2]] == ["", ""]
    assert text.finish() == "\ufffd\ufffd"


@given(
    st.lists(st.sampled_from("abc "), max_size=12).map("".join),
    st.lists(st.text("abc ", min_size=1, max_size=4), max_size=3),
)
def test_a_text_ends_before_the_first_complete_stop_string(tokenizer: Tokenizer, whole: str, stops: list[str]) -> None:
    """The stop strings span pieces: each byte is a piece."""
    text = Growing(tokenizer, stops)
    shown = ""
    for byte in whole.encode():
        shown += text.add(4 + byte, 0.0)
        assert whole.startswith(shown)
        assert not any(stop in shown for stop in stops)
        if text.stopped:
            break
    shown += text.finish()
    ends = [(match.end(), match.start()) for stop in stops if (match := re.search(re.escape(stop), whole))]
    assert shown == (whole[: min(e for e in ends if e[0] == min(ends)[0])[1]] if ends else whole)
    assert text.stopped == bool(ends)


def test_generation_stops_at_a_stop_string_and_goes_on_with_the_others(lm: LanguageModel) -> None:
    whole = lm.generate(PROMPTS, replace(ONE, samples=4))
    texts = [c.text for found in whole for c in found]
    stop = next(text[1:3] for text in texts if len(text) > 4)
    shorter = 0
    stops: Any = iter([stop])  # for all of them, also if it can be read only once
    for found, stopped in zip(whole, lm.generate(PROMPTS, replace(ONE, samples=4), stops), strict=True):
        for c, s in zip(found, stopped, strict=True):
            shorter += len(s.ids) < len(c.ids)
            assert s.text == c.text.partition(stop)[0]
            assert (s.ending == "stop") == (stop in c.text)
            assert s.ids == c.ids[: len(s.ids)]
    assert shorter


def test_wrong_arguments_are_named(lm: LanguageModel) -> None:
    settings: Any = {"temperature": 1}
    seconds: Any = 0.5
    stream = lambda prompts, *rest: lm.stream(prompts[0], *rest)  # noqa: E731
    for call in (lm.generate, lm.score, stream):
        with pytest.raises(TypeError, match="search must be a SearchConfig"):
            call(["A man"], settings)
    for call in (lm.generate, stream):
        with pytest.raises(TypeError, match="stop is the string 'abc': give a list of strings"):
            call(["A man"], ONE, "abc")
        with pytest.raises(ValueError, match="stop has an empty text"):
            call(["A man"], ONE, [""])
    with pytest.raises(TypeError, match="the end a Stop"):
        lm.generate(["A man"], until=seconds)


def test_a_stream_is_the_continuation_in_parts(lm: LanguageModel) -> None:
    search = replace(ONE, seed=4)
    for prompt in PROMPTS:
        parts = list(lm.stream(prompt, search))
        [[whole]] = lm.generate([prompt], search)
        assert "".join(parts) == whole.text
        assert all(parts)
    with pytest.raises(ValueError, match=r"search\.samples is 2"):
        lm.stream("a", replace(search, samples=2))


def test_a_prompt_needs_room_in_positions_and_memory(tokenizer: Tokenizer, lm: LanguageModel) -> None:
    small = replace(CAUSAL, positions="learned", max_positions=20)
    few = LanguageModel(decoder_only(tokenizer, small), tokenizer)
    long = "dog " * 12
    [[one], [other]] = few.generate([long, "dog"], SearchConfig(samples=1, min_length=50))
    assert (one.text, one.ids, one.ending) == ("", [], "no room")
    assert other.ending == "length"
    assert len(few.encode(["dog"])[0]) + len(other.ids) == 17
    assert [few.fits(long), few.fits("dog")] == [False, True]
    with pytest.raises(ValueError, match="the model has only 20 positions"):
        few.stream(long)
    assert [score is None for score in few.score([long, "dog"])] == [True, False]
    [[one]] = lm.generate(["Hund " * 3000])
    assert (one.text, one.ids, one.ending, lm.fits("Hund " * 3000)) == ("", [], "no room", False)


def test_scores_are_forced_scores_without_a_source(lm: LanguageModel) -> None:
    texts = ["The little dog.", "", "  Kaffee €  "]
    for text, score in zip(texts, lm.score(texts), strict=True):
        [ids] = lm.encode([text])
        assert score is not None
        assert (score.text, score.ids) == (text.strip(), ids)
        assert score.token_log_probs == pytest.approx(forced(lm.model, ids), abs=1e-5)
        assert score.log_prob == pytest.approx(sum(forced(lm.model, ids)), abs=1e-4)
        assert score.mean == pytest.approx(score.log_prob / (len(ids) + 1))


def test_a_model_for_another_objective_is_refused(model_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no language model: .*objective translation, not lm; translate with"):
        LanguageModel.load(model_folder, "cpu")


def test_prompts_take_the_nearest_characters_with_a_piece_and_texts_to_score_do_not(lm: LanguageModel) -> None:
    assert lm.generate(["The\xa0little"], ONE) == lm.generate(["The little"], ONE)
    (odd,), (plain,) = lm.score(["The\xa0little"]), lm.score(["The little"])
    assert odd
    assert plain
    assert len(odd.ids) > len(plain.ids)
    with pytest.raises(TypeError, match="but a text must be a string"):
        lm.generate([None])  # type: ignore[list-item]


def test_generation_and_scores_end_when_they_are_stopped(lm: LanguageModel) -> None:
    search, stop = SearchConfig(samples=1, min_length=50, max_length=50), Stop(1000)
    text = lm.stream("Two", search, until=stop)
    next(text)
    stop.set()
    with pytest.raises(Stopped):
        list(text)
    with pytest.raises(Stopped):
        lm.generate(["Two"], search, until=stop)
    with pytest.raises(Stopped):
        lm.score(["Two men."], stop=stop)
