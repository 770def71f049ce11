"""Terms that a translation lacks are put into it, without a constrained search where that is possible."""

import re
from dataclasses import replace

import pytest
import torch

from nmt.config import SearchConfig
from nmt.data.tokenizer import Tokenizer
from nmt.decode.hypothesis import Hypothesis
from nmt.decode.pytorch import TorchEngine
from nmt.decode.surfaces import surface
from nmt.reading.request import Constraints, Part, Request, Term
from nmt.text.scripts import Phrase, is_letter
from nmt.translation.constraints import follows_blank
from nmt.translation.span_search import MOST_TERMS, Draft, merged
from nmt.translation.translator import Translator
from nmt.vocabulary import EOS
from tests.tiny import PAIRS, SHORT, TINY, make_model

LINES = [source for source, _ in PAIRS]
WORDS = ["dog", "men", "coffee", "station", "table", "meadow", "river", "umbrella"]


@pytest.fixture(scope="module", params=["encoder-decoder", "decoder-only"])
def translator(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Translator:
    """A tiny random model that writes words: it avoids the pieces of single bytes, and ends soon."""
    model = make_model(tokenizer, config=replace(TINY, family=request.param, output_bias=True))
    bias_V = torch.tensor(
        [-30.0 if p.startswith("<0x") else 0.0 for p in tokenizer.target_pieces(range(tokenizer.tgt_vocab_size))]
    )
    bias_V[EOS] = 1.0
    with torch.no_grad():
        model.get_parameter("output.bias").copy_(bias_V)
    return Translator(model, tokenizer, SHORT)


@pytest.fixture
def without_phrases(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator whose engine fails if it gets phrases."""
    search = TorchEngine.search

    def free(engine: TorchEngine, *arguments: object) -> object:
        constraints = arguments[2]
        assert isinstance(constraints, list)
        assert not any(c.phrases for c in constraints), "a constrained search"
        return search(engine, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TorchEngine, "search", free)
    return translator


def requests(*terms: tuple[str, ...]) -> list[Request]:
    """One sentence each, with these terms."""
    return [Request(line.split("?")[0], Constraints(must=tuple(map(Term, terms)))) for line in LINES]


def test_a_translation_that_has_its_terms_is_the_plain_one(without_phrases: Translator) -> None:
    lines = ["Der Hund", "Zwei Männer", "Wo ist der Bahnhof?", "Kaffee"]
    found = [best for best, *_ in without_phrases.translate_n_best(lines)]
    plain = [best for best in found if re.search("[a-z]", best.text)]
    assert plain
    lines = [line for line, best in zip(lines, found, strict=True) if best in plain]
    terms = [(Term(("nowhere", max(re.findall(r"[a-z]+", best.text, re.IGNORECASE), key=len))),) for best in plain]
    asked = [Request(line, Constraints(must=must)) for line, must in zip(lines, terms, strict=True)]
    found = [best for best, *_ in without_phrases.translate_n_best(asked)]
    assert [best.text for best in found] == [best.text for best in plain]
    assert [best.score for best in found] == pytest.approx([best.score for best in plain], abs=1e-4)


@pytest.mark.parametrize("n_terms", [1, 2, 5, len(WORDS)])
def test_terms_are_put_in_and_the_score_is_that_of_the_text(without_phrases: Translator, n_terms: int) -> None:
    terms = [(word,) for word in WORDS[:n_terms]]
    asked = requests(*terms)
    for best, *_ in without_phrases.translate_n_best(asked):
        assert without_phrases.compiler.are_met(asked[0].constraints, best.text), best.text
        assert "constraints" not in best.flags
        exact = without_phrases.engine.score([(part.source, part.hypothesis.ids) for part in best.parts])
        assert best.log_prob == pytest.approx(sum(map(sum, exact)), abs=1e-3)


@pytest.mark.parametrize("term", [".NET", "C++", "(R) dog", '"dog"', "'dog", "-dog!"])
def test_a_term_with_a_sign_at_an_end_needs_no_constrained_search(without_phrases: Translator, term: str) -> None:
    for translation in without_phrases.translate(requests((term,))):
        assert term in translation


def test_what_is_put_in_after_a_blank() -> None:
    assert all(follows_blank(Phrase.parse(written)) for written in (".NET", "dog"))
    assert not any(follows_blank(Phrase.parse(written)) for written in ("*hund", "犬", ","))


def test_a_list_with_terms_begins_with_what_is_found_alone_or_is_more_probable(without_phrases: Translator) -> None:
    asked = requests(("dog", "cat"), ("coffee",))
    alone = [best for best, *_ in without_phrases.translate_n_best(asked, replace(SHORT, beam_size=4))]
    lists = without_phrases.translate_n_best(asked, replace(SHORT, beam_size=4, n_best=3))
    for best, found in zip(alone, lists, strict=True):
        scores = [translation.score for translation in found]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] >= best.score - 1e-4
        assert len({translation.text for translation in found}) == len(found) <= 3
        assert all(without_phrases.compiler.are_met(asked[0].constraints, translation.text) for translation in found)
    assert any(len(found) > 1 for found in lists)


def test_if_a_term_became_a_part_of_a_longer_word_the_words_that_stood_there_follow_it(translator: Translator) -> None:
    constraints, tokenizer = Constraints(must=(Term(("dog",)),)), translator.tokenizer
    compiled = translator.compiler.compile(constraints, 3, SHORT)
    assert compiled.phrases
    [ids, longer, dog] = tokenizer.encode_target(["The table", "The dogsled table", "dog"])

    def hypothesis(ids: list[int]) -> Hypothesis:
        return Hypothesis.of(ids, [-1.0] * (len(ids) + 1), SHORT)

    draft = Draft((), compiled, compiled.phrases, hypothesis(ids))
    word = max(i for i, piece in enumerate(tokenizer.target_pieces(ids)) if piece.startswith("\u2581"))
    log_probs_PT = torch.full((1, len(ids) + 1), -9.0)
    log_probs_PT[0, word] = -1.0
    draft.weigh(log_probs_PT)
    assert [*draft.start()] == [*ids[:word], *dog]
    draft.take(hypothesis(longer))
    assert (draft.found.ids, bool(draft.writable)) == (ids, True)
    draft.take(hypothesis([*draft.start(whole=True)]))
    assert draft.found.ids == [*ids[:word], *dog, *ids[word:]]
    assert draft.n_lacking == 0
    lacking = Draft((), compiled, compiled.phrases, hypothesis(ids))
    assert merged([lacking, draft]) == [draft.found], "of a list, those that lack least"
    assert merged([lacking]) == [lacking.found]


def test_more_terms_than_constrained_search_takes_are_flagged_if_they_are_missing(translator: Translator) -> None:
    """Its memory would grow with each combination of terms. Terms that begin inside of words can't be put in."""
    many = tuple(Term((f"*{a}{b}",)) for a in "aeiou" for b in "dgnst")
    search = SearchConfig(beam_size=2, max_length=4, guard=False)
    [[best, *_]] = translator.translate_n_best([Request(LINES[0], Constraints(must=many))], search)
    assert "constraints" in best.flags
    few = Constraints(must=many[:MOST_TERMS])
    automaton = translator.automata.find(Constraints(must=many))
    assert automaton
    assert len(automaton.rows) < 50, "no search with its states"
    [[best, *_]] = translator.translate_n_best([Request(LINES[0], few)], search)
    assert "constraints" not in best.flags


@pytest.mark.parametrize("more", [1, MOST_TERMS + 1])
def test_a_target_of_several_terms_is_put_in_once(translator: Translator, more: int) -> None:
    for (best, *_), (one, *_) in zip(
        translator.translate_n_best(requests(*[("umbrella",)] * (1 + more)), replace(SHORT, guard=False)),
        translator.translate_n_best(requests(("umbrella",)), replace(SHORT, guard=False)),
        strict=True,
    ):
        assert best.text == one.text
        assert best.text.count("umbrella") == 1


def test_a_term_without_source_is_for_the_sentence_with_it_or_where_it_is_most_probable(translator: Translator) -> None:
    line, tokenizer = "Der Hund läuft über die Wiese. Zwei Männer sitzen am Tisch.", translator.tokenizer
    ((plain,),) = translator.translate_n_best([line])
    assert len(plain.parts) == 2

    def placed(*terms: Term) -> float:
        ((best,),) = translator.translate_n_best([Request(line, Constraints(must=terms))])
        assert all(term.targets[0] in best.text for term in terms)
        return best.log_prob

    def value(word: str, part: Part) -> float:
        """The log-probability of the word's first piece at the best beginning of a word."""
        ids, (first, *_) = part.hypothesis.ids, tokenizer.encode_target([word])[0]
        log_probs = translator.engine.log_probs_of([(part.source, ids)], [[first]])[0][0]
        texts = [surface(piece).decode(errors="ignore") for piece in tokenizer.target_pieces(ids)]
        places = [i for i, text in enumerate(texts) if text and not is_letter(text[0])]
        return max(log_probs[i].item() for i in (*places, len(ids)))

    for word in WORDS:
        values = [value(word, part) for part in plain.parts]
        source = ("Hund", "Männer")[values.index(max(values))]
        assert placed(Term((word,))) == pytest.approx(placed(Term((word,), source)))
    assert placed(Term(("dog",)), Term(("coffee",))) < 0
    words = [max(found, key=len) for part in plain.parts if (found := re.findall("[A-Za-z]+", part.written))]
    assert words
    assert [placed(Term((word,))) for word in words] == pytest.approx([plain.log_prob] * len(words), abs=1e-3)


def test_many_terms_are_put_in_beside_a_forbidden_phrase_that_is_usual(translator: Translator) -> None:
    texts = (translator.translate([line], SHORT)[0] for line in LINES)
    usual = next(word for text in texts for word in re.findall("[A-Za-z]+", text))
    must = tuple(Term((word,)) for word in WORDS[: MOST_TERMS + 1] if word != usual)
    assert len(must) == MOST_TERMS + 1
    requests = [Request(line, Constraints(must=must, must_not=(usual,))) for line in LINES]
    for best, *_ in translator.translate_n_best(requests, replace(SHORT, guard=False)):
        assert "constraints" not in best.flags
        assert all(term.targets[0] in best.text for term in must)
        assert usual not in best.text.split()
