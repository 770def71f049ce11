"""Several corpora in one recipe: each pair knows its corpus, and how often it is seen."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt.config import CleaningConfig, Config, DataConfig, ModelConfig, TokenizerConfig, TrainingConfig
from nmt.config.data import CorpusConfig, Profile
from nmt.config.names import fixed_settings
from nmt.config.recipes import dump_config, load_config
from nmt.data.cleaning.cleaner import Pair
from nmt.data.corpora import corpus_files, load_corpus
from nmt.data.sections import labels, sections_of
from nmt.data.store.facts import learn_words
from nmt.data.store.preparing import prepare
from nmt.data.store.record import data_settings
from nmt.data.tokenizer import Tokenizer, load_words, train_tokenizer
from nmt.training.data import TrainingData
from nmt.training.delivery import card
from nmt.training.run import without_effect
from nmt.translation.model_folder import ModelInfo
from tests.data.corpus_files import edited, kept_in, prepared_of, write_corpus
from tests.data.test_mixing import rows_of


def write(folder: Path, sizes: dict[str, int], word: str, languages: tuple[str, ...] = ("de", "en")) -> Path:
    rows = {s: [[f"{word} {s} {code} {n}" for code in languages] for n in range(size)] for s, size in sizes.items()}
    return write_corpus(folder, *languages, **rows)


@pytest.fixture
def data(tmp_path: Path) -> DataConfig:
    main = write(tmp_path / "main", {"train": 40, "val": 3, "test": 2}, "haupt")
    back, news = (write(tmp_path / name, {"train": size}, name) for name, size in (("back", 30), ("news", 20)))
    more = (CorpusConfig(corpus=str(back), weight=0.5, tag="bt"), CorpusConfig(corpus=str(news), name="NEWS", weight=2))
    return DataConfig(corpus=str(main), more=more, drop_duplicates=True)


def test_all_training_text_of_more_is_read_and_val_and_tests_are_those_of_the_corpus(data: DataConfig) -> None:
    corpus = load_corpus(data)
    rows = [*corpus.train.rows()]
    assert [[row.corpus for row in rows].count(number) for number in range(3)] == [40, 30, 20]
    assert all(row.source.endswith(f" {row.line - 1}") for row in rows)
    assert len({(row.corpus, row.line) for row in rows}) == len(rows) == 90
    assert len(corpus.val) == 3
    assert corpus.ledgers["train"].kept == 90
    assert kept_in(corpus) == {"main": 40, "back": 30, "NEWS": 20}
    assert len(corpus_files(data)["train"]) == 6


def test_a_pair_keeps_its_corpus_its_tag_and_its_weight(data: DataConfig, tmp_path: Path) -> None:
    prepared = prepared_of(data, tmp_path / "run")
    read: Any = TrainingData.load(prepared, data).as_read(Config(data=data))
    tokenizer = prepared.tokenizer
    assert read.mixture.amounts == [40, 15, 40]
    tag = tokenizer.source.piece_to_id("<bt>")
    texts = [text for text, _ in prepared.train]
    rows = read.train.source.rows(torch.arange(90))
    for text, ids, number in zip(texts, rows, read.train.portion_N.tolist(), strict=True):
        assert text.startswith(("haupt", "back", "news")[number])
        assert (ids[0] == tag) == (number == 1)
    assert not any(tag in ids for ids in tokenizer.encode_source(["<bt> haupt"]))
    seen = [n for epoch in (0, 1) for n in rows_of(read.mixture, 1, epoch).tolist()]
    assert {seen.count(n) for n in range(90) if read.train.portion_N[n] == 1} == {1}  # in two epochs
    assert {seen.count(n) for n in range(90) if read.train.portion_N[n] == 2} == {4}


def test_a_pair_that_an_earlier_corpus_has_is_dropped_and_counted(data: DataConfig, tmp_path: Path) -> None:
    for language in ("de", "en"):
        with (tmp_path / "news" / f"train.{language}").open("a") as file:
            file.write(f"haupt train {language} 7\nhaupt test {language} 1\n")
    ledger = prepared_of(data, tmp_path / "run").ledgers["train"]
    assert ledger.parts["NEWS"].dropped == {"repeated": 1, "source occurs in test": 1}
    assert ledger.parts["main"].kept == 40
    assert ledger.kept == 90


def test_a_corpus_of_few_pairs_is_read_whole(data: DataConfig, tmp_path: Path) -> None:
    """Only validate needs some of them as val text."""
    write(tmp_path / "few", {"train": 1}, "wenig")
    few = CorpusConfig(corpus=str(tmp_path / "few"))
    assert load_corpus(replace(data, more=(few,))).ledgers["train"].parts["few"].kept == 1
    with pytest.raises(ValueError, match="few has 1 different source sentences and no val text: too few"):
        load_corpus(replace(data, more=(replace(few, validate=True),)))


def test_sentences_without_translations_are_read_in_the_first_steps_alone(data: DataConfig, tmp_path: Path) -> None:
    """As both sides of a row. They give the facts of sources nothing, and get no copies."""
    write(tmp_path / "alone", {"train": 25}, "allein")
    with (tmp_path / "alone" / "train.en").open("a") as file:
        file.write("haupt val en 1\nhaupt train en 7\n" + "long " * 300 + "\n")
    texts = CorpusConfig(corpus=str(tmp_path / "alone"), text="both", weight=2)
    data = replace(data, more=(*data.more[:1], texts), placeholders=0.1, max_pieces=200)
    settings = Config(data=data, tokenizer=TokenizerConfig(vocab_size=330), training=TrainingConfig(denoise_steps=4))
    prepared = prepare(None, settings, tmp_path / "run")
    ledger = prepared.ledgers["train"]
    assert ledger.parts["alone"].dropped == {"occurs in val": 1, "longer than 200 pieces": 1}
    assert ledger.amount() == "70 pairs and 51 texts"
    read: Any = TrainingData.load(prepared, data).as_read(settings)
    pairs = len(prepared.train) - 51
    assert (read.first_mixture.amounts[2], read.mixture.amounts[2]) == (102, 0)
    assert (len(read.first_pairs(999)), len(read.first_pairs(9)), read.texts) == (pairs, 9, 51)
    chosen = read.first_pairs(999)
    first = (side.rows(torch.arange(pairs)) for side in (chosen.source, chosen.target))
    assert all(a != b for a, b in zip(*first, strict=True))
    sides = zip(*(side.rows(torch.arange(pairs + 51)) for side in (read.train.source, read.train.target)), strict=True)
    for pair, ids, number in zip(prepared.train, sides, read.train.portion_N.tolist(), strict=True):
        assert (pair[0] == "") == (ids[0] == ids[1]) == (number == 2)
    assert read.facts.longest_source == max(map(len, prepared.tokenizer.encode_source([a for a, _ in prepared.train])))
    assert len(corpus_files(data)["train"]) == 6
    seldom = replace(data, more=(*data.more[:1], replace(texts, weight=0.001)))
    read = TrainingData.load(prepared, seldom).as_read(replace(settings, data=seldom))
    [warning] = without_effect(settings, (), read)
    assert warning == "WARNING: none of the 51 texts of alone is seen: raise the weight of that corpus"


def test_a_few_pairs_among_many_texts_are_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of sources are theirs, the tokenizer learns from them first, and their sides are compared."""
    monkeypatch.setattr("nmt.data.store.shards.WORDS_SOURCES", 40)
    monkeypatch.setattr("nmt.data.store.preparing.COMPARED", 100)
    learned = list[list[Pair]]()

    def noted(pairs: list[Pair], *settings: Any, **more: Any) -> Tokenizer:
        learned.append(pairs)
        return train_tokenizer(pairs, *settings, **more)

    monkeypatch.setattr("nmt.data.store.preparing.train_tokenizer", noted)
    pairs = [[f"Ein Hund {n} springt", f"A dog {n} jumps"] for n in range(50)]
    write_corpus(tmp_path / "main", "de", "en", train=pairs[:40], val=pairs[40:45], test=pairs[45:])
    (tmp_path / "many.en").write_text("".join(f"text {n}\n" for n in range(900)))
    texts = CorpusConfig(corpus=str(tmp_path / "many.en"), text="target")
    data = DataConfig(corpus=str(tmp_path / "main"), more=(texts,))
    prepared = prepared_of(data, tmp_path / "run")
    assert [source != "" for source, _ in learned[0]] == [True] * 40 + [False] * 900
    sources = [source for source, _ in prepared.train if source]
    assert load_words(prepared.folder / "data") == learn_words(prepared.tokenizer, sources)
    with pytest.raises(ValueError, match=r"^no training pair is left of 940: 40 longer than 12 characters; see "):
        prepared_of(replace(data, max_characters=12), tmp_path / "none")
    write_corpus(
        tmp_path / "main", "de", "en", train=[[b, a] for a, b in pairs[:40]], val=pairs[40:45], test=pairs[45:]
    )
    with pytest.raises(ValueError, match=r"^the sources of train look like the targets of val"):
        prepared_of(data, tmp_path / "swapped")


