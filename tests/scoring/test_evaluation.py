"""Evaluating is translating and scoring; test sets are read with as many references as sources."""

import copy
from pathlib import Path

import pytest

from nmt.scoring.evaluation import evaluate, read_test_sets
from nmt.scoring.metrics import score
from nmt.translation.translator import Translator
from tests.data.corpus_files import write_corpus
from tests.tiny import PAIRS

SOURCES, REFERENCES = map(list, zip(*PAIRS, strict=True))


def test_bleu_goes_by_the_language_of_the_translations(translator: Translator) -> None:
    into_thai = copy.copy(translator)
    into_thai.language = "th"
    references = REFERENCES, REFERENCES[::-1]
    result = evaluate(into_thai, SOURCES, *references, metrics=("bleu", "ter"))
    assert result.scores == score(result.translations, *references, metrics=("bleu", "ter"), language="th")
    assert "|tok:char|" in result.scores[0].signature
    assert result.settings["language"] == "th"


def test_marked_lines_are_evaluated_as_users_get_them(translator: Translator) -> None:
    lines = ["<p>Der Hund.</p><p>Der Hund.</p>", "a < b"]
    [dog] = translator.translate(["Der Hund."])
    assert evaluate(translator, lines, lines).translations[0] == f"<p>{dog}</p><p>{dog}</p>"
    plain = evaluate(translator, lines, lines, markup="none")
    assert plain.translations == translator.translate(lines, markup="none")
    assert plain.settings["markup"] == "none"


def test_test_sets_are_those_of_the_run_or_the_files_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [("ein", "a")]
    write_corpus(tmp_path / "data", "src", "tgt", **{"test-b": pair}, test=pair, train=pair)
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path / "model")
    for folder in (tmp_path / "model", Path()):
        found = read_test_sets(folder, None, [])
        assert list(found.items()) == [("test", [["ein"], ["a"]]), ("test-b", [["ein"], ["a"]])]
    source, target = str(tmp_path / "data" / "train.src"), str(tmp_path / "data" / "train.tgt")
    assert read_test_sets(tmp_path / "model", source, [target, target]) == {"train": [["ein"], ["a"], ["a"]]}
    (tmp_path / "runs" / "new" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"is not a model folder: .* \(its training has not finished\)"):
        read_test_sets(tmp_path / "runs" / "new", None, [])
