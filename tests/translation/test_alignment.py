"""Words are linked by the attention of their pieces."""

from dataclasses import replace
from itertools import permutations
from unittest.mock import patch

import torch

from nmt.decode.pytorch import TorchEngine
from nmt.decode.shortlist import Shortlist
from nmt.reading.request import Part, Translation
from nmt.text.tokens import is_word, tokenize
from nmt.translation.alignment import LEAST, Aligner, numbers, owner_links
from nmt.translation.translator import Translator
from tests.tiny import PAIRS


def test_words_are_linked_by_the_attention_of_their_pieces() -> None:
    source, target = ["▁Der", "▁Hu", "nd", "▁", "▁bellt", "."], ["▁The", "▁do", "g", "▁barks", "."]
    weights_TS = torch.zeros(5, 6)
    for t, s in ((0, 0), (1, 2), (2, 1), (3, 4), (4, 5)):
        weights_TS[t, s] = 1
    line, text = "> Der\u00a0Hund bellt.", "The dog barks."
    part = Part((), None, line[2:], text, range(2, len(line)), range(len(text)))  # type: ignore[arg-type]
    translation = Translation(f"> {text}", 0.0, (replace(part, target_places=range(2, len(text) + 2)),))
    aligner = Aligner(None, None)  # type: ignore[arg-type]
    aligner.weighted_attention = lambda part: (weights_TS, source, target)  # type: ignore[method-assign]
    assert aligner.align(line, translation) == [(1, 1), (2, 2), (3, 3)]


def test_pieces_belong_to_the_token_of_their_first_letter_whatever_pieces_and_text_differ_in() -> None:
    text = "„Hut“, ä日本 x."
    starts = [start for start, _ in tokenize(text)]
    assert len(starts) == 9
    pieces = ["▁„H", "ut", "“,", "▁", "<0xC3>", "<0xA4>", "日本", "▁", "⁇", "x."]
    assert numbers(pieces, text, range(len(text)), starts) == ([1, 1, 2, 2, 4, 4, 5, 5, 5, 7], {2: [3], 5: [6]})


def test_words_are_linked_with_words_and_signs_with_signs() -> None:
    weights_TS = torch.tensor([[0.1, 0.9, 0.0], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    are_words = [torch.tensor([True, False, True]), torch.tensor([True, False, True])]
    numbers = torch.tensor([0, 1, 2])
    assert owner_links(weights_TS, numbers, numbers, are_words, LEAST) == [(0, 0), (1, 1), (2, 2)]


def test_a_token_with_little_attention_is_linked_only_to_a_token_that_is_free() -> None:
    # "ins Kino" and "to the cinema": "to" translates "ins", and "the", which looks at "Kino", neither.
    source_S, target_T, are_words = torch.arange(2), torch.arange(3), [torch.ones(2).bool(), torch.ones(3).bool()]
    weights_TS = torch.tensor([[0.5, 1e-9], [1e-10, 9e-10], [0.1, 0.8]])
    assert owner_links(weights_TS, source_S, target_T, are_words, LEAST) == [(0, 0), (1, 2)]
    # "am": nothing translates it surely.
    weights_TS = torch.tensor([[9e-10, 1e-10], [1e-10, 9e-10], [0.1, 0.8]])
    assert owner_links(weights_TS, source_S, target_T, are_words, LEAST) == [(0, 0), (1, 2)]


def test_the_shortlist_corrects_the_attention(translator: Translator) -> None:
    ((best,),) = translator.translate_n_best(["Der Hund läuft."])
    source, target = best.parts[0].source, best.parts[0].hypothesis.ids
    candidates_UC = torch.zeros(translator.tokenizer.src_vocab_size, 1, dtype=torch.int32)
    for piece, translation in zip(source, target, strict=False):
        candidates_UC[piece, 0] = translation
    shortlist = Shortlist(candidates_UC)
    aligner = Aligner(replace(translator.engine, shortlist=shortlist), translator.tokenizer)  # type: ignore[type-var]
    weights_TS, _, pieces = aligner.weighted_attention(best.parts[0])
    plain_TS, _, _ = aligner.attention(best.parts[0])
    joint = translator.tokenizer.joint
    wanted_TS = shortlist.link_weights(torch.tensor(source), torch.tensor(target), joint=joint)
    assert weights_TS.allclose(plain_TS * wanted_TS[: len(pieces)])


def test_a_blank_at_the_end_of_an_unfinished_translation_is_no_word(translator: Translator) -> None:
    pieces = translator.tokenizer.target_pieces(range(translator.tokenizer.tgt_vocab_size))
    for line in ("Der Hund läuft.", *(source for source, _ in PAIRS[:2])):
        ((best,),) = translator.translate_n_best([line])
        (part,) = best.parts
        ids = [*part.hypothesis.ids, *[pieces.index("▁")] * 9]
        longer = replace(best, parts=(replace(part, hypothesis=replace(part.hypothesis, ids=ids)),))
        assert translator.align(line, longer) == translator.align(line, best)


def test_tokens_of_a_translation_are_linked(translator: Translator) -> None:
    source = "Der Hund, der läuft."
    ((best,),) = translator.translate_n_best([source])
    tokens = tokenize(source), tokenize(best.text)
    sides = [[(start, is_word(text, (start, end))) for start, end in tokenize(text)] for text in (source, best.text)]
    links = translator.aligner.links(best, *sides)
    assert links
    for i, j in links:
        assert is_word(source, tokens[0][i]) == is_word(best.text, tokens[1][j])


def test_tokens_that_were_put_back_are_linked_too() -> None:
    translation = Translation("Anna: ", 0.0, (), links=((0, 0), (3, 3), (4, 4)))
    tokens = [(0, True), (4, False)]
    assert set(Aligner(None, None).links(translation, tokens, tokens)) == {(0, 0), (1, 1)}  # type: ignore[arg-type]


def test_lines_with_tags_are_aligned_together(translator: Translator) -> None:
    words = ["Der", "Hund", "läuft", "auf", "dem", "Gras"]
    lines = [f"{first} <b>{second}</b> {third}." for first, second, third in permutations(words, 3)][:100]
    with patch.object(TorchEngine, "attention", autospec=True, side_effect=TorchEngine.attention) as attention:
        found = translator.translate(lines)
        sizes = [len(call.args[1]) for call in attention.call_args_list]
        translator.translate(["<p>Der Hund läuft.</p>"])  # nothing stands in it
        assert attention.call_count == len(sizes) < len(lines) / 10
    assert sum(sizes) <= len(lines)
    assert found == [translator.translate([line])[0] for line in lines]


def test_words_are_linked_in_batches_as_alone(translator: Translator) -> None:
    lines = ["Der Hund läuft.", "", "Ein Hund läuft auf dem Gras. Der Hund läuft."]
    n_best = translator.translate_n_best(lines, replace(translator.search, n_best=2))
    for line, alone, batched in zip(lines, n_best, translator.spans.with_attention(n_best), strict=True):
        assert [part.attention_TS is not None for found in batched for part in found.parts] == [True] * len(
            [part for found in alone for part in found.parts]
        )
        assert [translator.align(line, found) for found in batched] == [translator.align(line, t) for t in alone]
