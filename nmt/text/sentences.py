"""Sentences: a text flows in, its sentences and the blanks after them flow out. The language need not be known.

A wrong cut, inside a sentence, spoils a translation; a missed cut often does no harm. So a text is cut only where a
sentence surely ends: after a mark of MARKS or OWN_MARKS, with closing quotes and brackets after it, and only if

- a blank follows, or the mark is one that needs none (`。！？`), or it is `!` or `?` between East Asian characters, or
  the blank was forgotten: "Es ist kalt.Das Haus steht leer.";
- the next word doesn't begin with a small letter, except in a text without capitals, after `!`, `?` or a long word;
- a full stop doesn't follow an abbreviation, an initial, an ordinal or a Roman numeral: "am 3. Mai", "J. S. Bach";
- the end isn't inside brackets or quotes that were opened in the middle of a sentence, other than direct speech;
- an ellipsis touches the word before it: "Well... Perhaps", but not "It is ... Madness!".

Libraries that are told the language (sentencex, pysbd, sentence-splitter) make 16 to 25 wrong cuts in 109 lines of nine
languages in tests/text/test_sentences.py, for which these rules were written; this file makes none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nmt.text.normalise import SOUTH_EAST_ASIAN
from nmt.text.scripts import HAN_AND_KANA, ONE_CASE

CJK = rf"{HAN_AND_KANA}\uff00-\uff9f"  # with full-width punctuation; without Hangul: Korean puts blanks after sentences
MARKS, UNSPACED_MARKS = ".!?…。！？｡．؟۔।॥։።፧។။߹᙮᠃᱾꯫៕", "。！？｡．।॥។။៕"
# The question mark of Greek looks like a semicolon; many write the full stops of Armenian and Amharic with colons.
OWN_MARKS = "(?<=[\u0370-\u03ff\u1f00-\u1fff]);|(?<=[\u0531-\u0587]):|(?<=[\u1200-\u135f])(?:፡፡|::)"
PICTURES = r"\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d"  # emoji belong to the sentence before them
QUOTES = {"„": "“”", "“": "”", "«": "»", "»": "«", '"': '"', "「": "」", "『": "』"}
BRACKETS = {"(": ")", "[": "]", "（": "）", "【": "】", "《": "》"}
CLOSERS = f"\"'”’“»›«)\\]」』）】》{PICTURES}"

# No pattern begins again inside a run of what it repeats, so that searching takes linear time.
END_MARKS = rf"(?=[{MARKS};:፡])(?<![{MARKS}])(?:[{MARKS}]++|{OWN_MARKS})"
END = rf"({END_MARKS})((?:[{CLOSERS}]|\s[»{PICTURES}])*+)(\s*+)(?=[^\s{MARKS}])"
CANDIDATE = re.compile(END)
MARK_INSIDE = re.compile(f"[{MARKS};:፡؛፤；—–-]")  # before the last character, where a sentence or clause may end
TOKEN = re.compile(rf"{END}|[{re.escape(''.join([*QUOTES, *QUOTES.values(), *BRACKETS, *BRACKETS.values()]))}]")
MARKED = re.compile(rf"{END_MARKS}(?:(?=[\s{CLOSERS}]|\Z)|(?<=[{UNSPACED_MARKS}]))")
BEFORE_WORD = re.compile(r"[\"'„“‚‘«»‹›(\[「『（【《¿¡–—*-]*+\s?")
IS_CJK = re.compile(f"[{CJK}]")
IS_UNCASED_SYLLABLE = re.compile(rf"[{CJK}\uac00-\ud7a3]")
# What stands before a full stop that ends no sentence.
LAST_WORD = re.compile(rf"[^\s\"„“‚‘«»(\[/{UNSPACED_MARKS}]*\Z")
PARTS = re.compile("['’-]")
ORDINAL = re.compile(r"\d{1,3}|\d{1,2}\.\d{1,2}|\d+000|[IVX]+")
INITIALS = re.compile(r"[^\W\d_]|(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}")
CONSONANTS = re.compile(r"(?=..)[B-DF-HJ-NP-TV-XZ]?[b-df-hj-np-tv-xz]{1,4}|.*str|([A-Z])\1|[бвгджзклмнпрстфхцчшщ]{2,4}")
UNIT = re.compile(r"\d\s?(?:[ckdm]?[mlg]|[kKMGT]B|k?W)\Z")  # ends no abbreviation: "Noch 5 km. Dann sind wir da."
# Where a blank was forgotten: another word stands before and after the two words, unlike in most names with a stop.
BEFORE_TOUCHING = re.compile(r"\w\S*\s[\"'„“‚‘«»‹›(\[]*[^\W\d_]{2,}\Z")
AFTER_TOUCHING = re.compile(r"([^\W\d_]{2,24}),?\s+\w")
FILES = frozenset(
    ("com", "de", "doc", "docx", "htm", "html", "info", "jpg", "net", "org", "pdf", "png", "txt", "xlsx", "zip")
)
CLAUSE_MARK, DASH = re.compile(r"[;؛፤]\s|；|\s[—–-]\s"), re.compile(r"\s[—–-]\s")
CLAUSE_WORDS = 3  # fewest words of a clause
# "Anna: ", "Anna : " or "安娜：" before a text, after marks or not; Han or kana may be a clause if more than six.
LABEL = re.compile(
    rf"[\W\d_]*+(?![{HAN_AND_KANA}]{{7}})([^\W\d_][^\s:：_\d()<>{{}}\[\]=/.\\\"*%&|]{{0,19}})"
    r"(\s?: (?=[\"„“«({<%$]?[^\W\d_])|： ?(?=[^\W\d_]))"
)
SECTION = re.compile(r"(\d{1,3}\.\d{1,3})( )(?=[^\W\d_])")  # "5.2 ", which may be a decimal too
COLON = re.compile("[:：፦៖᠄]")
UNSPACED = re.compile(f"[{CJK}{SOUTH_EAST_ASIAN}]")
USES_NO_STOP = re.compile(f"[{SOUTH_EAST_ASIAN}]")  # there, a full stop marks an abbreviation
BLANKS, NEAR = re.compile(r"[ \t\r\n]+"), 9  # characters beside a line break that say whether a blank stands for it
PUNCTUATION = "\"'“”‘’«»„()[].,!?:;…–—-"  # of many scripts: does not tell whether a text has blanks after its sentences
LONGEST_WORD, LONG_WORD = 24, 5  # letters that are looked at; letters of a word that is no abbreviation

# Those in small letters are in any case. Words without vowels ("Mr", "Nr", "vgl") are abbreviations without being
# listed. Left out: what is followed by a capital mostly if it ends a sentence ("etc."), or is a word in some language.
ABBREVIATED = """
    abb abs abschn allg anm aufl ausg bes betr ca dipl ebd ehem eigtl einschl entspr erstausg evtl exkl frz geb gegr
    gesch gest ggf inh inkl jhd kap mio näml od österr prof rd röm sog str tägl teilw univ ursprgl verh verm wiss zus
    Fa Fam Hr Fr Ing Mag Min Nr Red
    approx assn ave bros comdr dept esp fig figs lieut messrs sr jr viz vols
    Capt Co Col Corp Gen Gov Hon Inc Ltd Maj Op Pres Rep Rev Sen Supt
    al av ave chap éd env ex mlle mme
    apod cca čes inž judr kpt mgr mudr např násl nám obr odst okr phdr popř příp resp rndr stol tis tř tzn tzv ul úř
    dott sig sigg sra srta dña lic pág exmo mevr bijv godz św
    акад англ доп доц ед изд им инж лат напр нем обл пер пос просп проф рис руб тел тыс ул чел экз
    doç yrd alh tp pgs ths δρ αγ св פרופ
    डॉ प्रा प्रो श्री कि मी रु श्रीमती पं सं के पी सी डी बी टी वी जे एल एम एन एस आर एफ मो মো ডা ড মোঃ எம் ஜி கே எஸ் ஆர் எல் என் هـ
