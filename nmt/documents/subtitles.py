"""Subtitles, SRT and WebVTT: the text of cues is translated; numbers, times, settings, notes and styles stay.

A sentence over several cues is one unit; its answer is split between words, by the lengths of the cues. An answer has
at most as many lines as its cue had. Lines that are too long to be read get a note.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, count, pairwise
from math import ceil

from nmt.documents.base import Document, Options, Slot, Unit, decode, splice, text_document
from nmt.documents.html import same_tags
from nmt.fields import require
from nmt.text.markup import is_markup
from nmt.text.scripts import STACKING, UNSPACED, is_combining
from nmt.text.sentences import MARKS, unwrapped

WIDTH = 42  # characters of a line that most guidelines for subtitles allow; longer lines of the source are allowed too
MOST_CUES = 4  # of a sentence
LONGEST_GAP = 1.5  # seconds between cues of a sentence
LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|\Z)")
TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
TIMES = re.compile(rf"\s*{TIME}[ \t]*-->[ \t]*{TIME}(?:\s|\Z)")
STAMP = re.compile(r"<(?:\d+:)?\d\d:\d\d\.\d{3}>")  # the time of a word, in WebVTT
CLASS = re.compile(r"(<[a-z]++)(\.)")  # of a tag, in WebVTT: <c.yellow> … </c>
OVERRIDE = re.compile(r"\{\\[^{}]{0,200}\}")  # of the position or style, in SRT
POSITION = re.compile(f"(?:{OVERRIDE.pattern})*")  # before the text
SPEAKER = re.compile(r"[ \t]*[-–—]")  # each line is somebody else's
SENTENCE_END = re.compile(rf"[{MARKS}:;♪)\]]['\"”’»“]*$")
WORDS = re.compile(r"(?:<[^<>]*>|[^\s<]|<)+")
NO_BLANKS = rf"{UNSPACED}\uff00-\uffef"  # between words
IS_UNSPACED = re.compile(f"[{NO_BLANKS}]")
# A tag; a word of a script with blanks; a syllable of Tibetan; or a character, with the vowel of Thai or Lao before it.
CHARACTER = re.compile(
    rf"<[^<>]*>|[^\s<{NO_BLANKS}]+ ?|[\u0f40-\u0fbc]++[\u0f0b-\u0f14]*+ ?|[\u0e40-\u0e44\u0ec0-\u0ec4]?. ?"
)
BOUND = f"ะาำๅๆฯະາຳຽໆຯៗ၊、，」』）{MARKS}"  # not at the beginning of a line


@dataclass(frozen=True)
class Part:
    """A cue, or what one of several speakers in a cue says."""

    start: int
    end: int
    text: str
    """Its lines in one."""
    n_lines: int
    width: int
    """Characters that its lines may have."""
    place: str
    begins: float = 0.0
    ends: float = 0.0
    whole: bool = True


def read(data: bytes, options: Options) -> Document:
    source = decode(data, options.encoding, options.source)
    is_vtt = source.text.startswith("WEBVTT")
    found = re.search(r"\r\n?|\n", source.text)
    notes = list[str]()
    writer = Writer(source.text, is_vtt, found[0] if found else "\n", notes)
    parts = [part for part in find_parts(source.text, is_vtt) if any(map(str.isalpha, part.text))]
    return text_document(source, [writer.slot(group) for group in sentences(parts)], notes=notes)


def find_parts(text: str, is_vtt: bool) -> Iterator[Part]:
    """The cues: lines after a line with times, up to a blank one; in SRT, lines after that belong to the same cue."""
    times: re.Match[str] | None = None
    lines: list[tuple[int, int, int]] = []
    for number, match in enumerate(LINE.finditer(text), 1):  # the last one is empty
        found = TIMES.match(match[1])
        if times and match[1].strip() and not found:
            lines.append((*match.span(1), number))
            continue
        if found and lines and text[slice(*lines[-1][:2])].strip().isdecimal():
            lines.pop()  # the number of this cue, without a blank line before it
        if times and lines:
            yield from make_parts(text, lines, seconds(times.groups()[:4]), seconds(times.groups()[4:]))
        times, lines = found or (None if is_vtt else times), []


def seconds(time: Sequence[str | None]) -> float:
    hours, minutes, whole, thousandths = (int(number or 0) for number in time)
    return hours * 3600 + minutes * 60 + whole + thousandths / 1000


def make_parts(text: str, lines: list[tuple[int, int, int]], begins: float, ends: float) -> Iterator[Part]:
    """The cue, or what each of its speakers says: from a line that begins with a dash up to the next one."""
    begin = [n for n, line in enumerate(lines) if n == 0 or SPEAKER.match(text, line[0])]
    for first, stop in pairwise([*begin, len(lines)]):
        group = lines[first:stop]
        match = POSITION.match(text, group[0][0])
        start, end = match.end() if match else group[0][0], group[-1][1]
        words = text[start:end].strip()
        start = text.index(words, start)
        width = max(WIDTH, *(len(visible(text[a:b])) for a, b, _ in group))
        joined, place = unwrapped(words), f"line {group[0][2]}"
        yield Part(start, start + len(words), joined, len(group), width, place, begins, ends, len(begin) == 1)


def sentences(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The cues of each sentence: several if only the last one ends a sentence, and none has mark-up."""
    n = 0
    while n < len(parts):
        size = 1
        while size < min(MOST_CUES, len(parts) - n) and goes_on(parts[n + size - 1], parts[n + size]):
            size += 1
        if size > 1 and not SENTENCE_END.search(parts[n + size - 1].text):
            size = 1
        yield list(parts[n : n + size])
        n += size