def test_a_weight_and_a_licence_may_change_and_nothing_is_prepared_anew(data: DataConfig, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    prepared_of(data, folder)
    files = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in (folder / "data").iterdir()}
    heavier = replace(data, licence="CC0", more=tuple(replace(entry, weight=9, licence="CC0") for entry in data.more))
    assert data_settings(Config(data=heavier)) == data_settings(Config(data=data))
    read: Any = TrainingData.load(prepared_of(heavier, folder), heavier).as_read(Config(data=heavier))
    assert read.mixture.amounts == [40, 270, 180]
    assert {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in (folder / "data").iterdir()} == files
    assert fixed_settings(Config(data=heavier)) == fixed_settings(Config(data=data))
    other = replace(data, more=tuple(replace(entry, tag="other") for entry in data.more))
    assert fixed_settings(Config(data=other)) != fixed_settings(Config(data=data))
    with pytest.raises(ValueError, match=r"prepared with other settings: data\.more was"):
        prepared_of(other, folder)


def test_data_that_an_older_nmt_prepared_with_other_weights_is_taken(data: DataConfig, tmp_path: Path) -> None:
    prepared_of(data, tmp_path / "run")
    file = tmp_path / "run" / "data" / "corpus.json"
    with edited(file) as record:
        del record["val_sets"], record["sections"]
        for entry in record["settings"]["data"]["more"]:
            del entry["languages"], entry["validate"], entry["cleaning"], entry["text"]
            entry |= {"weight": 3.0, "licence": "mine", "weights": ""}
        record["settings"]["data"]["weights"] = ""
    (tmp_path / "run" / "data" / "SHA256SUMS").unlink()
    assert prepared_of(data, tmp_path / "run").val_sets == []
    with edited(file) as record:
        record["settings"]["data"]["weights"] = "quality"
    with pytest.raises(ValueError, match=r"other settings: data\.weights is quality: it was removed, .* Give the run"):
        prepared_of(data, tmp_path / "run")