"""
ABBREVIATED_BEFORE_NUMBERS = """
    art cap item jan feb mar mär apr jun jul aug sep sept oct okt nov dec dez max min no pos tab vol
"""
ABBREVIATIONS, BEFORE_NUMBERS = frozenset(ABBREVIATED.split()), frozenset(ABBREVIATED_BEFORE_NUMBERS.split())


@dataclass(frozen=True)
class Enclosure:
    """Quotes or brackets around a part of the text."""

    closers: str
    place: str
    """start (of a sentence), speech (after a colon or comma) or amid (a sentence)."""


def split_sentences(text: str) -> list[tuple[str, str]]:
    """The sentences of a text, each with the blanks after it: joined, they are the text. Takes linear time."""
    cuts = list(sentence_ends(text)) if CANDIDATE.search(text) else []
    starts, ends = [0, *(start for _, start in cuts)], [*(end for end, _ in cuts), len(text)]
    places = zip(starts, ends, [*starts[1:], len(text)], strict=True)
    return [(text[start:end], text[end:after]) for start, end, after in places]


def split_clauses(text: str) -> list[tuple[str, str]]:
    """As `split_sentences`, and sentences are also cut at a semicolon, or at a lone dash before a capital letter, if at
    least CLAUSE_WORDS words stand on both sides: there a full sentence may end. The mark goes with the blanks."""
    if not MARK_INSIDE.search(text, 0, len(text) - 1):  # as most sentences
        return [(text, "")]
    parts = list[tuple[str, str]]()
    for sentence, blank in split_sentences(text):
        between, lone = CLAUSE_MARK.split(sentence), len(DASH.findall(sentence)) == 1
        start = n_before = 0
        for match, before, following in zip(CLAUSE_MARK.finditer(sentence), between, between[1:], strict=False):
            n_before += n_words(before)
            is_mark = match[0][0] in ";؛፤；" or (lone and following[:1].isupper())
            if is_mark and min(n_before, n_words(following)) >= CLAUSE_WORDS:
                parts.append((sentence[start : match.start()], match[0]))
                start, n_before = match.end(), 0
        parts.append((sentence[start:], blank))
    return parts


def find_label(text: str) -> re.Match[str] | None:
    """The word before a colon with which a text begins, after marks or not, or its number of a section, and what stands
    after it."""
    return SECTION.match(text) or LABEL.match(text)


def n_words(text: str) -> int:
    """The number of words that begin with a letter, after quotes and brackets."""
    return sum(word.strip(PUNCTUATION)[:1].isalpha() for word in text.split())


def sentence_ends(text: str) -> Iterator[tuple[int, int]]:
    """The end of each sentence but the last, and the start of the next one."""
    last = {closer: text.rfind(closer) for closer in "".join([*QUOTES.values(), *BRACKETS.values()])}
    has_capitals = text != text.lower()
    start, enclosure = 0, None
    for match in TOKEN.finditer(text):
        if match[1] is None:
            closers = QUOTES.get(match[0]) or BRACKETS.get(match[0], "")
            if enclosure and match[0] in enclosure.closers:
                enclosure = None
            elif not enclosure and any(last[closer] > match.start() for closer in closers):
                enclosure = Enclosure(closers, place(text[max(start, match.start() - 2) : match.start()].strip()[-1:]))
            continue
        closed = enclosure if enclosure and any(closer in match[2] for closer in enclosure.closers) else None
        enclosure = None if closed else enclosure
        if not continues(text, match, enclosure, closed) and is_end(text, match, has_capitals):
            start = match.end()
            yield match.end(2), start


def place(before: str) -> str:
    """Where an enclosure stands that is opened after this character."""
    if before in "–—-" or before in QUOTES:  # or empty
        return "start"
    return "speech" if before in ":,：，、" else "amid"


def continues(text: str, match: re.Match[str], around: Enclosure | None, closed: Enclosure | None) -> bool:
    """Whether the sentence goes on after the end of one inside quotes or brackets; `closed`: those that end here."""
    if closed is None:
        return around is not None and around.place == "amid"
    if closed.closers in BRACKETS.values():
        return closed.place == "amid"
    return closed.place == "start" and match[1][-1] in "!?" and text[match.end()] not in QUOTES  # "Stop!" Peter cried.


def is_end(text: str, match: re.Match[str], has_capitals: bool) -> bool:
    """Whether a sentence ends at these marks, as far as the characters around them tell."""
    marks, closers, blank = match.groups()
    following = text[match.end()]
    if not blank:
        between = IS_CJK.match(text, match.start() - 1) and IS_CJK.match(following) if match.start() else None
        if not (set(marks) & set(UNSPACED_MARKS) or (set(marks) & set("!?") and between)):
            return not closers and touches(text, match)
        return following in QUOTES if closers else not (marks == "．" and following.isdigit())
    opening = BEFORE_WORD.match(text, match.end())
    following = text[opening.end() : opening.end() + 1] if opening else ""
    if not (following.isalnum() or following == "{") or (is_small(following) and has_capitals):
        return False
    if marks.strip(".…．"):
        return True
    if len(marks) > 1 or marks == "…":
        return match.start() > 0 and not text[match.start() - 1].isspace() and not is_small(following)
    return ends_at_stop(text[max(0, match.start() - LONGEST_WORD) : match.start()], following)


def is_small(character: str) -> bool:
    """Whether a character is a small letter of a script with capitals: Georgian hardly uses its own."""
    return character.islower() and not ONE_CASE.match(character)


def touches(text: str, match: re.Match[str]) -> bool:
    """Whether a blank was forgotten after these marks: a sentence in small letters ends, and a capital follows."""
    before = text[max(0, match.start() - 2 * LONGEST_WORD) : match.start()]
    after = AFTER_TOUCHING.match(text, match.end())
    if len(match[1]) > 1 or match[1] not in ".!?" or not after or not BEFORE_TOUCHING.search(before):
        return False
    word = after[1]
    is_name = not word[0].isupper() or not word[1:].islower() or word.lower() in FILES
    return not is_name and (match[1] != "." or ends_at_stop(before[-LONGEST_WORD:], word[0]))


def ends_at_stop(before: str, following: str) -> bool:
    """Whether a sentence ends at a full stop, given the text before it and the first character of the next word."""
    if USES_NO_STOP.match(before[-1:]):
        return False
    found = LAST_WORD.search(before)
    word = found[0].strip("'”’“»)]}") if found else ""
    part = PARTS.split(word)[-1]
    is_abbreviation = not ABBREVIATIONS.isdisjoint((part, part.lower())) or CONSONANTS.fullmatch(part)
    is_initial = INITIALS.fullmatch(word) and not IS_UNCASED_SYLLABLE.match(word)
    if ORDINAL.fullmatch(part) or ((is_abbreviation or is_initial) and not UNIT.search(before)):
        return False
    is_unsure = following.isdigit() or is_small(following)
    return not is_unsure or (len(word) >= LONG_WORD and word.lower() not in BEFORE_NUMBERS)


def possible_ends(text: str) -> set[int]:
    """Where a sentence may end, less certainly than where `split_sentences` cuts: also before a small letter, say."""
    return {
        match.end(2)
        for match in CANDIDATE.finditer(text)
        if (match[3] or set(match[1]) & set(UNSPACED_MARKS))
        and (match[1] != "." or ends_at_stop(text[max(0, match.start() - LONGEST_WORD) : match.start()], "A"))
    }


def count_ends(text: str) -> int:
    """The most sentences that a text may have: each mark before a blank ends one, and so does the end of the text."""
    marks = [match.end() for match in MARKED.finditer(text)]
    return len(marks) + any(map(str.isalnum, text[marks[-1] if marks else 0 :]))


def unwrapped(text: str) -> str:
    """The text on one line, with a blank for each run of blanks; none for a line break in Chinese or Japanese."""

    def blank(run: re.Match[str]) -> str:
        around = text[max(0, run.start() - NEAR) : run.start()], text[run.end() : run.end() + NEAR]
        return joint(*around, " ", amid=False) if {*"\r\n"} & {*run[0]} else " "

    return BLANKS.sub(blank, text)


def joint(left: str, right: str, blank: str, *, amid: bool) -> str:
    """What goes between the translations of two parts of a text that this blank separates.

    Chinese and Japanese have no spaces between sentences; nor have scripts without spaces amid a sentence (`amid`). A
    mark between two clauses is left out if the first translation ends with one.
    """
    blank = " " if blank.strip() and left[-1:] in f"{MARKS},;:，；：、" else blank
    last, first = left.rstrip(PUNCTUATION)[-1:], right.lstrip(PUNCTUATION)[:1]
    is_cjk = IS_CJK.match(last) and (IS_CJK.match(first) or not last.isalnum())
    if is_cjk or (amid and UNSPACED.match(last) and UNSPACED.match(first)):
        return "\u3000" * blank.count("\u3000")
    return blank.replace("\u3000", " ") or " "
