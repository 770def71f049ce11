"""The site of the pages: built without a warning (of a broken link, say), whole, and readable without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
PAGES += [ROOT / "recipes" / "README.md", ROOT / "benchmarks" / "README.md"]
PUBLIC = ("translator.Translator.translate", "pipeline.pipeline", "language_model.LanguageModel.load")


@pytest.mark.slow
def test_the_site_has_all_pages_and_needs_no_network(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--conf-dir", "docs", ".", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = [path.relative_to(ROOT).with_suffix(".html") for path in PAGES]
    index = (tmp_path / "docs" / "README.html").read_text("utf8")
    for page in pages:
        assert (tmp_path / page).is_file()
        link = page.name if page.parent.name == "docs" else f"../{page}"
        assert f'href="{"#" if page.as_posix() == "docs/README.html" else link}"' in index, "not in the contents"
    start = re.search('url=([^"]+)"', (tmp_path / "index.html").read_text("utf8"))
    assert start
    assert (tmp_path / start[1]).is_file()
    for path in tmp_path.rglob("*.html"):
        for tag in re.findall("<(?:script|link|img|source|iframe)[^>]*>", path.read_text("utf8")):
            assert not re.search('(?:src|href)="(?:https?:)?//', tag), f"{path}: {tag}"
    for path in tmp_path.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", path.read_text("utf8")), path
    assert "translat" in (tmp_path / "searchindex.js").read_text("utf8")
    reference = (tmp_path / "docs" / "reference.html").read_text("utf8")
    assert all(f'id="nmt.translation.{name}"' in reference for name in PUBLIC)
