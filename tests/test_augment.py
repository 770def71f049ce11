"""A corpus grows by what models make of it: exact pairs, untouched val and test text, nothing done twice or lost."""

import gzip
import pickle
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from sacrebleu.metrics.chrf import CHRF

from nmt.augment import main
from nmt.commands import augmentation
from nmt.commands.augmentation import distil, key_of, new_pairs
from nmt.commands.pieces import Pieces, load_once, usable_text
from nmt.config import DataConfig, SearchConfig
from nmt.data.cleaning.cleaner import Ledger
from nmt.data.corpora import read_sentences
from nmt.data.store.engines import Engine, Task
from nmt.files import check_sums, mark, read_lines
from nmt.reading.request import Translation
from nmt.translation.translator import Translator
from tests.data.corpus_files import interrupt, tree, write_corpus
from tests.tiny import Stderr, make_model, make_tokenizer, save_tiny, write

# A random model would go on to the limit, and the guard would flag it.
SEARCH = SearchConfig(beam_size=2, max_length=2, batch_size=8, guard=False)
PAIRS = [
    ("Der kleine Hund läuft über die Wiese.", "The little dog runs across the meadow."),
    ("Zwei Männer trinken Kaffee.", "Two men drink coffee."),
    ("Eine Frau liest.", "A woman reads."),
    ("Eine Frau liest.", "A woman is reading."),
]
SPLITS = {
    "train": PAIRS,
    "val": [("Ein Kind lacht.", "A child laughs.")],
    "val-news": [("Es regnet.", "It rains.")],
    "test_a": [("Ein Vogel singt.", "A bird sings."), ("Er geht.", "He goes.")],
}


def train_pairs(folder: Path) -> list[tuple[str, str]]:
    return list(zip(read_lines(folder / "train.de"), read_lines(folder / "train.en"), strict=True))


def save_model(folder: Path, source: str, target: str, seed: int) -> None:
    tokenizer = make_tokenizer(folder / "tokenizer", PAIRS, 330)
    save_tiny(folder / "model", make_model(tokenizer, seed), tokenizer, SEARCH, (source, target))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and tiny random models for both directions."""
    home = tmp_path_factory.mktemp("home")
    write_corpus(home / "corpus", **SPLITS)
    save_model(home / "forth", "de", "en", seed=1)
    save_model(home / "back", "en", "de", seed=2)
    return home


def arguments(home: Path, output: Path, *more: str) -> list[str]:
    common = ["--device", "cpu", "--precision", "fp32", "--output", str(output)]
    return ["--data.corpus", str(home / "corpus"), *common, *more]


def both(home: Path) -> list[str]:
    return ["--forward", str(home / "forth"), "--backward", str(home / "back" / "model")]


def test_each_sentence_goes_with_its_translation(auto: str, home: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more.en", ["", " A cat sleeps. ", "Two men drink coffee."])
    options = arguments(home, tmp_path / "out", *both(home), "--more-target", more)
    assert main([option for option in options if option not in ("--precision", "fp32")]) == 0
    pairs = train_pairs(tmp_path / "out")
    assert pairs[:4] == PAIRS
    forth, back = (Translator.load(home / name / "model", "cpu") for name in ("forth", "back"))
    assert forth.precision == back.precision == auto
    sources = [source for source, _ in PAIRS[:3]]
    targets = [*(target for _, target in PAIRS), "A cat sleeps."]
    expected = list(zip(sources, forth.translate(sources), strict=True))
    expected += zip(back.translate(targets), targets, strict=True)
    assert pairs[4:] == [pair for pair in expected if all(pair)]
    assert len(pairs) > 8
    for split in ("val", "val-news", "test_a"):
        assert read_lines(tmp_path / f"out/{split}.de") == [source for source, _ in SPLITS[split]]
        assert read_lines(tmp_path / f"out/{split}.en") == [target for _, target in SPLITS[split]]
    assert not list(tmp_path.glob("out.*"))
    check_sums(tmp_path / "out", "train.de", "val.en")


def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Pieces of two lines; the list gets the lines that are translated."""
    given: list[list[str]] = []
    translate = Translator.translate_n_best

    def counted(self: Translator, lines: list[str], search: SearchConfig) -> object:
        given.append(lines)
        return translate(self, lines, search)

    monkeypatch.setattr(augmentation, "PIECE", 2)
    monkeypatch.setattr(Translator, "translate_n_best", counted)
    return given


