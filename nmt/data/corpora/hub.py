"""Readers of data sets: from the Hugging Face hub, from its cache if the hub is not reachable, or from a folder."""

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from nmt.config import DataConfig
from nmt.data.corpora.corpus import VAL_NAMES, Corpus, Split, assemble, require_german_and_english
from nmt.data.corpora.tables import read_tables
from nmt.extras import package
from nmt.fields import require

MULTI30K = "bentrevett/multi30k"
HUB = "hub:"  # what the names of data sets begin with
UNTOLD = "An error occurred while generating the dataset"  # how `datasets` begins, also where a file is damaged
PROBE_SECONDS = 10.0  # longest wait for the hub: with the imports before and after it, `auto` takes 15 seconds at most


class Place(NamedTuple):
    """What data.corpus says of a data set of the hub."""

    dataset: str
    revision: str = ""
    """A branch, tag or commit; empty for the newest commit of the main branch."""
    configuration: str = ""

    def __str__(self) -> str:
        return f"{self.dataset}@{self.revision}" if self.revision else self.dataset


class Answer(NamedTuple):
    """What the hub says of a data set."""

    commit: str = ""
    """The commit that its revision is; empty if the hub doesn't tell."""
    unreachable: str = ""
    """The reason why the hub can't be used; empty if it can."""
    lacks_revision: bool = False


def read_multi30k(config: DataConfig) -> Corpus:
    """Read Multi30k. Raises the errors of `load_dataset`, and ValueError for other languages."""
    require_german_and_english(config)
    return read_place(Place(MULTI30K), config, "multi30k", test="test_2016_flickr")


def read_hub(config: DataConfig) -> Corpus:
    """Read the data set that `config.corpus` names. Raises the errors of `load_dataset`."""
    return read_place(parse_hub(config), config, hub_name(config), test="test")


def read_place(place: Place, config: DataConfig, name: str, test: str) -> Corpus:
    """The corpus of a data set's rows by split; its split test gets the name `test`."""
    rows, commit = load_dataset(place)
    require("train" in rows, f"{name} has no split named train; it has {', '.join(rows)}")
    val = [key for key in VAL_NAMES if key in rows]
    names = {"test": test} | {key: "val" if key == val[0] else f"val-{key}" for key in val}
    splits = dict[str, Split]()
    for key in rows:
        if key in ("train", *val) or key.startswith("test"):
            split = splits[names.get(key, key)] = Split(config, training=key == "train")
            read_tables(tables(rows[key]), split, "the data set")
    return replace(assemble(name, splits), commits={str(place): commit} if commit else {})


def parse_hub(config: DataConfig) -> Place:
    """The parts of hub:NAME[@REVISION][:CONFIGURATION]; missing ones are empty."""
    named, _, configuration = config.corpus.removeprefix(HUB).partition(":")
    dataset, mark, revision = (named, "", "") if local_folder(named) else named.partition("@")
    problem = f"the corpus {config.corpus!r} lacks"
    require(dataset != "", f"{problem} the data set's name, as in hub:wmt/wmt14:de-en")
    require(bool(revision or not mark), f"{problem} a revision after @, which is a branch, a tag or a commit")
    local = f"the corpus {config.corpus!r}: {dataset} is a local folder, which has no revisions"
    require(not (revision and local_folder(dataset)), f"{local}: leave @{revision} out")
    return Place(dataset, revision, configuration)


def hub_name(config: DataConfig) -> str:
    """The name of the corpus: the data set's, and the configuration unless that only names the two languages."""
    place = parse_hub(config)
    plain = ("", f"{config.source}-{config.target}", f"{config.target}-{config.source}")
    return Path(place.dataset).resolve().name + ("" if place.configuration in plain else f"-{place.configuration}")


def local_folder(dataset: str) -> Path | None:
    """The local folder of a data set; None if the name is not that of a local folder."""
    folder = Path(dataset).expanduser()
    return folder if dataset and folder.exists() else None


def tables(rows: Any) -> Iterator[Any]:
    try:
        for table in rows.with_format("arrow").iter(batch_size=10_000):
            yield table.flatten()
    except Exception as error:  # of the network, or of any reader below `datasets`
        raise ValueError(f"the data set can't be read: {first_line(error)}") from error


def load_dataset(place: Place) -> tuple[Any, str]:
    """All splits of a data set: from a local folder, the hub or, if that can't be used, the cache; and their commit,
    if it is known. ConnectionError if neither can be used, ValueError if the data set can't be loaded."""
    datasets = package("datasets", "hub")
    local = local_folder(place.dataset)
    answer = Answer() if local else within_time(place)
    unknown = f"the data set {place.dataset} has no revision {place.revision!r}"
    require(not answer.lacks_revision, f"{unknown}: name a branch, a tag or a commit that the hub shows for it")
    # Without a revision none is named, since `datasets` takes the types of columns from the hub only then.
    revision = (answer.commit or place.revision) if place.revision else None
    was_offline = datasets.config.HF_HUB_OFFLINE
    # If the hub is unreachable, only the cache is read: `datasets` would try the hub again, for minutes.
    datasets.config.HF_HUB_OFFLINE = was_offline or answer.unreachable != ""
    try:
        name = str(local or place.dataset)
        rows = datasets.load_dataset(name, place.configuration or None, revision=revision)
    except Exception as error:  # the libraries below `datasets` raise errors of many types
        if answer.unreachable:
            raise ConnectionError(answer.unreachable) from error
        raise ValueError(f"{place} can't be loaded: {first_line(error)}") from error
    finally:
        datasets.config.HF_HUB_OFFLINE = was_offline
    # A commit names the folder of a copy.
    folders = (Path(file["filename"]).parent.name for split in rows.values() for file in split.cache_files)
    commit = next((name for name in folders if re.fullmatch("[0-9a-f]{40}", name)), answer.commit)
    if answer.unreachable and not commit.startswith(place.revision):  # the cache knows no branches and tags
        copy = f"the copy in the cache is of commit {commit}" if commit else "the commit of the copy isn't known"
        raise ConnectionError(f"{answer.unreachable}, and {copy}, which may not be {place.revision}")
    return rows, commit


def within_time(place: Place) -> Answer:
    """What the hub says of a data set, in at most PROBE_SECONDS."""
    answers: list[Answer] = []
    # A daemon: a name look-up can't be interrupted, and must not keep the process from ending.
    thread = threading.Thread(target=lambda: answers.append(ask_hub(place)), daemon=True)
    thread.start()
    thread.join(PROBE_SECONDS)
    return answers[0] if answers else Answer(unreachable=f"the hub didn't answer within {PROBE_SECONDS:g} seconds")


def ask_hub(place: Place) -> Answer:
    from huggingface_hub import HfApi
    from huggingface_hub.constants import is_offline_mode
    from huggingface_hub.errors import RevisionNotFoundError

    if is_offline_mode():
        return Answer(unreachable="HF_HUB_OFFLINE is set")
    try:
        info = HfApi().dataset_info(place.dataset, revision=place.revision or None, timeout=PROBE_SECONDS)
    except RevisionNotFoundError:
        return Answer(lacks_revision=True)
    except Exception as error:  # of HTTP, TLS, sockets or the hub
        return Answer(unreachable=f"the hub can't be used: {first_line(error)}")
    return Answer(info.sha or "")


def first_line(error: BaseException) -> str:
    """What an error says first; of an error that says nothing, what its cause says."""
    message = str(error).removeprefix(UNTOLD).strip()
    if error.__cause__ and not message:
        return first_line(error.__cause__)
    return (message.splitlines() or [type(error).__name__])[0].rstrip(".")
