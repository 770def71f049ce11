"""Readers of data sets: from the Hugging Face hub, from its cache if the hub is not reachable, or from a folder."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from nmt.config import DataConfig
from nmt.data.corpora.corpus import ONLY_TEXT, VAL_NAMES, Corpus, Split, assemble, require_german_and_english
from nmt.fields import require

MULTI30K = "bentrevett/multi30k"
PROBE_SECONDS = 10.0  # longest wait for the hub: with the imports before and after it, `auto` takes 15 seconds at most


def read_multi30k(config: DataConfig) -> Corpus:
    """Read Multi30k. Raises the errors of `load_dataset`, and ValueError for other languages."""
    require_german_and_english(config)
    return read_splits(load_dataset(MULTI30K, None), config, "multi30k", test="test_2016_flickr")


def read_hub(config: DataConfig) -> Corpus:
    """Read the data set that `config.corpus` names. Raises the errors of `load_dataset`."""
    dataset, configuration = parse_hub(config)
    return read_splits(load_dataset(dataset, configuration or None), config, hub_name(config), test="test")


def parse_hub(config: DataConfig) -> tuple[str, str]:
    """The data set and the configuration in hub:NAME[:CONFIGURATION]; a missing configuration is empty."""
    dataset, _, configuration = config.corpus.removeprefix("hub:").partition(":")
    require(dataset != "", f"data.corpus is {config.corpus!r}: it lacks the data set's name, as in hub:wmt/wmt14:de-en")
    return dataset, configuration


def hub_name(config: DataConfig) -> str:
    """The name of the corpus: the data set's, and the configuration unless that only names the two languages."""
    dataset, configuration = parse_hub(config)
    plain = ("", f"{config.source}-{config.target}", f"{config.target}-{config.source}")
    return Path(dataset).resolve().name + ("" if configuration in plain else f"-{configuration}")


def local_folder(dataset: str) -> Path | None:
    """The local folder of a data set; None if the name is not that of a local folder."""
    folder = Path(dataset).expanduser()
    return folder if folder.exists() else None


def read_splits(rows: Any, config: DataConfig, name: str, test: str) -> Corpus:
    """The corpus of a data set's rows by split; its split test gets the name `test`."""
    require("train" in rows, f"{name} has no split named train; it has {', '.join(rows)}")
    val = [key for key in VAL_NAMES if key in rows][:1]
    read = {key: read_rows(rows[key], config, key) for key in rows if key in ("train", *val) or key.startswith("test")}
    names = {"test": test, **dict.fromkeys(val, "val")}
    return assemble(name, {names.get(key, key): split for key, split in read.items()})


def read_rows(rows: Any, config: DataConfig, key: str) -> Split:
    """One split of a data set, read by columns, since a dict for each of millions of rows takes minutes."""
    rows = rows.flatten()
    columns = find_columns(rows.column_names, config)
    split, number = Split(config, training=key == "train"), 0
    for batch in rows.select_columns(columns).with_format("arrow").iter(batch_size=10_000):
        for row in zip(*(batch[column].to_pylist() for column in columns), strict=True):
            number += 1
            split.add(row, number)
    return split


def find_columns(names: list[str], config: DataConfig) -> list[str]:
    for prefix in ("translation.", ""):
        columns = [f"{prefix}{language}" for language in config.languages]
        if set(columns) <= set(names):
            return columns
    if len(config.languages) == 1 and ONLY_TEXT in names:
        return [ONLY_TEXT]
    lacks = f"no columns for {' and '.join(config.languages)}, neither of their own nor in translation"
    raise ValueError(f"the data set has {lacks}; it has {', '.join(names)}")


def load_dataset(dataset: str, configuration: str | None) -> Any:
    """All splits of a data set: from a local folder, from the hub or, if the hub can't be used, from the cache.

    Raises ConnectionError if neither the hub nor the cache can be used, ValueError if the data set can't be loaded.
    """
    local = local_folder(dataset)
    reason = "" if local else why_not_hub(dataset)
    import datasets

    try:
        with offline(datasets.config) if reason else nullcontext():
            return datasets.load_dataset(str(local or dataset), configuration)
    except Exception as error:  # the libraries below `datasets` raise errors of many types
        if reason:
            raise ConnectionError(reason) from error
        raise ValueError(f"{dataset} can't be loaded: {first_line(error)}") from error


def why_not_hub(dataset: str) -> str:
    """The reason why the hub can't be used for this data set, else empty; takes at most PROBE_SECONDS."""
    answers: list[str] = []
    # A daemon: a name look-up can't be interrupted, and must not keep the process from ending.
    thread = threading.Thread(target=lambda: answers.append(ask_hub(dataset)), daemon=True)
    thread.start()
    thread.join(PROBE_SECONDS)
    return answers[0] if answers else f"the hub didn't answer within {PROBE_SECONDS:g} seconds"


def ask_hub(dataset: str) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.constants import is_offline_mode

    if is_offline_mode():
        return "HF_HUB_OFFLINE is set"
    try:
        HfApi().dataset_info(dataset, timeout=PROBE_SECONDS)
    except Exception as error:  # of HTTP, TLS, sockets or the hub
        return f"the hub can't be used: {first_line(error)}"
    return ""


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


@contextmanager
def offline(settings: Any) -> Iterator[None]:
    """Let `datasets` read its cache only: otherwise it would try the unreachable hub again, for minutes."""
    before = settings.HF_HUB_OFFLINE
    settings.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        settings.HF_HUB_OFFLINE = before
