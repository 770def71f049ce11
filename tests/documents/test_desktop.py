"""Resources of .NET: texts are translated, everything else stays."""

from tests.documents.office_samples import RESX
from tests.documents.samples import read, translated


def test_only_the_value_of_a_text_changes() -> None:
    data = f"\ufeff{RESX}"
    assert [unit.place for unit in read(data, "resx").units] == ["entry a"]
    _, changed = translated(data, "resx", "Hello &amp; hi<br/>{0} <")
    assert changed == data.replace("Guten Tag\n{0}!", "Hello &amp; hi\n{0} &lt;")


def test_accelerators_are_put_back() -> None:
    file = '<root><data name="a"><value>&amp;Datei </value></data><data name="b"><value>user _id</value></data></root>'
    expected = file.replace("Datei", "File")
    assert translated(file, "resx", "File", "user _id") == (["Datei", "user _id"], expected)