def test_each_val_text_is_a_set_by_itself(data: DataConfig, tmp_path: Path) -> None:
    """Of data.corpus, of its files with names, and of corpora that say validate; none of its sources is trained on."""
    for file in write(tmp_path / "named", {"val": 4}, "arzt").iterdir():
        file.rename(tmp_path / "main" / file.name.replace("val", "valid_medical"))
    back, news = data.more
    data = replace(data, more=(replace(back, validate=True), news))
    corpus = load_corpus(data)
    assert labels(corpus.val_sets) == ["val", "val-medical", "back"] == [section.name for section in corpus.val_sets]
    assert [section.rows for section in corpus.val_sets] == [3, 4, 1]
    kept = {name: ledger.kept for name, ledger in corpus.ledgers.items() if "val" in name}
    assert kept == {"val": 3, "val-medical": 4, "val of back": 1}
    assert corpus.val[3:7] == [(f"arzt val de {n}", f"arzt val en {n}") for n in range(4)]
    assert set(corpus_files(data)) == {"train", "val", "val-medical", "test"}
    train = set(corpus.train)
    assert corpus.val[7] not in train
    assert len(train) == 40 + 29 + 20
    read = TrainingData.load(prepared_of(data, tmp_path / "run"), data)
    assert read.val_sets == corpus.val_sets
    assert [rows for _, rows in read.validation_sets] == [range(3), range(3, 7), range(7, 8)]
    tag = read.tokenizer.source.piece_to_id("<bt>")
    assert tag not in read.validation.source.rows(torch.tensor([7]))[0]


