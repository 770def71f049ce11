"""Text that is written piece by piece: pieces flow in; whole characters flow out as soon as they are certain."""

from collections.abc import Sequence

from nmt.data.tokenizer import Tokenizer
from nmt.vocabulary import SPACE


class GrowingText:
    """A text that ends before the first of its stop strings that is complete.

    All that `add` and `finish` return, joined, is what `Tokenizer.decode_target` gives for all pieces, up to the stop
    string. Byte pieces wait until they are a whole character, and text that may begin a stop string waits for the rest.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = (), *, at_start: bool = True) -> None:
        """`at_start`: False if the text continues another one: a blank at its beginning stays."""
        self.tokenizer, self.stop, self.at_start = tokenizer, stop, at_start
        self.stopped = False
        self.bytes = list[int]()
        self.held = ""

    def add(self, piece: int) -> str:
        """Add a piece; return the text that is certain now."""
        if self.tokenizer.target.is_byte(piece):
            self.bytes.append(piece)
            # In bytes that are not yet, or not at all, UTF-8, decoding puts U+FFFD.
            whole = "\ufffd" not in self.tokenizer.decode_target([self.bytes])[0]
            return self.release(self.take_bytes() if whole else "")
        text = self.tokenizer.target_pieces([piece])[0].replace(SPACE, " ")
        before = self.take_bytes()
        return self.release(before + (text.lstrip(" ") if self.at_start and not before else text))

    def finish(self) -> str:
        """Return the rest of the text, after the last piece."""
        text = self.release(self.take_bytes())
        return text if self.stopped else text + self.held

    def take_bytes(self) -> str:
        text = self.tokenizer.decode_target([self.bytes])[0]
        self.bytes = []
        return text

    def release(self, text: str) -> str:
        """Return what can be shown when this text is added: no part of a stop string."""
        self.at_start = self.at_start and not text
        if self.stopped:
            return ""
        self.held += text
        starts = [(self.held.find(stop), stop) for stop in self.stop]
        found = [(start + len(stop), start) for start, stop in starts if start >= 0]
        self.stopped = bool(found)
        begun = (n for stop in self.stop for n in range(1, len(stop)) if self.held.endswith(stop[:n]))
        end = min(found)[1] if found else len(self.held) - max(begun, default=0)
        shown, self.held = self.held[:end], self.held[end:]
        return shown
