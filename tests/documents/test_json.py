"""Catalogues of Xcode get an entry for the target language, which is JSON again."""

import json
from dataclasses import replace

import pytest

from nmt.documents.base import Answer, Options, read_document
from tests.documents.samples import SAMPLES

SAMPLE = SAMPLES["xcstrings"]


def test_missing_entries_are_filled_in_and_flagged_ones_need_review() -> None:
    document = read_document(SAMPLE.data, "xcstrings", SAMPLE.options)
    joined = document.join([Answer('The\n"dog"'), Answer("%lld file", ("unsure",))])
    found = json.loads(joined)["strings"]
    unit = {"state": "translated", "value": 'The\n"dog"'}
    assert found["Der Hund"]["localizations"]["en"]["stringUnit"] == unit
    forms = found["files"]["localizations"]["en"]["variations"]["plural"]
    assert forms == {"one": {"stringUnit": {"state": "needs_review", "value": "%lld file"}}}
    before = json.loads(SAMPLE.data)["strings"]
    assert found["files"]["localizations"]["de"] == before["files"]["localizations"]["de"]
    assert (found["nein"], found["da"]) == (before["nein"], before["da"])
    assert read_document(joined, "xcstrings", SAMPLE.options).units == []
    again = read_document(joined, "xcstrings", replace(SAMPLE.options, all_entries=True))
    values = json.loads(again.join([Answer("x")] * 3))["strings"]
    assert [values[key]["localizations"]["en"]["stringUnit"]["value"] for key in ("Der Hund", "da")] == ["x", "x"]


def test_languages_are_checked() -> None:
    for options, message in (
        (Options(), "--target CODE"),
        (Options(source="fr", target="en"), "the source language of the file is de, but the model translates from fr"),
    ):
        with pytest.raises(ValueError, match=message):
            read_document(SAMPLE.data, "xcstrings", options)
    with pytest.raises(ValueError, match="no string catalogue"):
        read_document(b"[]", "xcstrings", SAMPLE.options)


@pytest.mark.parametrize("form", ["json", "xcstrings"])
def test_json_that_is_nested_too_deep_is_refused(form: str) -> None:
    def nested(depth: int) -> bytes:
        deep = '{"de" : ' * (depth - 3) + '"Ein Hund"' + "}" * (depth - 3)
        return f'{{"sourceLanguage" : "de", "strings" : {{"a b" : {{"localizations" : {deep}}}}}}}'.encode()

    document = read_document(nested(100), form, SAMPLE.options)
    assert len(document.join([Answer("A dog")] * len(document.units))) < 30_000
    for depth in (101, 900):
        with pytest.raises(ValueError, match="deeper than 100"):
            read_document(nested(depth), form, SAMPLE.options)