@pytest.mark.parametrize("mode", [[], ["--only-new"]])
def test_an_interrupted_command_goes_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mode: list[str]
) -> None:
    given = in_small_pieces(monkeypatch)
    options = [*both(home), *mode, "--samples", "2"]
    assert main(arguments(home, tmp_path / "whole", *options)) == 0
    whole, given[:] = given[:], []
    assert len(whole) == 2 + 2, "three sources and four targets"

    def interrupt(pieces: Pieces, number: int) -> None:
        if number == 3:
            raise KeyboardInterrupt
        translate(pieces, number)

    translate = Pieces.translate
    with monkeypatch.context() as patch:
        patch.setattr(Pieces, "translate", interrupt)
        assert main(arguments(home, tmp_path / "out", *options)) == 130
    assert given == whole[:3]
    (tmp_path / "out.translating" / "made" / "backward-1-00001-x.partial").write_bytes(b"cut of")  # as a kill leaves it
    assert "going on" not in capsys.readouterr().err
    assert main(arguments(home, tmp_path / "out", *options)) == 0
    assert "has what an interrupted command left: going on with it" in capsys.readouterr().err
    assert given[3:] == whole[3:], "only the missing piece was translated"
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.parametrize("step", ["write_pieces", "write_json"])
def test_interrupted_reading_restarts(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(augmentation, step, interrupt)
        assert main(arguments(home, tmp_path / "out", *both(home))) == 130
    assert main(arguments(home, tmp_path / "out", *both(home))) == 0
    assert main(arguments(home, tmp_path / "whole", *both(home))) == 0
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (["--seed", "4"], "forward 1: seed was 3, is 4"),
        (["--forward", "other"], "the hash of forward 1 was"),
        (["--only-new"], "--only-new was False, is True"),
        (["--precision", "bf16"], "forward 1: precision was 'fp32', is 'bf16'"),
        (["--more-source", "more.de"], "--more-source was [], is ['more.de']"),
        (["text"], "the hash of "),
    ],
)
def test_what_was_begun_with_other_settings_is_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr, change: list[str], told: str
) -> None:
    monkeypatch.chdir(home)
    save_model(home / "other", "de", "en", seed=3)
    write(home / "more.de", ["Der Hund."])
    corpus = Path(shutil.copytree(home / "corpus", tmp_path / "corpus"))
    first = ["--data.corpus", str(corpus), "--output", str(tmp_path / "out"), "--samples", "2", "--device", "cpu"]
    first += ["--precision", "fp32", "--seed", "3"]
    forth = ["--forward", str(home / "forth")]
    with monkeypatch.context() as patch:
        patch.setattr(augmentation, "finish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            main([*first, *forth])
    if change == ["text"]:
        write(corpus / "train.de", ["Neu", *(source for source, _ in PAIRS[1:])])
        change = []
    error = stderr_of(main, [*first, *change] if "--forward" in change else [*first, *forth, *change])
    assert f"{tmp_path}/out.translating was begun with other settings: " in error
    assert told in error
    assert "Repeat that command, delete" in error
    if change:
        assert main([*first, *forth, "--batch-size", "1"]) == 0, "the batch size may change"


def test_parts_make_equal_bytes(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr) -> None:
    given = in_small_pieces(monkeypatch)
    assert main(arguments(home, tmp_path / "whole", *both(home))) == 0
    whole, given[:] = given[:], []
    options = arguments(home, tmp_path / "out", *both(home))
    assert "2 of 4 pieces are not translated yet" in stderr_of(main, [*options, "--part", "2/2"], status=0)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(Engine, "share", lambda *_: range(4))  # as if the other part had begun at the same time
    assert main([*options, "--part", "1/2"]) == 0
    assert given == [whole[1], whole[3], whole[0], whole[2]]
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")
    assert not list(tmp_path.glob("out.*"))


def test_a_part_that_comes_second_leaves_the_output_to_the_other(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr
) -> None:
    options = arguments(home, tmp_path / "out", *both(home))

    def meanwhile(*_: object) -> None:
        """The other part finds everything translated."""
        monkeypatch.undo()
        assert main(options) == 0

    monkeypatch.setattr(Engine, "run", meanwhile)
    assert f"{tmp_path}/out is made by another part" in stderr_of(main, [*options, "--part", "1/2"], status=0)
    assert not list(tmp_path.glob("out.*"))


def test_workers_load_once_and_make_the_same_bytes(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks are pickled, as for other processes; what is sent has no weights."""
    monkeypatch.setattr(augmentation, "PIECE", 1)
    assert main(arguments(home, tmp_path / "one", *both(home))) == 0
    loaded, load, sizes = list[object](), Translator.load, list[int]()

    def counted(folder: Path, device: str, **more: Any) -> Translator:
        loaded.append(folder)
        return load(folder, device, **more)

    def sent(engine: Engine, task: Task, numbers: list[int], name: str) -> None:
        loaded.clear()
        for number in numbers:
            message = pickle.dumps(task)
            sizes.append(len(message))
            pickle.loads(message)(number)

    monkeypatch.setattr(Translator, "load", counted)
    monkeypatch.setattr(Engine, "run", sent)
    load_once.cache_clear()
    assert main(arguments(home, tmp_path / "out", *both(home), "--workers", "2")) == 0
    assert len(sizes) == 7
    assert max(sizes) < 5000
    assert len(loaded) == 2
    assert tree(tmp_path / "out") == tree(tmp_path / "one")


def test_made_pairs_alone_are_a_corpus_for_data_more(home: Path, tmp_path: Path, stderr_of: Stderr) -> None:
    """Only further text is translated, once each."""
    more = write(tmp_path / "more.en", ["A cat sleeps.", *(f"Dog {n}." for n in range(12)), "A cat sleeps."])
    options = ["--backward", str(home / "back"), "--more-target", more, "--only-new"]
    assert "with 13 training pairs\n" in stderr_of(main, arguments(home, tmp_path / "made", *options), status=0)
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["SHA256SUMS", "train.de", "train.en"]
    assert read_lines(tmp_path / "made" / "train.en") == ["A cat sleeps.", *(f"Dog {n}." for n in range(12))]


def test_text_without_a_line_to_translate_is_told(home: Path, tmp_path: Path, stderr_of: Stderr) -> None:
    options = ["--backward", str(home / "back"), "--only-new", "--more-target"]
    for lines, why in (([], "no lines"), (["", "A child laughs."], "1 .*, 1 occurs in val or test")):
        said = stderr_of(main, arguments(home, tmp_path / "out", *options, write(tmp_path / "more.en", lines)))
        assert re.search(rf"nmt.augment: there is no text to translate \(more target 1: {why}\)\n$", said)
    assert not list(tmp_path.glob("out*/*"))


def test_each_sample_is_a_pair_and_none_is_too_unsure(home: Path, tmp_path: Path) -> None:
    forth = Translator.load(home / "forth" / "model", "cpu", precision="fp32")
    sources = [source for source, _ in PAIRS[:3]]
    n_best = forth.translate_n_best(sources, replace(SEARCH, samples=3, n_best=3))
    expected = [(source, best.text) for source, samples in zip(sources, n_best, strict=True) for best in samples]
    assert main(arguments(home, tmp_path / "out", "--forward", str(home / "forth"), "--samples", "3")) == 0
    pairs = train_pairs(tmp_path / "out")
    assert pairs[4:] == [pair for pair in dict.fromkeys(expected) if all(pair)]


def test_what_is_flagged_or_empty_is_left_out_but_not_what_the_model_is_only_unsure_of() -> None:
    fine = Translation("A dog.", -1.0, ())
    assert [usable_text(t) for t in (fine, fine.flagged("unsure"))] == ["A dog.", "A dog."]
    assert usable_text(fine.flagged("unsure", "loop")) == "\tflagged: loop"
    assert usable_text(replace(fine, text="")) == usable_text(None) == "\tno translation"


def test_distilled_pairs_replace_those_of_the_corpus(home: Path, tmp_path: Path) -> None:
    """The hypothesis that sacreBLEU's chrF finds closest to the target of the pair."""
    forth = Translator.load(home / "forth" / "model", "cpu", precision="fp32")
    sources = [source for source, _ in PAIRS]
    n_best = forth.translate_n_best(sources, replace(SEARCH, beam_size=4, n_best=4))
    beams = [[hypothesis.text for hypothesis in beam if hypothesis.text] for beam in n_best]
    chrf = CHRF()
    expected = [
        max(beam, key=lambda text: chrf.sentence_score(text, [target]).score)
        for beam, (_, target) in zip(beams, PAIRS, strict=True)
    ]
    assert expected != [beam[0] for beam in beams]
    options = ["--forward", str(home / "forth"), "--beam-size", "4", "--distil"]
    assert main(arguments(home, tmp_path / "out", *options)) == 0
    assert read_lines(tmp_path / "out" / "train.de") == sources
    assert read_lines(tmp_path / "out" / "train.en") == expected
    assert read_lines(tmp_path / "out" / "val.en") == ["A child laughs."]


def test_a_pair_without_a_usable_translation_stays() -> None:
    translations = {"a": ["\tflagged: loop", "x y"], "b": ["\tno translation"], "c": ["\tflagged: loop"], "d": ["z"]}
    wanted = [("a", "x"), ("b", "kept"), ("c", ""), ("d", "")]  # c and d are further text, without a target
    pairs, ledger = distil(wanted, translations)
    assert pairs == [("a", "x y"), ("b", "kept"), ("d", "z")]
    assert ledger.read == 4
    assert ledger.dropped == {"no translation": 1, "flagged: loop": 1}


def test_what_is_unusable_or_known_is_dropped_and_counted_by_cause() -> None:
    known, ledger = set(map(key_of, PAIRS)), Ledger()
    given = [("a", "\tno translation"), ("\tflagged: loop", "b"), PAIRS[0], ("a", "b"), ("a", "b")]
    assert list(new_pairs(known, given, ledger)) == [("a", "b")]
    assert ledger.read == 5
    assert ledger.dropped == {"no translation": 1, "flagged: loop": 1, "known already": 2}


def test_monolingual_text_is_read_as_pairs_are(tmp_path: Path) -> None:
    """Compressed or not; what is invalid, too long, or known from val or test is dropped and counted."""
    more = tmp_path / "more.en.gz"
    lines = ["\ufeffA cat sleeps.", "A bird sings.", "", "A cow \udcff.", "A very long line, or so.", "A dog barks."]
    more.write_bytes(gzip.compress("\n".join(lines).encode("utf8", "surrogateescape")))
    sentences, ledger = read_sentences(more, DataConfig(max_characters=20, text="target"), {"A bird sings."})
    assert list(sentences) == ["A cat sleeps.", "A dog barks."]
    assert ledger.repaired == {"byte-order mark removed": 1}
    assert ledger.dropped == dict.fromkeys(
        ["blank", "invalid UTF-8", "occurs in val or test", "longer than 20 characters"], 1
    )


@pytest.mark.parametrize("name", ["more.tsv", "more.jsonl"])
@pytest.mark.parametrize(("text", "sentence"), [("source", "Ein Hund."), ("target", "A dog.")])
def test_one_side_may_be_a_table(tmp_path: Path, name: str, text: Literal["source", "target"], sentence: str) -> None:
    rows = {"more.tsv": "en\tde\nA dog.\tEin Hund.\n", "more.jsonl": '{"de": "Ein Hund.", "en": "A dog."}\n'}
    (tmp_path / name).write_text(rows[name])
    sentences, ledger = read_sentences(tmp_path / name, DataConfig(text=text), ())
    assert (list(sentences), ledger.read) == ([sentence], 1)


def test_pairs_that_are_repeated_on_purpose_stay_so(home: Path, tmp_path: Path) -> None:
    repeated = [*PAIRS, *PAIRS[:2]]
    write_corpus(tmp_path / "corpus", **SPLITS | {"train": repeated})
    options = ["--forward", str(home / "forth"), "--data.drop_duplicates", "false"]
    assert main(arguments(tmp_path, tmp_path / "out", *options)) == 0
    assert train_pairs(tmp_path / "out")[:6] == repeated


def test_folders_beside_the_output_are_left_alone(home: Path, tmp_path: Path) -> None:
    """But what a command that was killed at its end has left is deleted."""
    for name in ("out.old", "out.partial", "out.translating.done"):
        write(tmp_path / name / "mine", ["precious"])
    mark(tmp_path / "out.translating.done")
    assert main(arguments(home, tmp_path / "out", *both(home))) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.old", "out.partial"]
    for name in ("out.old", "out.partial"):
        assert read_lines(tmp_path / name / "mine") == ["precious"]


def test_flagged_translations_are_left_out(home: Path, tmp_path: Path) -> None:
    """A random model loops; the guard sees it."""
    assert main(arguments(home, tmp_path / "out", "--forward", str(home / "forth"), "--guard", "true")) == 0
    forth = Translator.load(home / "forth" / "model", "cpu", precision="fp32")
    sources = [source for source, _ in PAIRS[:3]]
    n_best = forth.translate_n_best(sources, SearchConfig(beam_size=2, max_length=2, batch_size=8))
    kept = [(source, best.text) for source, (best, *_) in zip(sources, n_best, strict=True) if not best.flags]
    pairs = train_pairs(tmp_path / "out")
    assert len(kept) < 3
    assert pairs == [*PAIRS, *kept]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "name a model"),
        (["--forward", "back"], "translates from en to de, not from de to en"),
        (["--forward", "forth", "--more-target", "x"], "--more-target needs a model that translates it: --backward"),
        (["--forward", "forth", "--more-source", "nothing"], "nothing: No such file"),
        (["--forward", "forth", "--data.text", "both"], "data.text is both, but only pairs can be added to"),
        (["--forward", "forth", "--backward", "back", "--distil"], "give --forward DIR once"),
        (["--forward", "forth", "--distil", "--only-new"], "give one of them"),
        (["--forward", "forth", "--part", "3/2"], "--part is 3/2: it must be I/N"),
    ],
)
def test_mistakes_are_told_before_any_work(
    given: list[str], told: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr
) -> None:
    monkeypatch.chdir(home)
    assert told in stderr_of(main, arguments(home, tmp_path / "out", *given))
    assert not list(tmp_path.glob("out*"))


def test_an_output_that_is_there_stays(home: Path, tmp_path: Path, stderr_of: Stderr) -> None:
    write(tmp_path / "out" / "mine", ["precious"])
    told = stderr_of(main, arguments(home, tmp_path / "out", *both(home)))
    assert "exists already: give another name, or delete it" in told
    assert read_lines(tmp_path / "out/mine") == ["precious"]
    assert "--output DIR is missing" in stderr_of(main, ["--data.corpus", str(home / "corpus"), *both(home)])
