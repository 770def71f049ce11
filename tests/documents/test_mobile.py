"""Android strings: escapes, blanks, references and CDATA."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.documents.mobile import decode, encode
from tests.documents.office_samples import ANDROID
from tests.documents.samples import read, translated


def test_strings_come_back_with_their_escapes() -> None:
    file = ANDROID.replace("<![CDATA[", "\n  <![CDATA[")  # blanks around it are the layout of the file
    assert [unit.markup for unit in read(file, "android").units] == [True, True, False, False, False]
    answers = ['It\'s <1>"fine"</1>, <2/>?<br/>Yes', '<a href="x">Here</a> & it\'s', "@A dog", "%d dogs", "Two  words"]
    _, text = translated(file, "android", *answers)
    assert r"""<string name="a">It\'s <b>\"fine\"</b>, <xliff:g id="n">%1$s</xliff:g>?\nYes</string>""" in text
    assert r"""<![CDATA[<a href=\"x\">Here</a> & it\'s]]></string>""" in text
    assert r"""<item quantity="one">\@A dog</item><item quantity="other">%d dogs</item>""" in text
    assert r"<item>\u0020\u0020Two\u0020\u0020words</item>" in text
    for kept in ('translatable="false">Nicht<', ">@string/a<", "<item>1</item>", "<!-- Texte -->"):
        assert kept in text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"It\'s \"x\"", 'It\'s "x"'),
        ('"a  b\n c"', "a  b\n c"),
        ("a \n\t b", "a b"),
        (r"\u00fcb\n\t\\ \@ \?", "üb\n\t\\ @ ?"),
        (r"\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"),
        ("\\", "\\"),
    ],
)
def test_escapes_are_read(written: str, text: str) -> None:
    assert decode(written) == text


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")))
def test_any_text_is_read_as_it_was_written(text: str) -> None:
    assert decode(encode(text)) == text
