"""What stands around the words of Markdown stays with them, or becomes HTML where Markdown can't say it."""

import re

import pytest

from nmt.documents.base import Answer
from tests.documents import samples
from tests.documents.samples import read, texts


def translated(text: str, *answers: str) -> tuple[str, list[str]]:
    """The file with these answers, and the remarks."""
    document = read(text, "md")
    return document.join([Answer(answer) for answer in answers]).decode(), [*document.notes]


def check(text: str, found: list[str], answers: list[str], expected: str) -> None:
    """A file has these texts, and is this one with these answers."""
    assert samples.translated(text, "md", *answers) == (found, expected)


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("Ein **Hund** da\n", "A <1>dog</1> there", "A **dog** there\n"),
        ("Ein **Hund** da\n", "A<1>dog.</1>s", "A<strong>dog.</strong>s\n"),
        ("> Ein *Hund*  \n> da\n", 'A <1>dog</1><br id="2">there', "> A *dog*  \n> there\n"),
        ("[Hilfe]\n\n[Hilfe]: x\n", "<1>help</1>", "[help][Hilfe]\n\n[Hilfe]: x\n"),
        ("- eins\n", "# 1. *x* [a](b) <i>", "- \\# 1. \\*x\\* \\[a\\](b) \\<i\\>\n"),
        ("eins\n====\n", "2. zwei", "2\\. zwei\n====\n"),
        ("eins|2\n-|-\n", "1. x", "1\\. x|2\n-|-\n"),
        ("|eins|\n|-|\n", "a | b", "|a \\| b|\n|-|\n"),
        ("Das `x` da[^1]\n", "There<2/> is <1/>", "There[^1] is `x`\n"),
        ("Da[^1]\n\n[^1]: https://a.de\n", "There<1/>", "There[^1]\n\n[^1]: https://a.de\n"),
        ("[^1]: Wort\n", "Word", "[^1]: Word\n"),
        ("*[Anm.]: Ein **Hund** da.*\n", "<1>[Note]: a <2>dog</2>.</1>", "*\\[Note\\]: a **dog**.*\n"),
        ('[Hund](u "Ein Tier")\n', '<1 title="An &quot;animal&quot;">Dog</1>', '[Dog](u "An \\"animal\\"")\n'),
        ("Ein [Hund](u '*Tier*').\n", 'A <1 title="dog&#x27;s">dog</1>.', "A [dog](u 'dog\\'s').\n"),
        (
            '[a <a href="#">b</a>](u (c)) d\n',
            '<1 title="(x)">A <a href="#">B</a></1> D',
            '[A <a href="#">B</a>](u (\\(x\\))) D\n',
        ),
        ("Es ist $a_1*b*\\{$ für $5\n", "It is <1/> for $5", "It is $a_1*b*\\{$ for $5\n"),
        ("$5 oder ${A}/${B}\n\n$$\nx = y\n$$\n", "$5 or ${A}/${B}", "$5 or ${A}/${B}\n\n$$\nx = y\n$$\n"),
        ("Ein Hund\n", "a $x$ dog", "a \\$x\\$ dog\n"),
        ("a <kbd>F1</kbd>\n", "press <kbd>F1</kbd>", "press <kbd>F1</kbd>\n"),
        ("![Hund](a.png)", '<1 title="Dog [1]"/>', r"![Dog \[1\]](a.png)"),
        ("Der ![Hund]\n\n[Hund]: a.png", 'The <1 title="dog"/>', "The ![dog][Hund]\n\n[Hund]: a.png"),
        ("Der ![*Hund*](a.png)", "The <1/>", "The ![*Hund*](a.png)"),
        (
            "- Ein [blauer\n  Hund][] da\n\n[blauer hund]: x\n",
            "Da <1>blue</1>",
            "- Da [blue][blauer Hund]\n\n[blauer hund]: x\n",
        ),
        (":::tip[Rat]{#Rat} Rat\n", "Advice", ":::tip[Advice]{#Rat} Rat\n"),
        ('\\??? note "Hund"  \nbellt\n', '??? note "Dog"<br id="1">barks', '\\??? note "Dog"  \nbarks\n'),
        ("Hund\n", "??? note\n", "\\??? note\n"),
        ("> Hund\n", "[!dog] barks", "> \\[\\!dog\\] barks\n"),
        ("&nbsp;&emsp; Hund\n", "&nbsp; dog", "&nbsp;&emsp; \\&nbsp; dog\n"),
        ("Ein Hund\n    {: .x }\n", "A dog", "A dog\n    {: .x }\n"),
        ("# Ein Hund\u3000\n", "A dog", "# A dog\u3000\n"),
        ("Ein Hund.\u00a0\n", "A dog.", "A dog.\u00a0\n"),
    ],
)
def test_answers_keep_their_marks_and_mean_what_they_say(text: str, answer: str, expected: str) -> None:
    assert translated(text, answer) == (expected, [])


