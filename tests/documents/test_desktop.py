"""Resources of .NET: texts are translated, everything else stays."""

from nmt.documents.base import Answer, Options, read_document
from tests.documents.office_samples import RESX


def test_only_the_value_of_a_text_changes() -> None:
    data = RESX.encode("utf-8-sig")
    document = read_document(data, "resx", Options())
    assert [unit.place for unit in document.units] == ["entry a"]
    changed = document.join([Answer("Hello &amp; hi<br/>{0} <")])
    assert changed == data.replace(b"Guten Tag\n{0}!", b"Hello &amp; hi\n{0} &lt;")


def test_accelerators_are_put_back() -> None:
    file = '<root><data name="a"><value>&amp;Datei </value></data><data name="b"><value>user _id</value></data></root>'
    document = read_document(file.encode(), "resx", Options())
    assert [unit.text for unit in document.units] == ["Datei", "user _id"]
    assert b"<value>&amp;File </value>" in document.join([Answer("File"), Answer("user _id")])
