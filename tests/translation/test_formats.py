"""Every format answers every line by one line, with all that was asked for; what can't be read is said."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.reading.request import Request
from nmt.translation.formats import Columns, Format, Json, Text
from nmt.translation.jobs import Translating
from nmt.translation.translator import Translator
from tests.tiny import SHORT

few = settings(max_examples=15, deadline=None, derandomize=True)


def answers(translator: Translator, form: Format, *lines: str) -> list[str]:
    output = Translating(translator, SHORT, form).answer([line.encode() for line in lines])
    return output.decode().removesuffix("\n").split("\n")


FORMS: list[Callable[[Translator], Format]] = [Text, lambda t: Text(t, alignments=True), lambda _: Columns(), Json]


json_lines = st.one_of(
    st.text(max_size=20),
    st.text(max_size=20).map(json.dumps),
    st.dictionaries(
        st.sampled_from(["text", "prefix", "must", "must_not", "id"]),
        st.one_of(st.text(max_size=9), st.integers(), st.lists(st.text(max_size=5), max_size=2)),
        max_size=4,
    ).map(json.dumps),
)


@few
@given(form=st.sampled_from(FORMS), lines=st.lists(json_lines.map(lambda line: line.replace("\n", "")), max_size=5))
def test_lines_out_are_lines_in(translator: Translator, form: Callable[[Translator], Format], lines: list[str]) -> None:
    job = Translating(translator, SHORT, form(translator))
    output = job.answer([line.encode("utf-8", "surrogatepass") for line in lines]).decode()
    assert output.count("\n") == len(lines)


def test_columns_are_kept_and_three_are_added(translator: Translator) -> None:
    (text,) = translator.translate(["Hund"])
    (row,) = answers(translator, Columns(), "Hund\t7\tanimals\r\r")  # one belongs to the end of the line
    first, seven, animals, translation, score, flags = row.split("\t")
    assert (first, seven, animals, translation, flags) == ("Hund", "7", "animals\r", text, "")
    assert float(score) < 0


def test_cells_are_translated_alone_and_tabs_stay_where_they_separate_no_columns(translator: Translator) -> None:
    line = "Hund\t Wo ist der Tisch"
    first, second = translator.translate(["Hund", "Wo ist der Tisch"])
    (answer,) = answers(translator, Json(translator), json.dumps({"text": line}))
    assert json.loads(answer)["translation"] == f"{first}\t {second}"
    assert answers(translator, Text(translator), line) == [f"{first}\t {second}"]
    (scored,) = answers(translator, Text(translator, scores=True), line)
    assert scored.split("\t")[1:] == [f"{first}  {second}"]


def test_json_answers_have_all_that_there_is_to_say(translator: Translator) -> None:
    (line,) = answers(translator, Json(translator, alignments=True), '{"text": "Hund und Wiese", "id": 7}')
    answer = json.loads(line)
    found = translator.translate_n_best(["Hund und Wiese"])
    ((best, *_),) = translator.with_forced_scores([Request("Hund und Wiese")], found, SHORT)
    assert (answer["id"], answer["text"], answer["translation"]) == (7, "Hund und Wiese", best.text)
    assert answer["score"] == round(best.score, 4)
    assert 0 < answer["confidence"] < 1
    assert len(answer["tokens"]) == len(answer["token_log_probs"])
    assert answer["tokens"][-1] == "</s>"
    assert (answer["flags"], answer["fallback"]) == ([], "")
    links = [tuple(map(int, link.split("-"))) for link in answer["alignment"][0].split()]
    assert [j for _, j in links] == [*range(len(best.text.split()))]
    assert {i for i, _ in links} <= {0, 1, 2}


def test_lone_surrogates_and_bytes_that_are_no_utf8_pass_through(translator: Translator) -> None:
    job = Translating(translator, SHORT, Json(translator))
    one, two = job.answer([b'{"text": "Hund", "id": "\\ud800"}', b'{"text": "Hund", "id": "\xff"}']).splitlines()
    assert json.loads(one)["id"] == "\ud800"
    assert json.loads(two)["translation"] == translator.translate(["Hund"])[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no request: the line can't be read as JSON"),
        ("[]", "an object with"),
        ('{"txt": "Hund"}', "an object with"),
        ('{"text": 7}', "an object with"),
        ('{"text": "a", "prefix": 7}', "prefix"),
        ('{"text": "a", "must": "b"}', "must"),
        ('{"text": "a", "must": [""]}', "must"),
        ('{"text": "a", "must": ["b"], "must_not": ["b"]}', "must"),
        ("[" * 100_000, "no request"),
        ('{"text": "a", "id": NaN}', "NaN is no JSON: write null"),
        ('{"text": "a", "id": 1' + "0" * 5000 + "}", "no request"),
        ('{"text": "a", "id": {"b": 1, "b": 2}}', 'the member "b" is there twice'),
        ("\ufeff{", "no request"),
        ('{"text": "a", "id": 1e999}', "no request"),
        ('{"text": "a", "prefix": "The dog", "must_not": ["dog"]}', "the prefix contains a phrase of must_not"),
        ('{"text": "a", "prefix": "Two men run", "must_not": ["men"]}', "must_not"),
        ('{"text": "a", "prefix": "' + "The dog runs " * 400 + '"}', "pieces: at most 500 are possible"),
    ],
)
def test_a_line_that_is_no_request_is_answered_by_its_error(
    translator: Translator, line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Translating(translator, SHORT, Json(translator))
    good, bad, other = job.answer([b'"Hund"', line.encode(), b'"Wiese"']).decode().splitlines()
    answer = json.loads(bad)
    assert message in answer.pop("error")
    try:
        assert answer == json.loads(line) or answer == {"line": line}
    except (ValueError, RecursionError):
        assert answer == {"line": line}
    assert [json.loads(line)["translation"] for line in (good, other)] == translator.translate(["Hund", "Wiese"])
    assert "line 2: " in capsys.readouterr().err


def test_numbers_of_other_members_come_back_as_they_were(translator: Translator) -> None:
    line = '{"text": "Hund", "id": 123456789012345678901234567890, "x": -0.1, "y": 1e-300, "z": null}'
    (answer,) = answers(translator, Json(translator), line)
    assert answer.startswith(line[:-1])


@pytest.mark.parametrize("text", ["  Hund: ", "Hund\r\n\r\nWiese\r\n", "\u3000Hund\xa0", " \r\n\t", "\tHund\u2028"])
def test_outer_blanks_and_carriage_returns_of_a_json_text_come_back(translator: Translator, text: str) -> None:
    (line,) = answers(translator, Json(translator), json.dumps(text))
    translation = json.loads(line)["translation"]
    parts = [part.strip() for part in text.split("\n")]
    expected = text
    for part, translated in zip(parts, translator.translate(parts), strict=True):
        expected = expected.replace(part, translated) if part else expected
    assert translation == expected


def test_a_text_after_a_mark_in_the_middle_of_joined_files_is_read(translator: Translator) -> None:
    plain, marked = answers(translator, Json(translator), '"Hund"', '\ufeff"Hund"')
    assert marked == plain


cells = st.binary(max_size=6).map(lambda cell: cell.replace(b"\t", b"").replace(b"\n", b"").replace(b"\r", b""))


@few
@given(source=cells | st.just(b" Hund\xff "), others=st.lists(cells, max_size=3))
def test_columns_are_written_byte_for_byte(translator: Translator, source: bytes, others: list[bytes]) -> None:
    line = b"\t".join([source, *others])
    output = Translating(translator, SHORT, Columns()).answer([line])
    assert output.startswith(line + b"\t")
    assert output[len(line) :].count(b"\t") == 3
    assert output.count(b"\n") == 1


def test_the_translation_of_a_column_has_the_blanks_of_its_source(translator: Translator) -> None:
    (plain,), (row,) = (answers(translator, Columns(), line) for line in ("Hund\t7", "  Hund\xa0\t7"))
    assert row.split("\t")[2] == f"  {plain.split(chr(9))[2]}\xa0"


def test_blanks_around_mark_up_come_back_once(translator: Translator) -> None:
    for form, line in ((Json(translator), '"  <p>Hund</p> "'), (Columns(), "  <p>Hund</p> \t7")):
        answer = Translating(translator, SHORT, form, markup="html").answer([line.encode()]).decode()
        written = json.loads(answer)["translation"] if isinstance(form, Json) else answer.split("\t")[2]
        assert (written[:5], written[-5:]) == ("  <p>", "</p> ")


def test_prefix_and_must_are_for_the_first_line_with_text(translator: Translator) -> None:
    request = {"text": "\n \u0007\nHund\nWiese", "prefix": "Two", "must": ["men"]}
    (line,) = answers(translator, Json(translator), json.dumps(request))
    blank, _, first, second = json.loads(line)["translation"].split("\n")
    assert blank == ""
    assert first.startswith("Two")
    assert re.search(r"\bmen\b", first)
    assert second == translator.translate(["Wiese"])[0]


def test_blank_lines_don_t_count_in_the_score_of_a_text(translator: Translator) -> None:
    lines = answers(translator, Json(translator), json.dumps("Hund"), json.dumps("\nHund\n\n"))
    one, two = (json.loads(line)["score"] for line in lines)
    assert one == two
