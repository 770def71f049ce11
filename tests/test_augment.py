"""A corpus grows by what models make of it: exact pairs, untouched val and test text, nothing done twice or lost."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from sacrebleu.metrics.chrf import CHRF

from nmt.augment import main
from nmt.config import DataConfig, SearchConfig
from nmt.data.corpora import load_sentences
from nmt.files import check_sums
from nmt.translation import augmentation
from nmt.translation.augmentation import Distil, distil, new_pairs
from nmt.translation.translator import Translator
from tests.tiny import make_model, make_tokenizer, save_tiny

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
    "test_a": [("Ein Vogel singt.", "A bird sings."), ("Er geht.", "He goes.")],
}


def write(path: Path, lines: list[str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


def read(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


def save_model(folder: Path, source: str, target: str, seed: int) -> None:
    tokenizer = make_tokenizer(folder / "tokenizer", PAIRS, 330)
    save_tiny(folder / "model", make_model(tokenizer, seed), tokenizer, SEARCH, (source, target))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and tiny random models for both directions."""
    home = tmp_path_factory.mktemp("home")
    for split, pairs in SPLITS.items():
        write(home / "corpus" / f"{split}.de", [source for source, _ in pairs])
        write(home / "corpus" / f"{split}.en", [target for _, target in pairs])
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
    pairs = list(zip(read(tmp_path / "out/train.de"), read(tmp_path / "out/train.en"), strict=True))
    assert pairs[:4] == PAIRS
    forth, back = (Translator.load(home / name / "model", "cpu") for name in ("forth", "back"))
    assert forth.precision == back.precision == auto
    sources = [source for source, _ in PAIRS[:3]]
    targets = [*(target for _, target in PAIRS), "A cat sleeps."]
    expected = [
        *zip(sources, forth.translate(sources), strict=True),
        *zip(back.translate(targets), targets, strict=True),
    ]
    assert pairs[4:] == [pair for pair in expected if all(pair)]
    assert len(pairs) > 8
    for split in ("val", "test_a"):
        assert read(tmp_path / f"out/{split}.de") == [source for source, _ in SPLITS[split]]
        assert read(tmp_path / f"out/{split}.en") == [target for _, target in SPLITS[split]]
    assert not list(tmp_path.glob("out.*"))
    check_sums(tmp_path / "out", "train.de", "val.en")