def test_footnotes_and_definitions_stay_on_lines_of_their_own() -> None:
    text = "Hut\n: ein Hund\n  da\n:   zwei\n\n[^1]: drei Hunde\n[^2]: vier Hunde\n> fünf\n[^3]: sechs *Hunde*\n"
    answers = ("hat", "a dog", ": two", "three", "four", "five", "six <1>dogs</1>", "seven", "eight")
    expected = "hat\n: a dog\n:   \\: two\n\n[^1]: three\n[^2]: four\n> five\n[^3]: six *dogs*\n"
    text, expected = f"{text}*[A B]: sieben\n*[C]: acht\n", f"{expected}*[A B]: seven\n*[C]: eight\n"
    assert translated(text, *answers) == (expected, [])


def test_an_answer_that_would_mean_something_else_is_not_written() -> None:
    for answer in ("dog", "<1>dog", "<1>a</1> <2/>", "<1>a</1><script>"):
        text, notes = translated("Ein **Hund**\n", answer)
        assert text == "Ein **Hund**\n"
        assert notes == ["line 1: the translation hasn't the tags of the text, so the text stays as it is"]
    text, notes = translated("|Hund\nda\n---\n", "|dog")  # on one line, it would be the head of a table
    assert (text, len(notes)) == ("|Hund\nda\n---\n", 1)


def test_html_in_a_list_or_a_quotation_is_translated_between_its_marks() -> None:
    text = '- <div>Ein Hund</div>\n\n> <p>Ein\n> <b>Hund</b></p>\n> <img alt="Haus">\n\n1. x1\n\n   <p>da</p>\r\n'
    found = ["Ein Hund", "Ein\n<b>Hund</b>", "Haus", "x1", "da"]
    expected = '- <div>A Hund</div>\n\n> <p>A <b>Hund</b></p>\n> <img alt="house">\n\n1. x1\n\n   <p>da</p>\r\n'
    check(text, found, ["A Hund", "A\n<b>Hund</b>", "house", "x1", "da"], expected)
    assert not read("- <pre>\n  ein Hund\n  </pre>\n", "md").units


BOXES = """\
!!! note "Der *Titel*"
    Ein Hund
    bellt

    Da

Ein Satz
??? info

    - x1

          x2

=== "Reiter 1"

    !!! tip
        Innen

> !!! tip
>     Zitat

:::note[Titel]
Ein Text
:::

::: details Mehr davon {open}
:::

/// tip | Rat
Ja
///

> [!info]- Ein *Zettel*
> Text

??? Danger

    Drei

!!! Achtung

!!! Ein Hund

    Code
"""


