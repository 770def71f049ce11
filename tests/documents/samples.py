"""Small files of each format with their texts; how tests read and translate files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nmt.documents.base import Answer, Document, Options, Unit, read_document
from tests.documents import office_samples


def identity(units: Sequence[Unit]) -> list[Answer]:
    return [Answer(unit.text) for unit in units]


def read(file: str | bytes, form: str, **options: Any) -> Document:
    return read_document(file.encode() if isinstance(file, str) else file, form, Options(**options))


def texts(document: Document) -> list[str]:
    return [unit.text for unit in document.units]


def translated(file: str | bytes, form: str, *answers: str, **options: Any) -> tuple[list[str], str]:
    """The texts of a file, and the file with these answers."""
    document = read(file, form, **options)
    return texts(document), document.join([Answer(answer) for answer in answers]).decode()


@dataclass(frozen=True)
class Sample:
    """A file; its units have these texts."""

    format: str
    data: bytes
    texts: list[str]
    options: Options = Options()  # noqa: RUF009


MARKDOWN = """---
title: Nein
---
# Der *Hund* ##

Ein **kleiner** Hund
läuft auf der [Wiese](http://a.de "Titel"), `code`.\x20\x20
Neue Zeile & <kbd>F1</kbd>, [Hilfe].

> 1. Zitat über
>    zwei Zeilen

- [ ] Aufgabe

Name | Wert \\| Zahl
-----|-----
Hund | 12

```
nein
```
<p>Der <b>Absatz</b></p>

[Hilfe]: http://b.de
"""
PO = r"""# Ein Hund
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#: a.c:1
#, c-format
msgctxt "menu"
msgid "&Datei %s\n"
msgstr ""

msgid "Hund"
msgid_plural "Die _Hunde"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
msgid "alt"
msgstr "old"

msgid ""
"Eine \"Zeile\"\n"
"Noch eine"
msgstr ""

#~ msgid "weg"
#~ msgstr "gone"
"""
MO = (
    b"\xde\x12\x04\x95\0\0\0\0\2\0\0\0\x1c\0\0\0\x2c\0\0\0\0\0\0\0\0\0\0\0"
    b"\0\0\0\0\x3c\0\0\0\4\0\0\0\x3d\0\0\0\x0b\0\0\0\x42\0\0\0\3\0\0\0\x4e\0\0\0"
    b"\0Hund\0charset=xx\n\0Dog\0"
).replace(b"charset=xx", b"charset=l1")
XCSTRINGS = """{
  "sourceLanguage" : "de",
  "strings" : {
    "Der Hund" : {

    },
    "files" : {
      "localizations" : {
        "de" : {
          "variations" : { "plural" : { "one" : { "stringUnit" : { "state" : "new", "value" : "%lld Datei" } } } }
        }
      }
    },
    "nein" : { "shouldTranslate" : false },
    "da" : { "localizations" : { "en" : {} } }
  },
  "version" : "1.0"
}"""
YAML = """# Kommentar
de:
  a: Der Hund   # Kommentar
  b: 'it''s so'
  c: "zwei\\tDrei"
  d: |
    Erste Zeile
    zweite

  e: >-
    gefaltet
    weiter
  f: [eins, "zwei", {x: drei vier}]
  g: &anker Der Anker
  h: *anker
  i: yes
  j: 12
  mehrere: "<b>ja</b>
    nein"
"""
FILES: dict[str, tuple[Any, ...]] = {
    "txt": ("\ufeffHallo!\r\n\r\n  Der Hund läuft.\t\nEnde".encode(), ["Hallo!", "Der Hund läuft.", "Ende"]),
    "txt in UTF-16": ("\ufeffEins\r\nZwei\n".encode("utf-16-le"), ["Eins", "Zwei"]),
    "txt without text": (b"", []),
    "html": (
        """<!DOCTYPE html>\r\n<!-- <p>nein --><html><head><meta charset="iso-8859-1"><title>Hund &amp; Hut</title>
<script>var a = "<p>nein</p>";</script></head><body><p title="Ein &quot;Hund&quot;">Der <b>kleine</b>
  Hund <img alt="Bild" src=x>.<p>Grüße<br>Drei <code>x y</code></p><p translate=no>Nein</p>
<textarea placeholder='Ihr Text'>roh</textarea><div class="a notranslate">Nein</div></body>""".encode("cp1252"),
        [
            *("Hund &amp; Hut", 'Ein "Hund"', 'Der <b>kleine</b>\n  Hund <img alt="Bild" src=x>.', "Grüße"),
            *("Drei <code>x y</code>", "Ihr Text"),
        ],
    ),
    "srt": (
        "\ufeff1\r\n00:00:01,000 --> 00:00:02,500 X1:1\r\n{\\an8}Der kleine Hund\r\nläuft auf\r\n\r\n2\r\n"
        "00:00:02,600 --> 00:00:04,000\r\nder Wiese.\r\n\r\n3\r\n00:00:05,000 --> 00:00:06,000\r\n- Wer?\r\n"
        "- Ich.\r\n\r\n4\r\n00:00:07,000 --> 00:00:08,000\r\nNur <i>ich</i>.".encode(),
        ["Der kleine Hund läuft auf der Wiese.", "- Wer?", "- Ich.", "Nur <i>ich</i>."],
    ),
    "vtt": (
        b"WEBVTT - Titel\n\nNOTE Kommentar\nnein\n\nSTYLE\n::cue { color: red }\n\nid\n"
        b"00:01.000 --> 00:03.000 align:start\n"
        b"<v Anna>Hallo &amp; <i>guten</i> <00:02.000>Morgen!\n\n1:00:06.000 --> 1:00:08.000\nZwei\nZeilen\n",
        ["<v Anna>Hallo &amp; <i>guten</i> <1/>Morgen!", "Zwei Zeilen"],
    ),
    "md": (
        MARKDOWN.replace("\n", "\r\n").encode(),
        [
            *("Nein", "Der <1>Hund</1>"),
            'Ein <1>kleiner</1> Hund läuft auf der <2 title="Titel">Wiese</2>, <3/>.<br id="4">'
            "Neue Zeile &amp; <kbd>F1</kbd>, <5>Hilfe</5>.",
            *("Zitat über zwei Zeilen", "Aufgabe", "Name", "Wert | Zahl", "Hund", "Der <b>Absatz</b>"),
        ],
    ),
    "po": (PO.encode(), ["Datei %s", "Hund", "Die Hunde", 'Eine "Zeile"\nNoch eine']),
    "mo": (MO, ["Hund"]),
    "json": (
        b'{ "a" : "Der Hund", "n": [1, "zwei", {"x": "drei \\"vier\\""}], "@a": {"d":"nein"}, "u": "https://a.de",'
        b' "t":"<b>ja</b> nein", "":"gr\\u00fcn" ,"e":{}, "l":[]}',
        ["Der Hund", "zwei", 'drei "vier"', "<b>ja</b> nein", "grün"],
    ),
    "json of one key": (b'{"m": "a b", "d": "", "l": ["no", {"m": ["c"]}]}', ["a b", "c"], Options(columns=("m",))),
    "yaml": (
        YAML.encode(),
        [
            *("Der Hund", "it's so", "zwei\tDrei", "Erste Zeile\nzweite", "gefaltet weiter"),
            *("eins", "zwei", "drei vier", "Der Anker", "<b>ja</b> nein"),
        ],
    ),
    "strings": (
        '/* Kommentar "x" = "y"; */\n"key" = "Der \\"Hund\\"\\n%@"; // x\nfoo = "Ja";\nbar;\n'.encode("utf-16"),
        ['Der "Hund"\n%@', "Ja"],
    ),
    "properties": (
        b"# Kommentar\r\na.b = Der \\u00fcble Hund\\\r\n    bellt\r\n!x\r\nc:Heut' {0}\r\nd\r\n\r\ne=12\r\nf\\ g  Ja",
        ["Der üble Hundbellt", "Heut' {0}", "Ja"],
    ),
    "xcstrings": (XCSTRINGS.encode(), ["Der Hund", "%lld Datei"], Options(source="de", target="en")),
    "csv": (
        b'id;text,x;"te""xt; 2"\r\n1;Der Hund;"Eins; ""zwei""\nDrei"\r\n2;12;Ja\r\n\r\n',
        ['Eins; "zwei"\nDrei', "Ja"],
        Options(columns=('te"xt; 2',)),
    ),
    "json with a number of any length": (b'{"n": %s, "a": "b c"}' % (b"1" * 5_000), ["b c"]),
    "yaml with formats of dates": (b'a: "%d.%m.%Y"\nb: ":day"\nc: "um %H"\nd: D. MMMM YYYY\ne: hh:mm a\n', ["um %H"]),
    "yaml with a list as a key": (b"? [Hund, Hut]\n: da\n", ["da"]),
    "properties with nbsp": ("a = Ja\n\u00a0b = Nein\nc = Gut\n".encode(), ["Ja", "Nein", "Gut"]),
    "md that takes components": (
        b"import Tabs from '@theme/Tabs';\nimport {a, b} from \"x\"\nimport './y.css'\n\nimport from 'x' is a line\n",
        ["import from 'x' is a line"],
    ),
    "md in lines without blanks": ("今日は\n雨です。\n明日 *も*\nx\n".encode(), ["今日は雨です。明日 <1>も</1> x"]),
    "srt in which a speaker has two lines": (
        b"1\n00:00:01,000 --> 00:00:02,000\n- Das ist ein Mann\nmit Hund.\n- Ja.\n",
        ["- Das ist ein Mann mit Hund.", "- Ja."],
    ),
    "csv with a name twice": (b"text,id,text\nHund,1,Hut", ["Hund", "Hut"], Options(columns=("text",))),
    "csv with tabs and a number as a name": (b"Hund\t1\nHut\t2", ["Hund", "Hut"], Options(columns=("1",))),
    "csv with tabs": (b"1\tEins\tnein\n2\tZwei", ["Eins", "Zwei"], Options(columns=("2",))),
}  # by the format, and what is in the file
SAMPLES = {name: Sample(name.split()[0], *made) for name, made in FILES.items()}
for case, (data, found) in office_samples.FILES.items():
    SAMPLES[" ".join(case)] = Sample(case[0], data, found, office_samples.OPTIONS)
