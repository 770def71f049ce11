"""TMX as a document: entries without the target language get it."""

import pytest

from nmt.documents.base import Answer
from tests.documents.office_samples import TMX
from tests.documents.samples import read, texts, translated


def test_missing_translations_are_added_after_the_last_language() -> None:
    document = read(TMX, "tmx", target="en")
    assert [unit.place for unit in document.units] == ["entry a"]
    text = document.join([Answer("The <1>dog</1> barks", ("unsure",))]).decode()
    added = (
        '</tuv>\n  <tuv xml:lang="en"><prop type="x-flags">unsure</prop>'
        '<seg>The <bpt i="1">&lt;b></bpt>dog<ept i="1">&lt;/b></ept> barks</seg></tuv>\n </tu>'
    )
    assert added in text
    assert text.replace(added, "</tuv>\n </tu>") == TMX


def test_languages_that_the_options_name_are_found_and_filled() -> None:
    assert texts(read(TMX, "tmx", source="fr-FR", target="de")) == ["Bon"]
    empty = TMX.replace("<seg>Good</seg>", "<seg/>")
    _, filled = translated(empty, "tmx", "x", "Fine & dandy", target="en")
    assert '<tuv xml:lang="en-US"><seg>Fine &amp; dandy</seg></tuv></tu>' in filled
    assert texts(read(TMX, "tmx", target="en", all_entries=True))[1:] == ["Gut"]
    with pytest.raises(ValueError, match="name the target language"):
        read(TMX, "tmx")


def test_flags_of_a_segment_that_was_there_are_those_of_its_new_translation() -> None:
    text = TMX.encode()
    for flags in (("numbers",), ("items", "terms"), ()):
        document = read(text, "tmx", target="en", all_entries=True)
        text = document.join([Answer("x"), Answer("".join(flags) or "y", flags)])
        assert text.decode().count(f">{' '.join(flags)}</prop><seg>{''.join(flags)}</seg>") == bool(flags)
    assert b"prop" not in text


def test_of_a_language_in_several_regions_the_nearest_is_taken_and_never_for_both_sides() -> None:
    sides = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in (("pt-BR", "a"), ("pt", "b")))
    data = f"<tmx><body><tu>{sides}</tu></body></tmx>"
    assert texts(read(data, "tmx", source="pt", target="fr")) == ["b"]
    assert texts(read(data, "tmx", source="pt-PT", target="pt", all_entries=True)) == []
