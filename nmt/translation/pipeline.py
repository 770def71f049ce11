"""`nmt.pipeline("translation")`: translators with the calls and results of the pipeline of transformers 4.

Version 5 of transformers deleted it. Text flows in; dictionaries flow out, with the key `translation_text`. It is
written from the documentation of `TranslationPipeline` in transformers 4.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import GeneratorType
from typing import Any

import torch

from nmt.config import SearchConfig
from nmt.fields import annotations, read_value, require
from nmt.translation.translator import Translator, find_model
from nmt.vocabulary import BOS, EOS

Result = list[dict[str, Any]]
"""The translations of a text, each as a dictionary."""

# Arguments of `generate` that are settings of search under another name, and what they become.
RENAMED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "num_beams": ("beam_size", int),
    "num_return_sequences": ("n_best", int),
    # Here lengths are without EOS; in max_length, transformers counts the first piece of the decoder too. New tokens
    # come last, since they count if both are given.
    "max_length": ("max_length", lambda n: max(1, n - 2)),
    "max_new_tokens": ("max_length", lambda n: max(1, n - 1)),
    "min_length": ("min_length", lambda n: max(0, n - 2)),
    "min_new_tokens": ("min_length", lambda n: max(0, n - 1)),
    "no_repeat_ngram_size": ("no_repeat_ngram", int),
}
SAME = ("length_penalty", "repetition_penalty", "temperature", "top_k", "top_p", "min_p", "seed", "batch_size")
SAMPLING = ("temperature", "top_k", "top_p", "min_p")
NO_SAMPLING = {"num_beams": 1, "no_repeat_ngram_size": 0, "repetition_penalty": 1}  # and values that change nothing
KNOWN = sorted((*RENAMED, *SAME, "do_sample", "early_stopping"))
TASK = re.compile(r"translation(?:_(?P<source>[\w-]+?)_to_(?P<target>[\w-]+))?")


def pipeline(
    task: str = "translation",
    model: Translator | Path | str | None = None,
    tokenizer: Path | str | None = None,
    device: int | str | torch.device | None = None,
    **settings: Any,
) -> "TranslationPipeline":
    """A translator that is called like the translation pipeline of transformers 4.

    Args:
        task: translation, or translation_xx_to_yy with two languages of the model.
        model: a model folder, or run folder, or a `Translator`; by default that of the newest run.
        tokenizer: may be the model folder again, which holds the tokenizer.
        device: -1 or "cpu", the number of a GPU, or "auto" (the default).
        settings: defaults of calls, as for `TranslationPipeline.__call__`.
    """
    match = TASK.fullmatch(task)
    require(match is not None, f"the task is {task!r}: nmt has translation, and translation_xx_to_yy such as de_to_en")
    is_same = tokenizer is None or (isinstance(model, Path | str) and Path(tokenizer) == Path(model))
    require(is_same, f"tokenizer is {tokenizer}: leave it out, since a model folder has its own tokenizer")
    if not isinstance(model, Translator):
        names = {None: "auto", -1: "cpu"}
        chosen = names.get(device, f"cuda:{device}") if isinstance(device, int | None) else str(device)
        model = Translator.load(find_model(None if model is None else str(model)), chosen)
    for codes in (match.groups() if match else (), [settings.pop(name, None) for name in ("src_lang", "tgt_lang")]):
        model = model.between(*(code or "" for code in codes))
    return TranslationPipeline(model, task, settings)


class TranslationPipeline:
    """A translator with the calls of the translation pipeline of transformers 4. Calls leave no state in it."""

    def __init__(self, translator: Translator, task: str, settings: Mapping[str, Any]) -> None:
        """`settings`: defaults of calls."""
        self.translator, self.task, self.settings = translator, task, settings
        self.prepare(settings)

    def __call__(self, inputs: Any, *, src_lang: str = "", tgt_lang: str = "", **settings: Any) -> Any:
        """Translate a text, a list of texts, or texts from a generator or a data set, one by one.

        Args:
            inputs: a string, a list of strings, or a generator or `torch.utils.data.Dataset` of strings.
            src_lang, tgt_lang: languages of the model.
            settings: return_tensors (ids instead of text); batch_size; the arguments of `generate` in KNOWN; and
                truncation and num_workers, without effect.

        Returns:
            For a string, a list of dictionaries, one for each of num_return_sequences; for a list, a list of
            dictionaries, or of such lists if num_return_sequences is above 1; otherwise an iterator over such lists.
            The key is translation_text or, with return_tensors, translation_token_ids (with <s> and </s>). ValueError
            for other inputs, and for settings that nmt doesn't have.
        """
        if src_lang or tgt_lang:
            translator = self.translator.between(src_lang or "", tgt_lang or "")
            return TranslationPipeline(translator, self.task, self.settings)(inputs, **settings)
        self.translator.tokenizer.languages.require_chosen(("src_lang", "tgt_lang"))
        search, tensors = self.prepare({**self.settings, **settings})
        if isinstance(inputs, str):
            return self.translate([inputs], search, tensors)[0]
        if isinstance(inputs, GeneratorType | torch.utils.data.Dataset):
            return self.stream(inputs, search, tensors)
        are_texts = isinstance(inputs, list) and all(isinstance(text, str) for text in inputs)
        problem = f"the input is {str(inputs)[:40]!r}, of type {type(inputs).__name__}"
        require(are_texts, f"{problem}: give a string, a list of strings, or a generator or data set of strings")
        results = self.translate(inputs, search, tensors)
        return [result[0] for result in results] if search.n_best == 1 else results

    def prepare(self, settings: Mapping[str, Any]) -> tuple[SearchConfig, bool]:
        """The search settings of a call, and whether ids are wanted. Raises ValueError for what nmt doesn't have."""
        rest = {name: value for name, value in settings.items() if value is not None}
        tensors = bool(rest.pop("return_tensors", False))
        for name in ("return_text", "truncation", "num_workers"):
            rest.pop(name, None)
        clean = rest.pop("clean_up_tokenization_spaces", False)
        require(not clean, "clean_up_tokenization_spaces is true: there are no such spaces here; leave it out")
        return search_of(rest, self.translator.search), tensors

    def stream(self, texts: Any, search: SearchConfig, tensors: bool) -> Iterator[Result]:
        """The result of each text, a batch at a time."""
        # A data set may have an end by its length only, as one that reads lines with linecache.
        has_end = hasattr(texts, "__iter__") or not hasattr(texts, "__len__")
        texts = islice(texts, None if has_end else len(texts))
        while batch := list(islice(texts, search.batch_size)):
            wrong = next((text for text in batch if not isinstance(text, str)), None)
            require(wrong is None, f"an input is {str(wrong)[:40]!r}, of type {type(wrong).__name__}: give strings")
            yield from self.translate(batch, search, tensors)

    def translate(self, texts: list[str], search: SearchConfig, tensors: bool) -> list[Result]:
        n_best = self.translator.translate_n_best(texts, search)
        if not tensors:
            return [[{"translation_text": translation.text} for translation in found] for found in n_best]
        ids = [[[i for part in t.parts for i in part.hypothesis.ids] for t in found] for found in n_best]
        return [[{"translation_token_ids": torch.tensor([BOS, *each, EOS])} for each in found] for found in ids]


