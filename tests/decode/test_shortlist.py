"""The shortlist holds what IBM model 1 says."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from nmt.data.batches import Pairs, Sequences
from nmt.decode.shortlist import FAINT, UNLISTED, Shortlist, learn_shortlist
from nmt.model.weights import write_tensors
from nmt.translation.model_folder import load_shortlist
from nmt.translation.translator import Translator


def pairs(*sentences: tuple[list[int], list[int]]) -> Pairs:
    return Pairs(Sequences.of(source for source, _ in sentences), Sequences.of(target for _, target in sentences))


def test_what_always_occurs_together_comes_first() -> None:
    generator = torch.Generator().manual_seed(1)
    sources = [torch.randint(4, 30, (5,), generator=generator).tolist() for _ in range(300)]
    found = learn_shortlist(pairs(*((source, [33 - s for s in source]) for source in sources)), 30, 30)
    assert found.candidates_UC[4:, 0].tolist() == [33 - s for s in range(4, 30)]


def test_a_corpus_without_words_has_an_empty_shortlist() -> None:
    assert not learn_shortlist(pairs(([], [])), 9, 9).candidates_UC.any()


def test_links_count_by_what_the_shortlist_knows_and_common_pieces_only_as_the_first_candidate() -> None:
    candidates_UC = torch.zeros(210, 3, dtype=torch.int32)
    candidates_UC[4:, 1] = 3  # the third piece is a candidate of all
    candidates_UC[4:, 0] = torch.arange(4, 210)
    candidates_UC[7] = torch.tensor([3, 8, 9])
    listed = Shortlist(candidates_UC)
    assert listed.common.tolist() == [3]
    source_S, target_T = torch.tensor([7, 20]), torch.tensor([3, 9, 20, 33])
    expected_TS = torch.tensor(
        [[1, FAINT], [1 / 3 + UNLISTED, UNLISTED], [UNLISTED, 1 + UNLISTED], [UNLISTED, UNLISTED]]
    )
    assert listed.link_weights(source_S, target_T, joint=False).equal(expected_TS)
    own_TS = listed.link_weights(torch.tensor([33]), torch.tensor([33, 3]), joint=True)
    assert own_TS.equal(torch.tensor([[1 + UNLISTED], [FAINT]]))
    for own, weight in ((True, 1 + UNLISTED), (False, UNLISTED)):  # 7 is no candidate of 7
        assert listed.link_weights(torch.tensor([7]), torch.tensor([7]), joint=own).equal(torch.tensor([[weight]]))
    without_TS = listed.link_weights(torch.tensor([33]), torch.tensor([34, 3]), joint=True)
    assert without_TS.equal(torch.tensor([[UNLISTED], [FAINT]]))


@pytest.mark.parametrize(
    "candidates",
    [
        torch.zeros(5, 3, dtype=torch.int32),
        torch.zeros(400, dtype=torch.int32),
        torch.full((400, 3), 9000, dtype=torch.int32),
        torch.zeros(400, 0, dtype=torch.int32),
    ],
)
def test_a_shortlist_of_another_model_is_refused(translator: Translator, tmp_path: Path, candidates: Tensor) -> None:
    fitting = torch.zeros(translator.tokenizer.src_vocab_size, 3, dtype=torch.int32)
    write_tensors(tmp_path / "shortlist.safetensors", {"candidates_UC": fitting})
    assert load_shortlist(tmp_path, translator.tokenizer) is not None
    write_tensors(tmp_path / "shortlist.safetensors", {"candidates_UC": candidates})
    with pytest.raises(ValueError, match="doesn't fit the model"):
        load_shortlist(tmp_path, translator.tokenizer)