def goes_on(last: Part, following: Part) -> bool:
    """Whether a sentence may go on from a cue to the next one."""
    if re.search(r"[<&]|\{\\", f"{last.text} {following.text}"):
        return False
    is_near = -1e-6 <= following.begins - last.ends <= LONGEST_GAP and last.whole and following.whole
    return is_near and not SENTENCE_END.search(last.text) and not SPEAKER.match(following.text)


def visible(text: str) -> str:
    return html.unescape(re.sub(f"<[^<>]*>|{OVERRIDE.pattern}", "", text))


@dataclass(frozen=True)
class Writer:
    text: str
    """Of the file."""
    is_vtt: bool
    newline: str
    notes: list[str]

    def slot(self, parts: list[Part]) -> Slot:
        start, end, place = parts[0].start, parts[-1].end, parts[0].place
        text = unwrapped("\n".join(part.text for part in parts))
        pattern, numbers = STAMP if self.is_vtt else OVERRIDE, count(1)
        stamps, marked = pattern.findall(text), pattern.sub(lambda stamp: f"<{next(numbers)}/>", text)
        marked = CLASS.sub(r"\1 \2", marked)  # so that both tags have one name
        has_markup = ("<" in marked or "&" in marked) if self.is_vtt else "<" in marked and is_markup(marked, "auto")
        unit = Unit(marked if has_markup else text, has_markup, place)
        return Slot(start, end, unit, partial(self.write, parts, unit, stamps))

    def write(self, parts: list[Part], unit: Unit, stamps: list[str], answer: str) -> str:
        """The answer in the lines of its cues."""
        answer = " ".join(answer.split())
        if unit.markup:
            answer = same_tags(unit.text, answer)
            written = {f"<{n}/>": stamp for n, stamp in enumerate(stamps, 1)}
            answer = re.sub("<[0-9]{1,9}/>", lambda tag: written.get(tag[0], tag[0]), answer) if stamps else answer
            answer = re.sub(r"(<[a-z]+) (?=\.)", r"\1", answer)
        elif self.is_vtt:
            answer = html.escape(answer, quote=False)
        if self.is_vtt:
            answer = answer.replace("-->", "--&gt;")
        start, whole = parts[0].start, self.text[parts[0].start : parts[-1].end]
        shared = zip(parts, share(split(answer), [len(part.text) for part in parts]), strict=True)
        return splice(whole, [(part.start - start, part.end - start, self.wrap(part, words)) for part, words in shared])

    def wrap(self, part: Part, words: list[str]) -> str:
        lines = wrap(words, part.n_lines, part.width)
        require(not any(map(TIMES.match, lines)), "the translation would be read as a time")
        longest = max(len(visible(line)) for line in lines)
        if longest > part.width:
            self.notes.append(f"{part.place}: {longest} characters in a line of a subtitle; {part.width} can be read")
        return self.newline.join(lines)


def split(text: str) -> list[str]:
    """The words of a text, each with the blank after it; of scripts without blanks, the characters."""
    words = [f"{word} " for word in WORDS.findall(text)]
    if not IS_UNSPACED.search(text):
        return words
    characters = list[str]()
    for character in (found for word in words for found in CHARACTER.findall(word)):
        is_bound = is_combining(character[0]) or character[0] in BOUND or character.startswith("</")
        if characters and (is_bound or characters[-1][-1] in STACKING):
            characters[-1] += character
        else:
            characters.append(character)
    return characters


def share(words: Sequence[str], lengths: Sequence[int]) -> list[list[str]]:
    """The words for each of some cues or lines, by their lengths; each gets one at least. ValueError if there are too
    few."""
    few = f"the translation has fewer words than the sentence has subtitles: {len(words)}"
    require(len(words) >= len(lengths), few)
    sizes = [len(visible(word)) for word in words]
    total, wanted = sum(sizes), sum(lengths)
    shared, n, done = list[list[str]](), 0, 0
    for n_left, so_far in zip(range(len(lengths) - 1, 0, -1), accumulate(lengths), strict=False):
        first = n
        while n == first or (n < len(words) - n_left and done + sizes[n] / 2 <= total * so_far / wanted):
            done += sizes[n]
            n += 1
        shared.append([*words[first:n]])
    return [*shared, [*words[n:]]]


def wrap(words: Sequence[str], most: int, width: int) -> list[str]:
    """The words in as few lines of this width as needed, and at most so many, of nearly the same length."""
    lines, least = list[str](), ceil(sum(len(visible(word)) for word in words) / (width + 1))
    for n_lines in (least, least + 1, most):
        lines = ["".join(line).strip() for line in share(words, [1] * min(n_lines, most, len(words)))]
        if all(len(visible(line)) <= width for line in lines):
            break
    return lines
