"""Settings of the site that `make docs` builds with Sphinx from the Markdown pages.

The repository is the source folder, so that links between pages, and to other files, are the same as on a code host.
"""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
INDEX = "docs/README"
sys.path.insert(0, str(ROOT))

project, author, html_title = "nmt", "The nmt developers", "nmt"
project_copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = INDEX
include_patterns = ["*.md", "docs/*.md", "docs/notes/*.md", "recipes/*.md", "benchmarks/*.md"]
exclude_patterns = ["**/.*", "build", "dist", "runs", "nmt", "tests"]  # they are not even looked through
myst_heading_anchors = 4  # links to headings are those of code hosts
highlight_language = "text"
default_role = "code"  # docstrings are written with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "exclude-members": "__new__"}
html_theme = "furo"  # it brings its fonts and scripts: nothing is fetched, and the search works from files
html_show_sourcelink = html_copy_source = html_show_copyright = False


def add_contents(_: Sphinx, name: str, source: list[str]) -> None:
    """Give the index the contents of the site: the pages that its sections link to, by section."""
    if name != INDEX:
        return
    for section in re.split("^## ", source[0], flags=re.MULTILINE)[1:]:
        pages = dict.fromkeys(re.findall(r"\]\(([^)#:]+)\.md\)", section))
        caption, entries = section.partition("\n")[0], "\n".join(pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"


def add_start(app: Sphinx, problem: Exception | None) -> None:
    """Write index.html, where browsers begin."""
    if not problem:
        page = f'<!doctype html><title>nmt</title><meta http-equiv="refresh" content="0; url={INDEX}.html">\n'
        (Path(app.outdir) / "index.html").write_text(page, "utf8")


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_start)
