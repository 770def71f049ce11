"""`nmt.pipeline`: the calls and results that transformers 4 documents for its translation pipeline."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

import nmt
from nmt.config import SearchConfig
from nmt.text.normalise import tidy
from nmt.translation.pipeline import KNOWN, TranslationPipeline, search_of
from nmt.translation.translator import Translator
from nmt.vocabulary import BOS, EOS

TEXTS = ["Der kleine Hund läuft.", "Wo ist der Bahnhof?", "Zwei Männer sitzen am Tisch."]


@pytest.fixture(scope="module")
def pipe(translator: Translator) -> TranslationPipeline:
    return nmt.pipeline("translation", model=translator)


def translated(text: str) -> dict[str, str]:
    return {"translation_text": text}


def test_a_string_and_a_list_give_flat_lists_of_dictionaries(pipe: TranslationPipeline, translator: Translator) -> None:
    assert pipe(TEXTS) == [translated(text) for text in translator.translate(TEXTS)]
    assert pipe(TEXTS[0]) == pipe(TEXTS[:1])
    assert pipe([]) == []


def test_several_sequences_give_a_list_for_each_text(pipe: TranslationPipeline, translator: Translator) -> None:
    results = pipe(TEXTS, num_beams=4, num_return_sequences=3)
    search = replace(translator.search, beam_size=4, n_best=3)
    expected = translator.translate_n_best(TEXTS, search)
    assert results == [[translated(candidate.text) for candidate in candidates] for candidates in expected]
    assert pipe(TEXTS[0], num_beams=4, num_return_sequences=3) == results[0]
    assert pipe([""], num_return_sequences=2) == [[translated("")]]


def test_a_generator_or_a_data_set_gives_an_iterator_over_lists(pipe: TranslationPipeline) -> None:
    class Texts(Dataset[str]):
        def __len__(self) -> int:
            return len(TEXTS)

        def __getitem__(self, index: int) -> str:
            assert index <= len(self), "without an end"
            return (*TEXTS, "")[index]

    read: list[str] = []

    def generated() -> Iterator[str]:
        for text in TEXTS:
            read.append(text)
            yield text

    results = pipe(generated(), batch_size=2)
    assert not read, "texts are read when results are asked for"
    first = next(results)
    assert read == TEXTS[:2]
    assert [first, *results] == [[result] for result in pipe(TEXTS)] == list(pipe(Texts()))


def test_return_tensors_gives_ids_instead_of_text(pipe: TranslationPipeline, translator: Translator) -> None:
    [result] = pipe(TEXTS[0], return_tensors=True)
    assert result.keys() == {"translation_token_ids"}
    ids = result["translation_token_ids"]
    assert isinstance(ids, torch.Tensor)
    assert [int(ids[0]), int(ids[-1])] == [BOS, EOS]
    [text] = translator.tokenizer.decode_target([ids.tolist()])
    assert [translated(tidy(text))] == pipe(TEXTS[0])


@pytest.mark.parametrize("wrong", [None, 3, ("a", "b"), ["a", 3], {"text": "a"}])
def test_other_inputs_are_an_error(pipe: TranslationPipeline, wrong: Any) -> None:
    with pytest.raises(ValueError, match="give a string, a list of strings, or a generator"):
        pipe(wrong)
    with pytest.raises(ValueError, match="give strings"):
        list(pipe(text for text in [7]))


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        ({"num_beams": 3, "num_return_sequences": 2}, {"beam_size": 3, "n_best": 2}),
        ({"max_length": 20}, {"max_length": 18}),
        ({"max_new_tokens": 9, "max_length": 90}, {"max_length": 8}),
        ({"min_new_tokens": 3, "min_length": 1}, {"min_length": 2}),
        ({"no_repeat_ngram_size": 2}, {"no_repeat_ngram": 2}),
        ({"length_penalty": 0.6, "repetition_penalty": 1.2}, {"length_penalty": 0.6, "repetition_penalty": 1.2}),
        ({"do_sample": True, "num_return_sequences": 4, "top_k": 5}, {"samples": 4, "n_best": 4, "top_k": 5}),
        ({"do_sample": True, "top_p": 0.9, "temperature": 0.5}, {"samples": 1, "top_p": 0.9, "temperature": 0.5}),
        ({"early_stopping": False, "do_sample": False}, {}),
    ],
)
def test_arguments_of_generate_become_settings_of_search(arguments: dict[str, Any], changes: dict[str, Any]) -> None:
    assert search_of(arguments, SearchConfig()) == replace(SearchConfig(), **changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_beam_groups": 2, "penalty_alpha": 0.6}, "nmt has no num_beam_groups, penalty_alpha for"),
        ({"beam_size": 2}, f"it has {', '.join(KNOWN)}"),
        ({"early_stopping": True}, "early_stopping is True"),
        ({"top_k": 5}, "top_k is for sampling: add do_sample=True"),
        ({"do_sample": True, "num_beams": 4, "repetition_penalty": 1.2}, "num_beams, repetition_penalty is for beam"),
        ({"num_beams": "4"}, "num_beams is '4': it must be a whole number"),
        ({"batch_size": "8"}, "batch_size is '8': it must be a whole number"),
        ({"num_beams": 2, "num_return_sequences": 3}, "search.n_best is 3"),
    ],
)
def test_arguments_that_nmt_lacks_are_told(pipe: TranslationPipeline, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pipe(TEXTS[0], **arguments)


def test_settings_of_the_pipeline_hold_until_a_call_says_otherwise(translator: Translator) -> None:
    pipe = nmt.pipeline("translation", model=translator, num_beams=3, num_return_sequences=3)
    assert len(pipe(TEXTS[0])) == 3
    assert len(pipe(TEXTS[0], num_return_sequences=1)) == 1
    with pytest.raises(ValueError, match="nmt has no beams"):
        nmt.pipeline("translation", model=translator, beams=3)


def test_the_task_can_name_the_languages_of_the_model(model_folder: Path, translator: Translator) -> None:
    for task in ("translation", "translation_de_to_en"):
        pipe = nmt.pipeline(task, model=str(model_folder), tokenizer=str(model_folder), device=-1)
        assert pipe.task == task
        assert len(pipe(TEXTS[0], src_lang="de", tgt_lang="en")) == 1
    for wrong in ("translation_en_to_de", "translation_de_to_fr"):
        with pytest.raises(ValueError, match="the model translates from de to en, not"):
            nmt.pipeline(wrong, model=model_folder)
    with pytest.raises(ValueError, match="the model translates from de to en, not to fr"):
        pipe(TEXTS[0], tgt_lang="fr")
    with pytest.raises(ValueError, match="the task is 'summarization'"):
        nmt.pipeline("summarization", model=translator)
    with pytest.raises(ValueError, match="a model folder has its own tokenizer"):
        nmt.pipeline("translation", model=model_folder, tokenizer="elsewhere")
