"""Small files of each format, and translators for tests; every format's tests run over all of them."""

from collections.abc import Callable, Sequence

from nmt.documents.base import Answer, Options, Unit

IDENTITY: Callable[[Sequence[Unit]], list[Answer]] = lambda units: [Answer(unit.text) for unit in units]  # noqa: E731

# Format, a name, the bytes of a file; TEXTS says what its units are.
SAMPLES: dict[tuple[str, str], bytes] = {
    ("txt", "lines"): "\ufeffGuten Morgen!\r\n\r\n  Der Hund läuft.\t\nEnde".encode(),
    ("txt", "utf-16"): "\ufeffEins\r\nZwei\n".encode("utf-16-le"),
    ("txt", "empty"): b"",
}
TEXTS: dict[tuple[str, str], list[str]] = {
    ("txt", "lines"): ["Guten Morgen!", "Der Hund läuft.", "Ende"],
    ("txt", "utf-16"): ["Eins", "Zwei"],
    ("txt", "empty"): [],
}
OPTIONS: dict[str, Options] = {}
