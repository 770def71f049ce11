"""The parts of docs/how_it_works.py flow in; its page's blocks of code and output are written anew.

.venv/bin/python .ci/lesson.py       # runs the program whole: some minutes
"""

import contextlib
import io
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PROGRAM, PAGE = DOCS / "how_it_works.py", DOCS / "how-it-works.md"


def parts(program: str) -> list[str]:
    """The code of each part, which begins with `# %%`."""
    return [part.strip() for part in re.split("^# %% .*\n", program, flags=re.MULTILINE)[1:]]


def outputs(codes: list[str]) -> list[str]:
    """What each part prints, when they run one after another."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed = []
    for code in codes:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, str(PROGRAM), "exec"), names)
        printed.append(out.getvalue().rstrip())
        print(printed[-1])
    return printed


def fill(page: str, codes: list[str], printed: list[str]) -> str:
    """The page with these blocks of code, and of output for each part that prints something."""
    blocks = {"python": iter(codes), "text": (block for block in printed if block)}
    return re.sub(
        "^```(python|text)\n.*?^```$",
        lambda found: f"```{found[1]}\n{next(blocks[found[1]])}\n```",
        page,
        flags=re.MULTILINE | re.DOTALL,
    )


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    codes = parts(PROGRAM.read_text("utf8"))
    PAGE.write_text(fill(PAGE.read_text("utf8"), codes, outputs(codes)), "utf8")