def search_of(arguments: Mapping[str, Any], default: SearchConfig) -> SearchConfig:
    """The settings of search that arguments of `generate` stand for."""
    unknown = ", ".join(sorted(set(arguments) - set(KNOWN)))
    require(not unknown, f"nmt has no {unknown} for a translation pipeline: it has {', '.join(KNOWN)}")
    early = arguments.get("early_stopping", False)
    problem = "search here ends when no better hypothesis can come; leave it out"
    require(early in (False, "never"), f"early_stopping is {early}: {problem}")
    changes: dict[str, Any] = {"n_best": 1, **{n: arguments[n] for n in SAME if n in arguments}}
    for name, (field, convert) in RENAMED.items():
        if name in arguments:
            require(isinstance(arguments[name], int), f"{name} is {arguments[name]!r}: it must be a whole number")
            changes[field] = convert(arguments[name])
    changes = {name: read_value(value, annotations(SearchConfig)[name][0], name) for name, value in changes.items()}
    samples = arguments.get("do_sample", default.samples > 0)
    ignored = "" if samples else ", ".join(name for name in SAMPLING if name in arguments)
    require(not ignored, f"{ignored} is for sampling: add do_sample=True")
    ignored = ", ".join(n for n, usual in NO_SAMPLING.items() if samples and arguments.get(n, usual) != usual)
    require(not ignored, f"{ignored} is for beam search: leave out do_sample")
    return replace(default, samples=changes["n_best"] if samples else 0, **changes)
