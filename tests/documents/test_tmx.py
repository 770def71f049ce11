"""TMX as a document: entries without the target language get it."""

import pytest

from nmt.documents.base import Answer, Options, read_document
from tests.documents.office_samples import TMX


def test_missing_translations_are_added_after_the_last_language() -> None:
    document = read_document(TMX.encode(), "tmx", Options(target="en"))
    assert [unit.place for unit in document.units] == ["entry a"]
    text = document.join([Answer("The <1>dog</1> barks", ("unsure",))]).decode()
    added = (
        '</tuv>\n  <tuv xml:lang="en"><prop type="x-flags">unsure</prop>'
        '<seg>The <bpt i="1">&lt;b></bpt>dog<ept i="1">&lt;/b></ept> barks</seg></tuv>\n </tu>'
    )
    assert added in text
    assert text.replace(added, "</tuv>\n </tu>") == TMX


def test_languages_that_the_options_name_are_found_and_filled() -> None:
    french = read_document(TMX.encode(), "tmx", Options(source="fr-FR", target="de"))
    assert [unit.text for unit in french.units] == ["Bon"]
    empty = TMX.replace("<seg>Good</seg>", "<seg/>")
    document = read_document(empty.encode(), "tmx", Options(target="en"))
    filled = document.join([Answer("x"), Answer("Fine & dandy")]).decode()
    assert '<tuv xml:lang="en-US"><seg>Fine &amp; dandy</seg></tuv></tu>' in filled
    everything = Options(target="en", all_entries=True)
    assert [unit.text for unit in read_document(TMX.encode(), "tmx", everything).units][1:] == ["Gut"]
    with pytest.raises(ValueError, match="name the target language"):
        read_document(TMX.encode(), "tmx", Options())


def test_flags_of_a_segment_that_was_there_are_those_of_its_new_translation() -> None:
    text = TMX.encode()
    for flags in (("numbers",), ("items", "terms"), ()):
        document = read_document(text, "tmx", Options(target="en", all_entries=True))
        text = document.join([Answer("x"), Answer("".join(flags), flags)])
        assert text.decode().count(f">{' '.join(flags)}</prop><seg>{''.join(flags)}</seg>") == bool(flags)
    assert b"prop" not in text


def test_of_a_language_in_several_regions_the_nearest_is_taken_and_never_for_both_sides() -> None:
    sides = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in (("pt-BR", "a"), ("pt", "b")))
    data = f"<tmx><body><tu>{sides}</tu></body></tmx>".encode()
    assert [unit.text for unit in read_document(data, "tmx", Options(source="pt", target="fr")).units] == ["b"]
    everything = Options(source="pt-PT", target="pt", all_entries=True)
    assert read_document(data, "tmx", everything).units == []
