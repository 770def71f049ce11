"""`make release`: the last commit flows in; a checked wheel, an sdist and what they bring flow out, in dist/.

`make lock` writes the versions of the packages of the container image, docs/serving/requirements.txt.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent
OF_CONTAINER = ".[serve,documents,langid]"
NEEDED = {"Name", "Version", "Summary", "Author", "License-Expression", "Requires-Python", "Description-Content-Type"}


def run(*words: str, folder: Path = ROOT) -> str:
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def build(what: str, source: Path, out: Path) -> Path:
    """Build the sdist or the wheel of a folder with setuptools; the file."""
    code = f"import setuptools.build_meta as b; print(b.build_{what}({str(out)!r}))"
    return out / run(sys.executable, "-c", code, folder=source).splitlines()[-1]


def notes(version: str) -> str:
    """What the changelog says of a version. It stops if there is nothing, or no date."""
    text = (ROOT / "CHANGELOG.md").read_text("utf8")
    found = re.search(rf"^## \[{re.escape(version)}\] [-–] \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1].strip() if found else sys.exit(f"CHANGELOG.md has no section '## [{version}] - DATE'")


def check(wheel: Path, version: str) -> None:
    """Stop if the wheel lacks what the package index shows or what an installed nmt reads."""
    with ZipFile(wheel) as file:
        names = set(file.namelist())
        [metadata] = [message_from_bytes(file.read(name)) for name in names if name.endswith(".dist-info/METADATA")]
    lacking = [*(NEEDED - set(metadata.keys())), *({"nmt/py.typed", "nmt/recipes/multi30k.yaml"} - names)]
    sys.exit(f"{wheel.name} lacks {', '.join(lacking)}") if lacking or metadata["Version"] != version else None


def release() -> None:
    sys.exit("There are changes that are not committed") if run("git", "status", "--porcelain").strip() else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("git", "archive", "--output", str(folder / "commit.tar"), "HEAD")
        with tarfile.open(folder / "commit.tar") as commit:
            commit.extractall(folder / "commit", filter="data")
        with tarfile.open(sdist := build("sdist", folder / "commit", folder)) as file:
            file.extractall(folder / "sdist", filter="data")
        wheel = build("wheel", next((folder / "sdist").iterdir()), folder)
        version = wheel.name.split("-")[1]
        text = f"# nmt {version}\n\n{notes(version)}\n\n## Files\n\n"
        check(wheel, version)
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        (ROOT / "dist").mkdir()
        for path in (sdist, wheel):
            content = path.read_bytes()
            text += f"- `{path.name}`, {len(content) / 1e6:.1f} MB, SHA-256 `{hashlib.sha256(content).hexdigest()}`\n"
            shutil.move(path, ROOT / "dist")
    (ROOT / "dist" / "RELEASE.md").write_text(f"{text}\nCommit {run('git', 'rev-parse', 'HEAD')}", "utf8")
    print(f"dist/ has the release {version}; to publish it: git tag v{version}, then upload the wheel and the sdist")


def lock() -> None:
    """Ask pip which versions it would install into an empty environment."""
    pip = (sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-")
    found = (item["metadata"] for item in json.loads(run(*pip, OF_CONTAINER))["install"])
    lines = sorted(f"{about['name']}=={about['version'].partition('+')[0]}" for about in found)
    lines = [line for line in lines if not line.startswith(("bitext-nmt", "nvidia", "cuda", "triton"))]
    head = "# Made by `make lock`: the packages of the container image (Dockerfile).\n"
    (ROOT / "docs" / "serving" / "requirements.txt").write_text(head + "".join(f"{line}\n" for line in lines), "utf8")


if __name__ == "__main__":
    lock() if sys.argv[1:] == ["lock"] else release()