def test_a_corpus_may_have_some_of_the_languages_of_many(tmp_path: Path) -> None:
    """Each pair has a corpus and a direction, and the ledger counts them by both."""
    main = write(tmp_path / "main", {"train": 30, "val": 3, "test": 2}, "haupt", ("de", "en", "fr"))
    back = write(tmp_path / "back", {"train": 60}, "back")
    entry = CorpusConfig(corpus=str(back), weight=2, tag="bt", languages=("de", "en"), validate=True)
    data = DataConfig(corpus=str(main), many_to_many=("de", "en", "fr"), more=(entry,))
    names = [section.name for section in sections_of(data)]
    assert names[2:] == ["main en-de", "main en-fr", "main fr-de", "main fr-en", "back de-en", "back en-de"]
    corpus = load_corpus(data)
    held_out = 3  # for val
    assert kept_in(corpus) == dict.fromkeys(names[:6], 30) | dict.fromkeys(names[6:], 60 - held_out)
    assert labels(corpus.val_sets)[-3:] == ["val.fr-en", "back.de-en", "back.en-de"]
    settings = Config(data=data, tokenizer=TokenizerConfig(vocab_size=330))
    prepared = prepare(None, settings, tmp_path / "run")
    read: Any = TrainingData.load(prepared, data).as_read(settings)
    sizes = torch.bincount(read.train.portion_N).tolist()
    assert sizes == [part.kept for part in prepared.ledgers["train"].parts.values()]
    piece = prepared.tokenizer.source.piece_to_id
    tag, into = piece("<bt>"), {code: piece(f"<2{code}>") for code in data.many_to_many}
    texts = [text for text, _ in prepared.train]
    rows = read.train.source.rows(torch.arange(len(texts)))
    for text, ids, portion in zip(texts, rows, (sections_of(data)[n] for n in read.train.portion_N), strict=True):
        assert text.startswith(f"{'back' if portion.tag else 'haupt'} train {portion.source}")
        assert ids[0] == into[portion.target]
        assert (ids[1] == tag) == bool(portion.tag)
    assert read.mixture