def test_boxes_and_tabs_have_titles_and_texts() -> None:
    document = read(BOXES.replace("\n", "\r\n"), "md")
    words = [re.sub("<[^>]*>", "", unit.text) for unit in document.units]
    assert words == [
        *("Der Titel", "Ein Hund bellt", "Da", "Ein Satz", "x1", "Reiter 1", "Innen", "Zitat", "Titel", "Ein Text"),
        *("Mehr davon", "Rat", "Ja", "Ein Zettel", "Text", "Drei", "!!! Achtung", "!!! Ein Hund"),
    ]
    answers = [Answer(unit.text.upper()) for unit in document.units]
    expected = BOXES.replace("Hund\n    bellt", "Hund bellt").replace("\n", "\r\n").upper()
    for kept in ("{open}", "details", "Danger", "note", "info", "tip", "          x2", "Code"):
        expected = expected.replace(kept.upper(), kept)
    assert document.join(answers).decode() == expected
    assert not document.notes
    quoted, notes = translated('!!! note "Titel"\n', 'the "title"')
    assert quoted == '!!! note "Titel"\n'
    assert 'no place for "' in notes[0]
    assert translated("Hund\n\n/// tip | \0 Rat  \n", "Dog", "Advice")[0] == "Dog\n\n/// tip | Advice  \n"


def test_attributes_stay() -> None:
    text = "# Titel { #id .x }\n\nEin [Link](x){ .b } da\n{: .note }\n\n| Zelle {#y} |\n|---|\n\n{% raw %} {name} da\n"
    found = ["Titel", "Ein <1>Link</1><2/> da", "Zelle", "{% raw %} {name} da"]
    expected = text.replace("Titel", "Title").replace("Ein [Link](x){ .b } da", "A [link](x){ .b }")
    check(text, found, ["Title", "A <1>link</1><2/>", "cell", found[-1]], expected.replace("Zelle", "cell"))


def test_titles_in_front_matter_are_translated() -> None:
    text = "---\r\ntitle: Ein Hund\r\nid: ein-hund\r\ndescription: >-\r\n  Da\r\n  ist er\r\n---\r\n\r\n# Hund\r\n"
    assert [unit.place for unit in read(text, "md").units] == ["line 2", "line 4", "line 9"]
    expected = text.replace("Ein Hund", '"A dog: no"').replace("Da\r\n  ist er", "There").replace("# Hund", "# Dog")
    found, written = samples.translated(text, "md", "A dog: no", "There", "Dog", target="pl")
    assert (found, written) == (["Ein Hund", "Da ist er", "Hund"], expected)
    assert not read("---\ntitle: [\n---\n", "md").units


def test_titles_in_front_matter_of_toml_are_translated() -> None:
    text = """+++\ntitle = 'Der Hund'\ndate = 2024-01-02\nsummary = "Er \\"bellt\\"" # laut\ntags = ["title"]\n"""
    text += "title = '2024'\n[params]\ndescription='Da'\nsubtitle = \"\\U0001f600 ab\"\nexcerpt = 'Nein'\n+++\n# Hund\n"
    assert [unit.place for unit in read(text, "md").units] == [f"line {n}" for n in (2, 4, 8, 10, 12)]
    found = ["Der Hund", 'Er "bellt"', "Da", "Nein", "Hund"]
    answers = ["The dog's", 'He "barks"', "There", "Nein", "Dog"]
    expected = text.replace("'Der Hund'", '"The dog\'s"').replace("Er \\", "He \\").replace("bellt", "barks")
    check(text, found, answers, expected.replace("'Da'", "'There'").replace("# Hund", "# Dog"))


def test_lines_of_templates_stay_and_end_paragraphs() -> None:
    code = "{{< highlight go >}}\nx = 1\n\ny\n{{< /highlight >}}\n{% highlight ruby %}\nputs 1\n{% endhighlight %}\n"
    text = '{* a.py *}\n{! b.md !}\n--8<-- "c.md"\n'
    text += "{{% note %}}\nEin Hund\n{{% /note %}}\n{{< img\n  alt=x\n>}}\n{% if x %}\nDa\n"
    text += f"{code}{{{{< highlight >}}}}\nNein {{{{ x }}}}\n"
    assert texts(read(text, "md")) == ["Ein Hund", "Da", "Nein {{ x }}"]
