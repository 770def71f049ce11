"""XLIFF: targets are filled with their state; those that are there stay."""

import pytest

from nmt.documents.base import Answer, Options, read_document
from tests.documents.office_samples import XLIFF_1, XLIFF_2
from tests.documents.samples import translated

EN = Options(target="en")


def joined(file: bytes, *answers: Answer, options: Options = EN) -> str:
    return read_document(file, "xliff", options).join(answers).decode("utf-16" if file[:2] == b"\xff\xfe" else "utf-8")


def test_targets_are_added_filled_and_kept() -> None:
    answers = ("The <1>big</1><2/> dog.", "New", "A <1>set</1>. And <2/>.", "<1>One.</1> <2>Two.</2>")
    text = joined(XLIFF_1.encode(), *(Answer(answer, ("unsure",) * (answer == "New")) for answer in answers))
    mt = 'state-qualifier="leveraged-mt"'
    first = f'<target state="translated" {mt}>The <g id="1">big</g><x id="2"/> dog.</target>'
    assert f'Hund<x id="2"/>.</source>\n   {first}\n' in text
    assert '<target state="final">Done</target>' in text
    assert f'<source>Neu</source><target state="needs-review-translation" {mt}>New</target>' in text
    assert "<source>Nicht</source></trans-unit>" in text
    assert 'A <bpt id="1">&lt;b></bpt>set<ept id="1">&lt;/b></ept>. And <mrk mtype="protected">fest</mrk>.<' in text
    assert '<mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></target>' in text
    assert '<file original="a" source-language="de" datatype="html" target-language="en">' in text


def test_a_file_in_other_languages_is_refused() -> None:
    for file, target in ((XLIFF_1.encode(), "en"), (XLIFF_2.encode(), "en-GB")):
        with pytest.raises(ValueError, match=r"the file is from de to .* by what it says, not from fr to en"):
            read_document(file, "xliff", Options(source="fr", target=target))
        assert read_document(file, "xliff", Options(source="de-AT", target=target)).units


def test_the_state_of_version_2_is_that_of_the_segment() -> None:
    text = joined(XLIFF_2.encode("utf-16"), Answer("The <1>big</1> <2>dög</2>", ("numbers",)))
    assert 'srcLang="de" trgLang="en">' in text
    assert '<segment id="s" state="translated" subState="nmt:needs-review">\n' in text
    assert '<target>The <pc id="1">big</pc> <sc id="2"/>dög<ec startRef="2"/><ph id="3"/></target>' in text
    assert "<target>Good</target>" in text
    again = joined(text.encode("utf-16"), Answer("x"), Answer("y"), options=Options(target="en", all_entries=True))
    assert '<segment id="s" state="translated">\n' in again


def test_all_entries_and_fuzzy_matches() -> None:
    everything = Options(target="en", all_entries=True)
    document = read_document(XLIFF_1.encode(), "xliff", everything)
    assert [unit.text for unit in document.units][1] == "Fertig"
    assert document.units[1].place == "unit 2"
    answers = [Answer("x", ("fuzzy",)) for _ in document.units]
    assert 'state-qualifier="fuzzy-match">x</target>' in document.join(answers).decode()


@pytest.mark.parametrize("target", ["", "<target/>", '<target state="needs-translation">Alt</target>'])
def test_a_unit_with_a_new_target_is_not_approved(target: str) -> None:
    unit = f'<trans-unit approved="yes" id="1"><source>Hund</source>{target}</trans-unit>'
    done = '<trans-unit approved="yes" id="2"><source>Hund</source><target>Dog</target></trans-unit>'
    file = f'<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2">{unit}{done}</xliff>'.encode()
    text = joined(file, Answer("Dog"))
    assert '<trans-unit approved="no" id="1"><source>Hund</source><target state="translated"' in text
    assert done in text
    assert 'approved="yes"' not in joined(file, *[Answer("Dog")] * 2, options=Options(all_entries=True))


TRADOS = 'xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0"'


@pytest.mark.parametrize(
    ("attributes", "segments"),
    [
        ('xmlns:q="MQXliff" q:locked="locked"', ""),
        ('xmlns:m="http://www.memsource.com/mxlf/2.0" m:locked="true"', ""),
        (TRADOS, '<sdl:seg-defs><sdl:seg id="1" locked="true"/></sdl:seg-defs>'),
    ],
)
def test_what_other_tools_lock_stays(attributes: str, segments: str) -> None:
    unit = f"<trans-unit {attributes}><source>Hund</source><target/>{segments}</trans-unit>"
    everything = Options(target="en", all_entries=True)
    for is_locked, file in ((True, unit), (False, unit.replace('ocked="', 'ocked="no'))):
        xliff = f'<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2">{file}</xliff>'.encode()
        assert len(read_document(xliff, "xliff", everything).units) == (not is_locked)


def test_lost_and_doubled_codes_come_back_once() -> None:
    text = joined(XLIFF_1.encode(), Answer("<1>a</1><1>b</1></2>"), *[Answer("c")] * 3)
    assert '<g id="1">a</g>b<x id="2"/></target>' in text
    assert '<bpt id="1">&lt;b></bpt><ept id="1">&lt;/b></ept><mrk mtype="protected">fest</mrk></target>' in text


def test_codes_that_cross_stay_marks() -> None:
    source = '<source><sc id="1"/>a<pc id="2">b<ec startRef="1"/>c</pc> d</source>'
    file = f'<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0"><segment>{source}</segment></xliff>'
    found, written = translated(file, "xliff", "A<1>B<2/>C</1>")
    assert found == ["a<1>b<2/>c</1> d"]
    assert '<target><sc id="1"/>A<pc id="2">B<ec startRef="1"/>C</pc></target>' in written