@pytest.mark.parametrize(("whole", "own"), [("none", "crawled"), ("crawled", "none")])
def test_a_corpus_may_have_filters_of_its_own(
    tmp_path: Path, whole: Profile, own: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no corpus repeats another one, whatever their filters."""
    monkeypatch.setattr("nmt.data.cleaning.filters.language_identifier", lambda: None)
    monkeypatch.setattr("nmt.data.cleaning.filters.in_other_language", lambda text, language: False)
    main = write(tmp_path / "main", {"train": 40, "val": 3, "test": 2}, "haupt")
    crawl = write(tmp_path / "crawl", {"train": 20}, "web")
    bad = "This is no text in German"
    twice = ("Der Hund bellt.", "The dog barks.")
    alike = ("Der Hund bellt", "the dog barks")
    for folder, pairs in ((main, [twice, (bad, bad)]), (crawl, [twice, alike, (f"{bad} (2)", f"{bad} (2)")])):
        for side, language in enumerate(("de", "en")):
            with (folder / f"train.{language}").open("a") as file:
                file.writelines(f"{pair[side]}\n" for pair in (*pairs, (f"schÃ¶n {folder.name}", "nice")))
    data = DataConfig(corpus=str(main), more=(CorpusConfig(corpus=str(crawl), cleaning=CleaningConfig(profile=own)),))
    settings = Config(data=data, cleaning=CleaningConfig(profile=whole), tokenizer=TokenizerConfig(vocab_size=330))
    prepared = prepare(None, settings, tmp_path / "run")
    first, second = ({whole: "main", own: "crawl"}[name] for name in ("crawled", "none"))
    parts = prepared.ledgers["train"].parts
    copies = {name: part.dropped["a copy"] for name, part in parts.items()}
    assert copies == {first: 1, second: 0}
    repaired = {name: part.repaired["wrong decoding undone"] for name, part in parts.items()}
    assert repaired == {first: prepared.ledgers["train"].repaired.total(), second: 0} == {first: 1, second: 0}
    assert parts["crawl"].dropped["repeated"] == 1
    sources = [source for source, _ in prepared.train]
    assert ("Der Hund bellt" in sources) == (own == "none"), "alike a pair of the other corpus"
    assert f"schön {first}" in sources
    assert f"schÃ¶n {second}" in sources


def test_filters_of_a_corpus_replace_the_section_and_are_saved(data: DataConfig, tmp_path: Path) -> None:
    """`main`, `back` and `news` have five words in a sentence."""
    back, news = data.more
    own = CleaningConfig(letters=0.2)
    data = replace(data, more=(replace(back, cleaning=own), news))
    config = Config(data=data, cleaning=CleaningConfig(words=3), tokenizer=TokenizerConfig(vocab_size=330))
    with (tmp_path / "main" / "train.de").open("a") as de, (tmp_path / "main" / "train.en").open("a") as en:
        de.write("drei kurze Wörter\n")
        en.write("three short words\n")
    prepared = prepare(None, config, tmp_path / "run")
    assert kept_in(prepared) == {"main": 1, "back": 30, "NEWS": 0}
    (tmp_path / "config.yaml").write_text(dump_config(config))
    saved = load_config(tmp_path / "config.yaml")
    assert saved == config
    assert prepare(None, saved, tmp_path / "run").train == prepared.train
    other = replace(config, data=replace(data, more=(back, news)))
    with pytest.raises(ValueError, match=r"other settings: data\.more was .*tag: bt, cleaning: {letters: 0\.2}}"):
        prepare(None, other, tmp_path / "run")


def test_a_tokenizer_that_lacks_what_the_text_needs_is_refused(data: DataConfig, tmp_path: Path) -> None:
    main, sentences = DataConfig(corpus=data.corpus), CorpusConfig(corpus=data.corpus, name="alone", text="both")
    prepared_of(main, tmp_path / "plain")
    two = TokenizerConfig(vocab_size=300, joint=False)
    prepare(None, Config(data=main, tokenizer=two, model=ModelConfig(tied_embeddings="none")), tmp_path / "two")
    for name, needed, problem in (
        ("plain", data, "the tokenizer has no piece <bt>"),
        ("plain", replace(main, placeholders=0.5), r"has no pieces for placeholders: set data\.placeholders to 0"),
        ("two", replace(data, more=(sentences,)), r"each language, but alone of data\.more has no translations"),
        ("two", replace(main, text="both"), r"each language, but data\.text is both: take another"),
    ):
        settings = Config(data=needed, tokenizer=TokenizerConfig(folder=str(tmp_path / name / "tokenizer")))
        with pytest.raises(ValueError, match=problem):
            prepare(None, settings, tmp_path / "run")


def test_the_model_card_names_corpora_and_licences(data: DataConfig) -> None:
    info = ModelInfo("de", "en", "main", Config().model, Config().search)
    noted = replace(data, licence="CC BY 4.0", more=(data.more[0], replace(data.more[1], licence="CC0")))
    text = card(info, noted, 1, 90, {"wmt/wmt14": "a1b2"})
    assert "Text that it was trained on: main (CC BY 4.0), back (licence not noted), NEWS (CC0).\n" in text
    assert "90 sentence pairs of main, back, NEWS." in text
    alone = replace(noted, more=(data.more[0], CorpusConfig(corpus="NEWS", text="target")))
    assert "90 sentence pairs of main, back and sentences of NEWS." in card(info, alone, 1, 90, {})
    assert "Read from the Hugging Face hub: wmt/wmt14 at commit a1b2.\n" in text
    assert "Text that it was trained on: main (CC BY 4.0).\n" in card(info, replace(noted, more=()), 1, 90, {})
    plain = card(info, replace(data, more=()), 1, 90, {})
    assert "hub" not in plain
    assert "Text that" not in plain
