"""Resources of .NET: what is no text stays."""

from tests.documents.samples import translated


def test_accelerators_are_put_back() -> None:
    file = '<root><data name="a"><value>&amp;Datei </value></data><data name="b"><value>user _id</value></data></root>'
    expected = file.replace("Datei", "File")
    assert translated(file, "resx", "File", "user _id") == (["Datei", "user _id"], expected)
