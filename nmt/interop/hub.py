"""Models on the hub of Hugging Face: an id flows in; a folder with the files that a conversion needs flows out."""

import contextlib
import re
from pathlib import Path

from nmt.data.corpora.hub import first_line
from nmt.extras import package
from nmt.fields import require
from nmt.interop.foreign import PICKLED, SAFE, SETTINGS, weight_files

FILES = (*SETTINGS, "vocab.json", "target_vocab.json", "source.spm", "target.spm", "sentencepiece.bpe.model")
SHARDS = {SAFE: "model-*.safetensors", PICKLED: "pytorch_model-*.bin"}
SECONDS = 20.0  # longest wait for the first answer


def fetch(name: str, revision: str | None = None) -> tuple[Path, str]:
    """The folder of a model, and its origin for the card: a local folder or file as it is, or a download from the hub.

    What was downloaded before is not downloaded again, and a broken download goes on, at a multiple of 10 MB. Raises
    ValueError if there is no such model, ConnectionError if the hub can't be reached and the cache lacks the model.
    """
    if Path(name).exists():
        require(revision is None, f"--revision is for models on the hub, and {name} is on this machine")
        return Path(name), name
    is_id = re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", name) is not None
    require(is_id, f"{name}: there is no such folder, and an id on the hub has the form OWNER/NAME")
    package("huggingface_hub", "transformers")
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        info = HfApi().model_info(name, revision=revision, timeout=SECONDS)
        files = needed({sibling.rfilename for sibling in info.siblings or []})
        require(bool(files), f"{name} has no weights that can be read: neither {SAFE} nor {PICKLED}")
        folder = snapshot_download(name, revision=revision, allow_patterns=files)
    except ValueError:
        raise
    except RepositoryNotFoundError as error:
        raise ValueError(f"{name}: the hub has no such model, or it is not public") from error
    except HfHubHTTPError as error:
        raise ValueError(f"{name} can't be downloaded: {first_line(error)}") from error
    except Exception as error:  # of HTTP, TLS, sockets, or because HF_HUB_OFFLINE is set
        found = cached(name, revision)
        if found is None:
            reason = f"the hub can't be reached ({first_line(error)})"
            raise ConnectionError(f"{reason}, and {name} was not downloaded before") from error
        folder = found
    return Path(folder), f"{name} (commit {Path(folder).name})"


def cached(name: str, revision: str | None) -> str | None:
    """The folder of a model that was downloaded before, with weights in one of their forms; None if there is none."""
    from huggingface_hub import snapshot_download

    for form, shards in SHARDS.items():
        files = [*FILES, form, f"{form}.index.json", shards]
        with contextlib.suppress(OSError, ValueError):  # it is not there, or not whole
            folder = snapshot_download(name, revision=revision, local_files_only=True, allow_patterns=files)
            weight_files(Path(folder))
            return folder
    return None


def needed(names: set[str]) -> list[str]:
    """The files to download: the weights in one form only, safetensors if there are; empty if there are no weights."""
    for form, shards in SHARDS.items():
        if names & {form, f"{form}.index.json"}:
            return [*FILES, form] if form in names else [*FILES, f"{form}.index.json", shards]
    return []