def test_an_interrupted_command_goes_on(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(augmentation, "CHUNK", 2)
    given: list[list[str]] = []
    translate = Translator.translate_n_best

    def fail_in_the_third(self: Translator, lines: list[str], search: SearchConfig) -> object:
        given.append(lines)
        if len(given) == 3:
            raise KeyboardInterrupt
        return translate(self, lines, search)

    monkeypatch.setattr(Translator, "translate_n_best", fail_in_the_third)
    assert main(arguments(home, tmp_path / "out", *both(home))) == 130
    (one, *_), others = sorted(tmp_path.glob("out.translating/*.txt"), key=lambda p: -p.stat().st_size), given[:]
    one.write_bytes(one.read_bytes() + b"cut of")  # as a kill would leave it
    assert main(arguments(home, tmp_path / "out", *both(home))) == 0
    assert given[3:] == [others[2], given[4]]  # nothing of the first model was translated again
    monkeypatch.undo()
    assert main(arguments(home, tmp_path / "whole", *both(home))) == 0
    for file in ("train.de", "train.en"):
        assert read(tmp_path / "out" / file) == read(tmp_path / "whole" / file)


@pytest.mark.parametrize("change", [["--seed", "4"], ["--top-k", "3"], ["--forward", "other"]])
def test_what_was_made_with_other_settings_is_not_taken(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: list[str]
) -> None:
    save_model(home / "other", "de", "en", seed=3)
    sampled = ["--samples", "2", "--seed", "3"]
    before = ["--forward", str(home / "forth"), *sampled]
    after = ["--forward", str(home / "other"), *sampled] if "other" in change else [*before, *change]
    assert main(arguments(home, tmp_path / "expected", *after)) == 0
    monkeypatch.setattr(augmentation, "write_corpus", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(arguments(home, tmp_path / "out", *before))
    assert list(tmp_path.glob("out.translating/*.txt")), "its translations are there"
    monkeypatch.undo()
    assert main(arguments(home, tmp_path / "out", *after)) == 0
    assert read(tmp_path / "out/train.en") == read(tmp_path / "expected/train.en")


def test_each_sample_is_a_pair_and_none_is_too_unsure(home: Path, tmp_path: Path) -> None:
    forth = Translator.load(home / "forth" / "model", "cpu", precision="fp32")
    sources = [source for source, _ in PAIRS[:3]]
    n_best = forth.translate_n_best(sources, replace(SEARCH, samples=3, n_best=3))
    expected = [(source, best.text) for source, samples in zip(sources, n_best, strict=True) for best in samples]
    assert main(arguments(home, tmp_path / "out", "--forward", str(home / "forth"), "--samples", "3")) == 0
    pairs = list(zip(read(tmp_path / "out/train.de"), read(tmp_path / "out/train.en"), strict=True))
    assert pairs[4:] == [pair for pair in dict.fromkeys(expected) if all(pair)]


def test_distilled_pairs_replace_those_of_the_corpus(home: Path, tmp_path: Path) -> None:
    """The best of a beam, or the hypothesis that sacreBLEU's chrF finds closest to the target of the pair."""
    forth = Translator.load(home / "forth" / "model", "cpu", precision="fp32")
    sources = [source for source, _ in PAIRS]
    n_best = forth.translate_n_best(sources, replace(SEARCH, beam_size=4, n_best=4))
    beams = [[hypothesis.text for hypothesis in beam if hypothesis.text] for beam in n_best]
    chrf = CHRF()
    expected = {
        "best": [beam[0] for beam in beams],
        "closest": [
            max(beam, key=lambda text: chrf.sentence_score(text, [target]).score)
            for beam, (_, target) in zip(beams, PAIRS, strict=True)
        ],
    }
    assert expected["best"] != expected["closest"]
    for choice, targets in expected.items():
        options = ["--forward", str(home / "forth"), "--beam-size", "4", "--distil", choice]
        assert main(arguments(home, tmp_path / choice, *options)) == 0
        assert read(tmp_path / choice / "train.de") == sources
        assert read(tmp_path / choice / "train.en") == targets
        assert read(tmp_path / choice / "val.en") == ["A child laughs."]


def test_a_pair_without_a_usable_translation_stays() -> None:
    translations = {"a": ["\tflagged: loop", "x y"], "b": ["\tno translation"], "c": ["\tflagged: loop"], "d": ["z"]}
    wanted = [("a", "x"), ("b", "kept"), ("c", ""), ("d", "")]  # c and d are further text, without a target
    choices: list[Distil] = ["best", "closest"]
    for choice in choices:
        pairs, ledger = distil(wanted, translations, choice)
        assert pairs == [("a", "x y"), ("b", "kept"), ("d", "z")]
        assert ledger.read == 4
        assert ledger.dropped == {"no translation": 1, "flagged: loop": 1}


def test_what_is_unusable_or_known_is_dropped_and_counted_by_cause() -> None:
    known = set(PAIRS)
    given = [("a", "\tno translation"), ("\tflagged: loop", "b"), PAIRS[0], ("a", "b"), ("a", "b")]
    pairs, ledger = new_pairs(known, given)
    assert pairs == [("a", "b")]
    assert ledger.read == 5
    assert ledger.dropped == {"no translation": 1, "flagged: loop": 1, "known already": 2}


def test_text_in_one_language_is_read_as_training_text_is(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compressed or not; what is invalid, too long, or known from val or test is dropped and counted."""
    more = tmp_path / "more.en.gz"
    lines = ["\ufeffA cat sleeps.", "A bird sings.", "", "A cow \udcff.", "A very long line, or so.", "A dog barks."]
    more.write_bytes(gzip.compress("\n".join(lines).encode("utf8", "surrogateescape")))
    assert (
        main(arguments(home, tmp_path / "out", *both(home), "--more-target", str(more), "--data.max_characters", "20"))
        == 0
    )
    assert set(read(tmp_path / "out/train.en")) & {line.strip("\ufeff") for line in lines} == {
        "A cat sleeps.",
        "A dog barks.",
    }
    _, ledger = load_sentences(more, DataConfig(max_characters=20), {"A bird sings."})
    assert ledger.repaired == {"byte-order mark removed": 1}
    assert ledger.dropped == dict.fromkeys(
        ["blank", "invalid UTF-8", "occurs in val or test", "longer than 20 characters"], 1
    )
    capsys.readouterr()
    (tmp_path / "more.en").write_bytes("A cat".encode("utf-16"))
    assert main(arguments(home, tmp_path / "no", *both(home), "--more-target", str(tmp_path / "more.en"))) == 2
    assert "is UTF-16: convert it" in capsys.readouterr().err


def test_pairs_that_are_repeated_on_purpose_stay_so(home: Path, tmp_path: Path) -> None:
    repeated = [*PAIRS, *PAIRS[:2]]
    for side, language in enumerate(("de", "en")):
        write(tmp_path / f"corpus/train.{language}", [pair[side] for pair in repeated])
        for split in ("val", "test_a"):
            write(tmp_path / f"corpus/{split}.{language}", [pair[side] for pair in SPLITS[split]])
    assert (
        main(arguments(tmp_path, tmp_path / "out", "--forward", str(home / "forth"), "--data.drop_duplicates", "false"))
        == 0
    )
    assert list(zip(read(tmp_path / "out/train.de"), read(tmp_path / "out/train.en"), strict=True))[:6] == repeated


def test_folders_beside_the_output_are_left_alone(home: Path, tmp_path: Path) -> None:
    for name in ("out.old", "out.partial"):
        write(tmp_path / name / "mine", ["precious"])
    assert main(arguments(home, tmp_path / "out", *both(home))) == 0
    for name in ("out.old", "out.partial"):
        assert read(tmp_path / name / "mine") == ["precious"]


def test_flagged_translations_are_left_out(home: Path, tmp_path: Path) -> None:
    """A random model loops; the guard sees it."""
    assert main(arguments(home, tmp_path / "out", "--forward", str(home / "forth"), "--guard", "true")) == 0
    forth = Translator.load(home / "forth" / "model", "cpu", precision="fp32")
    sources = [source for source, _ in PAIRS[:3]]
    n_best = forth.translate_n_best(sources, SearchConfig(beam_size=2, max_length=2, batch_size=8))
    kept = [(source, best.text) for source, (best, *_) in zip(sources, n_best, strict=True) if not best.flags]
    pairs = list(zip(read(tmp_path / "out/train.de"), read(tmp_path / "out/train.en"), strict=True))
    assert len(kept) < 3
    assert pairs == [*PAIRS, *kept]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "name a model"),
        (["--forward", "back"], "translates from en to de, not from de to en"),
        (["--backward", "forth"], "translates from de to en, not from en to de"),
        (["--forward", "corpus"], "is not a model folder"),
        (
            ["--forward", "forth", "--more-target", "x"],
            "--more-target needs a model that translates it: --backward DIR",
        ),
        (["--forward", "forth", "--more-source", "nothing"], "nothing: No such file"),
        (["--forward", "forth", "--shortlist", "8"], "has no shortlist"),
        (["--forward", "forth", "--data.source", "fr"], "translates from de to en, not from fr to en"),
        (["--forward", "forth", "--data.text", "both"], "data.text is both, but only pairs can be added to"),
        (["--forward", "forth", "--distil", "worst"], "--distil is worst: take best or closest"),
        (["--forward", "forth", "--backward", "back", "--distil", "best"], "give --forward DIR once"),
        (["--forward", "forth", "--data.corups", "x"], "did you mean data.corpus"),
    ],
)
def test_mistakes_are_told_before_any_work(
    given: list[str],
    told: str,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(home)
    assert main(arguments(home, tmp_path / "out", *given)) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))


def test_an_output_that_is_there_stays(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "out" / "mine", ["precious"])
    assert main(arguments(home, tmp_path / "out", *both(home))) == 2
    assert "exists already: name a new folder, or delete it" in capsys.readouterr().err
    assert read(tmp_path / "out/mine") == ["precious"]
    assert main(["--data.corpus", str(home / "corpus"), *both(home)]) == 2
    assert "--output DIR is missing" in capsys.readouterr().err
