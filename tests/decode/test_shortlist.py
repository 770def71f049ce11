"""The shortlist holds what IBM model 1 says; a search among its pieces is the search among all, where it has them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from nmt.config import ModelConfig, SearchConfig
from nmt.data.batches import Pairs, Sequences
from nmt.decode.ensemble import Ensemble, EnsembleCache
from nmt.decode.pytorch import pad
from nmt.decode.shortlist import CANDIDATES, FAINT, UNLISTED, Shortlist, learn_shortlist
from nmt.model.build import build_generative_model
from nmt.model.cache import Cache
from nmt.model.contract import Decoder, GenerativeModel
from nmt.model.precision import with_precision
from nmt.model.weights import write_tensors
from nmt.reading.request import Constraints, Request, Term
from nmt.translation.model_folder import ModelInfo, load_shortlist, save_model
from nmt.translation.translator import Translator
from tests.decode.families import of_family
from tests.tiny import PAIRS, TINY, needs_int8

OPTIONS = SearchConfig(beam_size=3, max_length_ratio=0.5, batch_size=4, guard=False, shortlist=CANDIDATES)


def pairs(*sentences: tuple[list[int], list[int]]) -> Pairs:
    return Pairs(Sequences.of(source for source, _ in sentences), Sequences.of(target for _, target in sentences))


def test_what_always_occurs_together_comes_first() -> None:
    generator = torch.Generator().manual_seed(1)
    sources = [torch.randint(4, 30, (5,), generator=generator).tolist() for _ in range(300)]
    found = learn_shortlist(pairs(*((source, [33 - s for s in source]) for source in sources)), 30, 30)
    assert found.candidates_UC[4:, 0].tolist() == [33 - s for s in range(4, 30)]
    assert (
        found.frequent_F.tolist()[:26]
        == torch.bincount(torch.tensor(sources).flatten().neg() + 33, minlength=30)
        .argsort(descending=True, stable=True)[:26]
        .tolist()
    )


def test_a_corpus_without_words_has_an_empty_shortlist() -> None:
    assert not learn_shortlist(pairs(([], [])), 9, 9).candidates_UC.any()


def test_links_count_by_what_the_shortlist_knows_and_common_pieces_only_as_the_first_candidate() -> None:
    candidates_UC = torch.zeros(210, 3, dtype=torch.int32)
    candidates_UC[4:, 1] = 3  # the third piece is a candidate of all
    candidates_UC[4:, 0] = torch.arange(4, 210)
    candidates_UC[7] = torch.tensor([3, 8, 9])
    listed = Shortlist(candidates_UC, torch.tensor([4], dtype=torch.int32))
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


def test_the_list_has_control_pieces_candidates_frequent_ones_and_perhaps_the_sources_own() -> None:
    candidates = torch.zeros(9, 3, dtype=torch.int32)
    candidates[5] = torch.tensor([20, 30, 40])
    candidates[6] = torch.tensor([30, 31, 32])
    listed = Shortlist(candidates, torch.tensor([12, 11], dtype=torch.int32))
    sources = torch.tensor([[5, 6, 2], [6, 2, 3]])
    assert listed.pieces(sources, 2, joint=False).tolist() == [0, 1, 2, 3, 11, 12, 20, 30, 31]
    assert listed.pieces(sources, 1, joint=True).tolist() == [0, 1, 2, 3, 5, 6, 11, 12, 20, 30]


@pytest.mark.usefixtures("family")
@pytest.mark.parametrize("kind", ["fp32", pytest.param("int8", marks=needs_int8()), "tied"])
def test_a_restricted_decoder_gives_the_logits_of_its_pieces(kind: str) -> None:
    decoders = [
        with_precision(model, "int8")[0] if kind == "int8" else model
        for model in models(replace(TINY, tied_embeddings="three-way") if kind == "tied" else TINY)
    ]
    for tokens_N1, caches, some in steps_of_both(decoders[0]):
        found = some.step(tokens_N1, caches[1])
        torch.testing.assert_close(found, decoders[0].step(PIECES[tokens_N1], caches[0])[..., PIECES])


@pytest.mark.usefixtures("family")
def test_a_restricted_ensemble_means_its_models_probabilities_of_the_pieces() -> None:
    decoders = models(TINY)
    for tokens_N1, caches, some in steps_of_both(Ensemble(decoders)):
        own = caches[0].caches if isinstance(caches[0], EnsembleCache) else []
        apart = [
            decoder.step(PIECES[tokens_N1], cache)[..., PIECES].softmax(-1)
            for decoder, cache in zip(decoders, own, strict=True)
        ]
        torch.testing.assert_close(some.step(tokens_N1, caches[1]).exp(), (apart[0] + apart[1]) / 2)


PIECES = torch.tensor([0, 1, 2, 3, 9, 20, 21, 49])


def models(config: ModelConfig) -> list[GenerativeModel]:
    torch.manual_seed(2)
    return [build_generative_model(of_family(config), 50, 50).eval() for _ in range(2)]


def steps_of_both(whole: Decoder) -> Iterator[tuple[Tensor, list[Cache], Decoder]]:
    """Newest tokens (N, 1) on the list, the caches of the whole and the restricted decoder, and the latter."""
    some = whole.restricted(PIECES)
    assert some.vocab_size == len(PIECES)
    sources = pad([[5, 6, 7], [8]], torch.device("cpu"))
    with torch.inference_mode():
        caches = [whole.start(*sources, 3), some.start(*sources, 3)]
        for tokens in ([1, 1], [4, 7], [6, 5]):
            yield torch.tensor(tokens)[:, None], caches, some


def with_shortlist(translator: Translator, shortlist: Shortlist) -> Translator:
    return Translator(translator.model, translator.tokenizer, OPTIONS, shortlist=shortlist)


def test_a_list_of_all_pieces_changes_nothing_and_a_short_one_is_kept_to(translator: Translator) -> None:
    lines = [source for source, _ in PAIRS]
    size = translator.tokenizer.tgt_vocab_size
    nothing = torch.zeros(translator.tokenizer.src_vocab_size, CANDIDATES, dtype=torch.int32)
    plain = replace(OPTIONS, shortlist=0)
    whole = with_shortlist(translator, Shortlist(nothing, torch.arange(size, dtype=torch.int32)))
    assert whole.translate(lines) == translator.translate(lines, plain)
    short = with_shortlist(translator, Shortlist(nothing, torch.arange(50, 60, dtype=torch.int32)))
    own = {i for ids in translator.tokenizer.encode_source(lines) for i in ids}
    for (best,) in short.translate_n_best(lines):
        assert set(best.parts[0].hypothesis.ids) <= own | set(range(50, 60))
    constrained = [Request(lines[0], Constraints(must=(Term(("coffee",)),))), Request(lines[0], Constraints("Two"))]
    assert short.translate(constrained) == translator.translate(constrained, plain)


def test_it_goes_into_the_model_folder_and_is_asked_for_by_name(translator: Translator, tmp_path: Path) -> None:
    found = learn_shortlist(
        pairs(([5, 6], [7, 8])), translator.tokenizer.src_vocab_size, translator.tokenizer.tgt_vocab_size
    )
    info = ModelInfo("de", "en", "three pairs", TINY, OPTIONS)
    weights = dict(translator.model.named_parameters())
    save_model(tmp_path / "with", weights, translator.tokenizer, info, "", found)
    save_model(tmp_path / "without", weights, translator.tokenizer, info, "")
    loaded = Translator.load(tmp_path / "with", "cpu", precision="fp32")
    assert loaded.shortlist is not None
    assert loaded.shortlist.candidates_UC.equal(found.candidates_UC)
    assert loaded.translate(["Hund"])[0]
    with pytest.raises(ValueError, match=r"this model has no shortlist\.safetensors"):
        Translator.load(tmp_path / "without", "cpu", precision="fp32").translate(["Hund"])


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("candidates_UC", torch.zeros(5, 3, dtype=torch.int32)),
        ("candidates_UC", torch.zeros(400, dtype=torch.int32)),
        ("frequent_F", torch.tensor([9000], dtype=torch.int32)),
        ("frequent_F", torch.tensor([-1], dtype=torch.int32)),
        ("frequent_F", torch.tensor([1.0])),
        ("frequent_F", torch.zeros(0, dtype=torch.int32)),
        ("other", torch.zeros(1)),
    ],
)
def test_a_shortlist_of_another_model_is_refused(
    translator: Translator, tmp_path: Path, name: str, tensor: Tensor
) -> None:
    size = translator.tokenizer.src_vocab_size
    tensors = {"candidates_UC": torch.zeros(size, 3, dtype=torch.int32), "frequent_F": torch.tensor([5]).int()}
    write_tensors(tmp_path / "shortlist.safetensors", tensors)
    assert load_shortlist(tmp_path, translator.tokenizer) is not None
    write_tensors(tmp_path / "shortlist.safetensors", tensors | {name: tensor})
    with pytest.raises(ValueError, match="doesn't fit the model"):
        load_shortlist(tmp_path, translator.tokenizer)
