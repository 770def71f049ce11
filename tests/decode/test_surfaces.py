"""Characters read byte by byte are those that Python decodes."""

import pytest

from nmt.decode.surfaces import FINISHED, LETTER, OTHER, read_byte
from nmt.text.scripts import is_letter


def read_bytes(text: bytes) -> bytes | None:
    """What the reader knows of the last character; None if the text is refused."""
    char: bytes | None = OTHER
    for byte in text:
        char = None if char is None else read_byte(char, byte)
    return char


def test_a_character_read_byte_by_byte_is_what_it_is_as_a_whole() -> None:
    for code in (*range(0x21, 0x3100), *range(0xAC00, 0xD800, 99), *range(0xE000, 0x110000, 199), 0xFE0F, 0xE0100):
        assert read_bytes(chr(code).encode()) == (LETTER if is_letter(chr(code)) else OTHER), hex(code)


@pytest.mark.parametrize(
    "first",
    [
        *(bytes([lead]) for lead in range(0xC0, 0x100)),
        *map(bytes.fromhex, ("", "e0a0", "ed9f", "f090", "f180", "f48f", "f09080", "f48fbf")),
    ],
)
def test_the_bytes_that_no_character_has_are_refused(first: bytes) -> None:
    if read_bytes(first) is None:
        return
    for byte in range(256):
        text, char = bytes([*first, byte]), read_bytes(bytes([*first, byte]))
        try:
            text.decode()
            assert char in FINISHED
        except UnicodeDecodeError as error:
            unfinished = error.reason == "unexpected end of data" and error.start == 0
            assert (char is not None) == unfinished
            assert char not in FINISHED
