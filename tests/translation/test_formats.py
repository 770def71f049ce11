"""Every format answers every line by one line, with all that was asked for; what can't be read is said."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from nmt.config import ModelConfig, SearchConfig, TokenizerConfig
from nmt.data.tokenizer import Tokenizer, train_tokenizer
from nmt.model.encoder_decoder import Transformer
from nmt.translate import main
from nmt.translation.alignment import n_words, word_links
from nmt.translation.formats import Columns, Demands, Format, Json, Scoring, Text, Translating
from nmt.translation.glossary import Entry, Glossary
from nmt.translation.model_folder import ModelInfo, save_model
from nmt.translation.request import Request, Term
from nmt.translation.translator import Translator

TINY = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=2, d_ff=32, tied_embeddings="none")
SHORT = SearchConfig(beam_size=2, max_length_ratio=0.3, batch_size=4, guard=False)
PAIRS = [
    ("Der kleine Hund läuft über die grüne Wiese.", "The little dog runs across the green meadow."),
    ("Zwei Männer sitzen am Tisch und trinken Kaffee.", "Two men sit at the table and drink coffee."),
]
few = settings(max_examples=15, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return train_tokenizer(PAIRS * 5, TokenizerConfig(vocab_size=340), tmp_path_factory.mktemp("tokenizer"), "de", "en")


def make_model(tokenizer: Tokenizer, seed: int = 1) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(TINY, tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> Translator:
    return Translator(make_model(tokenizer), tokenizer, SHORT)


@pytest.fixture(scope="module")
def folder(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model"
    info = ModelInfo("de", "en", "two pairs", TINY, SHORT)
    save_model(path, dict(make_model(tokenizer).named_parameters()), tokenizer, info, "A test.\n")
    return path


def answers(translator: Translator, form: Format, *lines: str, demands: Demands | None = None) -> list[str]:
    output = Translating(translator, form, demands or Demands()).answer([line.encode() for line in lines])
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
def test_as_many_lines_come_out_as_went_in(
    translator: Translator, form: Callable[[Translator], Format], lines: list[str]
) -> None:
    job = Translating(translator, form(translator), Demands())
    output = job.answer([line.encode("utf-8", "surrogatepass") for line in lines]).decode()
    assert output.count("\n") == len(lines)


def test_columns_are_kept_and_three_are_added(translator: Translator) -> None:
    (text,) = translator.translate(["Hund"])
    (row,) = answers(translator, Columns(), "Hund\t7\tanimals\r")
    first, seven, animals, translation, score, flags = row.split("\t")
    assert (first, seven, animals, translation, flags) == ("Hund", "7", "animals", text, "")
    assert float(score) < 0


def test_json_answers_have_all_that_there_is_to_say(translator: Translator) -> None:
    (line,) = answers(translator, Json(translator, alignments=True), '{"text": "Hund und Wiese", "id": 7}')
    answer = json.loads(line)
    ((best, *_),) = translator.translate_n_best(["Hund und Wiese"])
    assert (answer["id"], answer["text"], answer["translation"]) == (7, "Hund und Wiese", best.text)
    assert answer["score"] == round(best.score, 4)
    assert 0 < answer["confidence"] < 1
    assert len(answer["tokens"]) == len(answer["token_log_probs"])
    assert answer["tokens"][-1] == "</s>"
    assert (answer["flags"], answer["fallback"]) == ([], "")
    links = [tuple(map(int, link.split("-"))) for link in answer["alignment"][0].split()]
    assert [j for _, j in links] == list(range(len(best.text.split())))
    assert {i for i, _ in links} <= {0, 1, 2}


def test_lone_surrogates_and_bytes_that_are_no_utf8_pass_through(translator: Translator) -> None:
    job = Translating(translator, Json(translator), Demands())
    one, two = job.answer([b'{"text": "Hund", "id": "\\ud800"}', b'{"text": "Hund", "id": "\xff"}']).splitlines()
    assert json.loads(one)["id"] == "\ud800"
    assert json.loads(two)["translation"] == translator.translate(["Hund"])[0]


def test_line_breaks_and_paragraphs_of_a_json_text_are_kept(translator: Translator) -> None:
    one, two = translator.translate(["Der Hund", "Die Wiese"])
    (line,) = answers(translator, Json(translator), json.dumps({"text": "Der Hund\n\nDie Wiese\n"}))
    assert json.loads(line)["translation"] == f"{one}\n\n{two}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no request"),
        ("7", "an object with"),
        ("[]", "an object with"),
        ('{"txt": "Hund"}', "an object with"),
        ('{"text": 7}', "an object with"),
        ('{"text": "a", "prefix": 7}', "prefix"),
        ('{"text": "a", "must": "b"}', "must"),
        ('{"text": "a", "must": [[]]}', "must"),
        ('{"text": "a", "must": [""]}', "must"),
        ('{"text": "a", "must": ["b"], "must_not": ["b"]}', "must"),
        ("[" * 100_000, "no request"),
        ('{"text": "a", "id": ' + "[" * 993 + "]" * 993 + "}", "no request"),
        ('{"text": "a", "id": NaN}', "NaN"),
        ('{"text": "a", "id": 1e999}', "no request"),
        ('{"text": "a", "prefix": "Two men run", "must_not": ["men"]}', "must_not"),
        ('{"text": "a", "prefix": "' + "The dog runs " * 400 + '"}', "pieces: 500 are the most"),
    ],
)
def test_a_line_that_is_no_request_is_answered_by_its_error(translator: Translator, line: str, message: str) -> None:
    job = Translating(translator, Json(translator), Demands())
    good, bad, other = job.answer([b'"Hund"', line.encode(), b'"Wiese"']).decode().splitlines()
    assert message in json.loads(bad)["error"]
    assert [json.loads(one)["translation"] for one in (good, other)] == translator.translate(["Hund", "Wiese"])
    assert any("line 2" in remark for remark in job.report(verbose=False))


def test_a_request_that_is_refused_keeps_its_own_members(translator: Translator) -> None:
    (line,) = answers(translator, Json(translator), '{"text": "a", "id": 7, "must": "b"}')
    assert json.loads(line)["id"] == 7


def test_the_first_line_with_text_takes_the_demands(translator: Translator) -> None:
    request = {"text": "\n \u0007\nHund\nWiese", "prefix": "Two", "must": ["men"]}
    (line,) = answers(translator, Json(translator), json.dumps(request))
    blank, _, first, second = json.loads(line)["translation"].split("\n")
    assert blank == ""
    assert first.startswith("Two")
    assert re.search(r"\bmen\b", first)
    assert second == translator.translate(["Wiese"])[0]


def test_a_term_is_demanded_of_the_span_that_has_its_source_as_a_word(translator: Translator) -> None:
    other = Translator(translator.model, translator.tokenizer, replace(SHORT, split_above=10))
    request = Request(
        "Die Hundehütte und der Tisch sind grün. Der HUND trinkt Kaffee und sitzt.", must=(Term(("dog",), "HUND"),)
    )
    (ids,) = other.tokenizer.encode_source([request.text])
    assert [span.must for span in other.spans(ids, request, other.decoding)] == [(), (("dog",),)]
    (text,) = other.translate([request])
    assert re.search(r"(?<![a-z])dog(?![a-z])", text)


def test_forbidden_phrases_go_with_groups_and_with_a_prefix(translator: Translator) -> None:
    groups = Translator(translator.model, translator.tokenizer, replace(SHORT, beam_size=4, beam_groups=2, n_best=4))
    (found,) = groups.translate_n_best([Request("Hund", "The", must_not=("dog",))])
    assert all(one.text.startswith("The") and not re.search(r"\bdog\b", one.text) for one in found)


def test_what_one_line_demands_changes_nothing_for_another(translator: Translator) -> None:
    lines = [
        Request(PAIRS[0][0], must=(Term(("men",)),)),
        Request(PAIRS[1][0], must=(Term(("tall green meadow",)),)),
        Request("Hund", must_not=("dog",)),
        Request("Wiese"),
    ]
    assert translator.translate(lines) == [translator.translate([line])[0] for line in lines]


def test_pairs_too_long_to_be_scored_are_said_and_the_others_scored(translator: Translator) -> None:
    job = Scoring(translator, "text")
    first, long, last = job.answer([b"Hund\tdog", b"Hund " * 5000 + b"\tdog", b"Hund\tdog"]).decode().split()
    assert first == last
    assert (float(first) < 0, long) == (True, "nan")
    assert list(job.report(verbose=False)) == ["line 2: too long to be scored"]
    assert len(translator.score([("Hund " * 200, "dog")] * 9 + [("Hund", "dog")])) == 10


def test_remarks_are_counted_beyond_the_first(translator: Translator) -> None:
    job = Scoring(translator, "text")
    job.answer([b"Hund"] * 30)
    assert len(report := list(job.report(verbose=False))) == 21
    assert report[-1] == "and 10 more lines"


def test_demands_of_the_line_of_the_command_and_of_the_glossary_are_met(translator: Translator) -> None:
    glossary = Glossary([Entry("Wiese", ("lawn", "lawns"))])
    demands = Demands("The", (("dog", "dogs"),), ("men",), glossary)
    request = {"text": "Der Hund auf der Wiese", "must": ["coffee"], "must_not": ["table"]}
    (line,) = answers(translator, Json(translator), json.dumps(request), demands=demands)
    translation = json.loads(line)["translation"]
    assert translation.startswith("The")
    for phrase in ("coffee", "dogs?", "lawns?"):
        assert re.search(rf"\b{phrase}\b", translation)
    assert not re.search(r"\b(men|table)\b", translation)
    assert glossary.report().startswith("Glossary: 1 of 1 terms met")


def test_terms_of_a_glossary_that_can_t_be_had_don_t_cost_the_others(translator: Translator) -> None:
    glossary = Glossary([Entry("Hund", ("dog",)), Entry("Wiese", ("lawn",))])
    job = Translating(translator, Text(translator), Demands(must_not=("dog",), glossary=glossary))
    (line,) = job.answer([b"Der Hund auf der Wiese"]).decode().splitlines()
    assert re.search(r"(?<![a-z])lawn(?![a-z])", line)
    assert not re.search(r"(?<![a-z])dog(?![a-z])", line)
    told, report, *_ = job.report(verbose=False)
    assert told.startswith("line 1: without some terms of the glossary: must has 'dog'")
    assert "1 of 2 terms met" in report


def test_given_translations_get_the_score_that_they_were_found_with(translator: Translator) -> None:
    lines = [source for source, _ in PAIRS]
    found = [best for best, *_ in translator.translate_n_best(lines)]
    scored = translator.score([(line, best.text) for line, best in zip(lines, found, strict=True)])
    for one, two in zip(found, scored, strict=True):
        if translator.tokenizer.encode_target([one.text])[0] == one.parts[0].hypothesis.ids:
            assert two.score == pytest.approx(one.score, abs=1e-4)
            assert two.token_log_probs == pytest.approx(one.token_log_probs, abs=1e-4)
    data = "".join(f"{line}\t{best.text}\n" for line, best in zip(lines, found, strict=True)).encode().splitlines()
    assert Scoring(translator, "text").answer(data).decode().split() == [f"{one.score:.4f}" for one in scored]
    rows = [json.loads(line) for line in Scoring(translator, "jsonl").answer(data).decode().splitlines()]
    assert [row["translation"] for row in rows] == [best.text for best in found]
    job = Scoring(translator, "tsv")
    assert job.answer([b"", b"Hund", b"Hund\tdog\r"]).decode().count("\n") == 3
    assert any("no tab" in line for line in job.report(verbose=False))


def test_an_ensemble_scores_by_its_mean_probability(tokenizer: Tokenizer) -> None:
    models = [make_model(tokenizer, seed) for seed in (1, 2)]
    both = Translator(models, tokenizer, SHORT).score(PAIRS)
    apart = [Translator(model, tokenizer, SHORT).score(PAIRS) for model in models]
    for together, one, two in zip(both, *apart, strict=True):
        expected = (torch.tensor(one.token_log_probs).exp() + torch.tensor(two.token_log_probs).exp()) / 2
        assert together.token_log_probs == pytest.approx(expected.log().tolist(), abs=1e-4)


def test_samples_and_minimum_bayes_risk_choose_among_what_was_drawn(translator: Translator) -> None:
    def translations(**options: Any) -> list[str]:
        decoding = SearchConfig(max_length_ratio=0.3, guard=False, **options)
        other = Translator(translator.model, translator.tokenizer, decoding)
        return [one.text for one in other.translate_n_best([PAIRS[0][0]])[0]]

    drawn = translations(samples=8, n_best=8, temperature=0.3)
    assert len(drawn) == 8
    chosen = translations(samples=8, n_best=3, temperature=0.3, mbr="chrf")
    assert set(chosen) <= set(drawn)
    assert len(chosen) == 3
    assert set(translations(beam_size=6, mbr="bleu")) <= set(translations(beam_size=6, n_best=6))


@pytest.mark.parametrize("options", [{"samples": 3, "mbr": "chrf"}, {"samples": 2, "beam_size": 1, "mbr": "bleu"}])
def test_fewer_samples_than_the_beam_has_hypotheses_will_do(translator: Translator, options: dict[str, Any]) -> None:
    other = Translator(translator.model, translator.tokenizer, SearchConfig(guard=False, **options))
    assert len(other.translate(["Hund"])) == 1


def test_what_is_demanded_and_not_there_in_the_end_is_said(translator: Translator) -> None:
    guarded = Translator(translator.model, translator.tokenizer, replace(SHORT, guard=True))
    for line, must, must_not in (("Hund {x}", [], ["{x}"]), ("{x}", ["dog"], [])):
        request = json.dumps({"text": line, "must": must, "must_not": must_not})
        (answer,) = answers(guarded, Json(guarded), request)
        assert {"demands", "items"} & set(json.loads(answer)["flags"])
    assert guarded.meets(Request("Hund", "A", (Term(("dog",)),), ("cat",)), "A dog.")
    for text in ("The dog.", "A hound.", "A dog and a cat", "A dogged one", ""):
        assert not guarded.meets(Request("Hund", "A", (Term(("dog",)),), ("cat",)), text)


def test_the_widest_beams_and_the_most_samples_go_with_phrases_and_the_guard(translator: Translator) -> None:
    wide = Translator(translator.model, translator.tokenizer, replace(SHORT, guard=True, beam_size=200, max_length=3))
    assert "dog" in wide.translate([Request("Hund", must=(Term(("dog",)),))])[0]
    many = Translator(
        translator.model, translator.tokenizer, SearchConfig(samples=201, n_best=201, max_length=2, beam_size=1)
    )
    assert 1 <= len(many.translate_n_best(["Hund"])[0]) <= 201


def test_prefixes_are_compared_whatever_their_blanks(translator: Translator) -> None:
    assert translator.meets(Request("Hund", "A\u00a0 dog"), "A\u00a0dog runs")


def test_blank_lines_don_t_count_in_the_score_of_a_text(translator: Translator) -> None:
    lines = answers(translator, Json(translator), json.dumps("Hund"), json.dumps("\nHund\n\n"))
    one, two = (json.loads(line)["score"] for line in lines)
    assert one == two


def test_a_string_is_no_list_of_lines(translator: Translator) -> None:
    with pytest.raises(TypeError, match="give a list of strings"):
        translator.translate("Hund")


def test_any_scorer_can_order_what_was_found(translator: Translator) -> None:
    other = Translator(translator.model, translator.tokenizer, SearchConfig(beam_size=4, n_best=4, guard=False))
    (found,) = other.translate_n_best(["Hund"])
    other.decoding = SearchConfig(beam_size=4, n_best=1, guard=False)
    other.reranker = lambda source, translations: [-abs(t.score - found[2].score) for t in translations]
    (((best),),) = other.translate_n_best(["Hund"])
    assert best.text == found[2].text


def test_samples_and_demands_are_not_combined(translator: Translator) -> None:
    other = Translator(translator.model, translator.tokenizer, SearchConfig(samples=2, guard=False))
    job = Translating(other, Text(other), Demands(prefix="The"))
    assert job.answer([b"Hund"]).count(b"\n") == 1
    with pytest.raises(ValueError, match="they don't go with"):
        other.translate([Request("Hund", "The")])
    assert "they don't go with decoding.samples" in next(job.report(verbose=False))


def test_the_command_knows_all_of_it(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("Hund\nWiese\n")
    (tmp_path / "glossary").write_text("Wiese\tmeadow\n")
    common = [str(tmp_path / "in"), "--device", "cpu", "--precision", "fp32"]
    assert main([*common, "--model", str(folder), "--model", str(folder), "--format", "jsonl", "--verbose"]) == 0
    output = capfd.readouterr()
    assert all("error" in json.loads(line) for line in output.out.splitlines())
    assert "fp32 on cpu" in output.err
    assert "2 lines in" in output.err
    assert (
        main(
            [
                *common,
                "--model",
                str(folder),
                "--glossary",
                str(tmp_path / "glossary"),
                "--must",
                "dog|dogs",
                "--must-not",
                "men",
                "--prefix",
                "A",
                "--alignments",
                "--no-repeat-ngram",
                "2",
            ]
        )
        == 0
    )
    output = capfd.readouterr()
    assert "1 of 1 terms met" in output.err
    for line in output.out.splitlines():
        assert line.startswith("A")
        assert "dog" in line
        assert " ||| 0-0" in line
    assert main([*common, "--model", str(folder), "--samples", "4", "--n-best", "4", "--mbr", "chrf"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 8
    assert main([*common, "--model", str(folder), "--force-decode"]) == 0
    assert [float(line) < 0 for line in capfd.readouterr().out.split()] == [True, True]


def test_pictures_are_drawn_of_each_part_of_each_line(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text(f"Hund\n\n{PAIRS[0][0]} {PAIRS[0][0]}\n")
    common = [str(tmp_path / "in"), "--model", str(folder), "--pictures", str(tmp_path / "a" / "b")]
    assert main([*common, "--split-above", "12"]) == 0
    names = [path.name for path in sorted((tmp_path / "a" / "b").iterdir())]
    assert names[0] == "000001.png"
    assert {"000003.png", "000003-2.png"} <= set(names)
    assert not any(name.startswith("000002") for name in names)
    with Image.open(tmp_path / "a" / "b" / "000001.png") as picture:
        assert min(picture.size) > 26
    assert main([*common, "--force-decode"]) == 2
    assert "--force-decode" in capfd.readouterr().err


def test_words_are_linked_by_the_attention_of_their_pieces() -> None:
    source, target = ["▁Der", "▁Hu", "nd", "▁", "▁bellt", "."], ["▁The", "▁do", "g", "▁barks", "."]
    assert n_words(source) == 3
    weights_TS = torch.zeros(5, 6)
    for t, s in ((0, 0), (1, 2), (2, 1), (3, 4), (4, 5)):
        weights_TS[t, s] = 1
    assert word_links(weights_TS, source, target) == [(0, 0), (1, 1), (2, 2)]


def test_a_request_is_a_line_with_demands(translator: Translator) -> None:
    (text,) = translator.translate([Request("Hund. " * 100, "The", (Term(("dog",)),))])
    assert text.startswith("The")
    assert re.search(r"(?<![a-z])dog(?![a-z])", text)
