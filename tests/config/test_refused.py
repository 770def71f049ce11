"""Settings that are wrong or exclude each other are refused in one line that names them."""

import shlex
from pathlib import Path

import pytest

from nmt.commands.options import make_run_parser
from nmt.config import Config
from nmt.config.recipes import make_config

MORE = "--data.corpus a/main --data.more "
LM = "--training.objective lm --model.family decoder-only"
MLM = "--training.objective mlm --model.family encoder-only"


def config_of(given: str) -> Config:
    settings = make_run_parser("nmt.train", "").parse(shlex.split(given))
    return make_config(settings, Path(settings.config) if "config" in settings else None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--training.max_stepz 5", "no setting training.max_stepz: did you mean training.max_steps?"),
        ("--training.max_steps many", "training.max_steps is 'many': it must be a whole number"),
        ("--model.norm batch", "model.norm is 'batch': it must be one of layer, rms"),
        ("--model.d_model 30", "multiple of model.n_heads, 8"),
        ("--model.n_kv_heads 3", "must divide model.n_heads, 8"),
        ("--model.dropout 1.5", "model.dropout is 1.5"),
        ("--data.source en", "are both 'en': they must differ"),
        ("--search.n_best 9", "search.n_best is 9: it must be from 1 to search.beam_size, 5"),
        ("--search.temperature 1e-39", "search.temperature is 1e-39"),
        ("--search.repetition_penalty .nan", "search.repetition_penalty is '.nan'"),
        ("--training.learning_rate 1e999", "training.learning_rate is '1e999': it must be a number"),
        ("--training.batch_tokens 0", "training.batch_tokens is 0: it must be at least 1"),
        ("--seed 3", "--seed can mean --search.seed or --training.seed"),
        ("--name ../elsewhere", "name is '../elsewhere': it must be a plain name"),
        ("--training.seed 99999999999999", "training.seed is 99999999999999"),
        ("--training.ema 1.0", "training.ema is 1.0: it must be at least 0 and below 1"),
        ("--tokenizer.joint false", "three-way"),
        ("--tokenizer.character_coverage 0.97", "coverage is 0.97: it must be at least 0.98 and at most 1"),
        ("train.de train.en", "unexpected words on the command line: train.de train.en; see --help"),
        ("--config /no/such.yaml", "/no/such.yaml"),
        ("--cleaning.copies maybe", "cleaning.copies is 'maybe': it must be one of keep, long, all or null"),
        ("--cleaning.language maybe", "cleaning.language is 'maybe': it must be true or false or null"),
        ("--training.freeze null", "freeze is 'null': it must be a list such as [a, b], each item one of embed"),
        ("--data.more+ x", "there is no setting data.more+: did you mean data.more?"),
        ("--data recipe.yaml", "there is no setting data: did you mean data."),
        # Members of a list.
        (MORE + "b.tsv", "'b.tsv': it must be a list such as [a, b], each item an object such as {corpus: "),
        (MORE + "[b.tsv]", "data.more[0] is 'b.tsv': it must be an object such as {corpus: ...}"),
        (MORE + "'[{corpus: x, tags: y}]'", "data.more[0] has no member 'tags': did you mean tag?"),
        (MORE + "'[{name: x}]'", "data.more[0].corpus is missing: it must be a text"),
        (MORE + "'[{corpus: 5}]'", "data.more[0].corpus is 5: it must be a text"),
        (MORE + "'[{corpus: x, weight: y}]'", "data.more[0].weight is 'y': it must be a number"),
        (MORE + "'[{corpus: x, weight: 0}]'", "data.more[0].weight is 0: it must be above 0 and at most 1000"),
        (MORE + "'[{corpus: x, weight: 1e9}]'", "it must be above 0 and at most 1000"),
        (MORE + "'[{corpus: x, languages: de}]'", "data.more[0].languages is 'de': it must be a list"),
        (MORE + "'[{corpus: x, languages: [de, en]}]'", "has the languages de, en: they are for data.many_to_many"),
        (MORE + "'[{corpus: x, cleaning: a}]'", "data.more[0].cleaning is 'a': it must be an object or null"),
        (MORE + "'[{corpus: x, cleaning: {word: 9}}]'", "cleaning has no member 'word': did you mean words?"),
        (MORE + "'[{corpus: x, cleaning: {words: 0}}]'", "cleaning.words is 0: it must be at least 1"),
        (MORE + "'[{corpus: auto}]'", "has no corpus: name one"),
        (MORE + "'[{corpus: x, tag: 2de}]'", "has the tag '2de': it must be a word of two or more small letters"),
        (MORE + "'[{corpus: x, text: source, tag: bt}]'", "of data.more has text source, and tag is for pairs"),
        (MORE + "'[{corpus: x, text: target, validate: true}]'", "text target, and validate is for pairs"),
        (MORE + "'[{corpus: my/x}, {corpus: x}]'", "the corpora are called main, x, x: give each a name"),
        # Settings that exclude each other.
        (MORE + "'[{corpus: x, text: both}]' --data.many_to_many '[a, b]'", "has text both: take pairs alone"),
        (MORE + "'[{corpus: x, text: both}]' --model.family decoder-only", "x of data.more has no translations, whi"),
        ("--data.many_to_many de", "many_to_many is 'de': it must be a list such as [a, b], each item a text"),
        ("--data.many_to_many [de]", "is [de]: name at least two languages, each once"),
        ("--data.many_to_many '[de, en, de]'", "each once"),
        ("--data.many_to_many '[de, d e]'", "must be a language code"),
        ("--data.many_to_many '[de, en]' --data.text both", "needs pairs, but data.text is both"),
        ("--data.many_to_many '[de, en]' --data.placeholders 0.1", "placeholders is for one pair of languages"),
        ("--data.text source --data.typos 0.1", "data.typos changes pairs, but data.text is source"),
        ("--data.text both --tokenizer.joint false --model.tied_embeddings none", "is both, which needs tokenizer.j"),
        ("--data.least_quality 0.3", "data.least_quality is 0.3: it is used only with data.scorer"),
        ("--training.teacher_weight 0.5", "used only with training"),
        ("--model.family decoder-only --training.denoise_steps 1", "needs model.family encoder-decoder, tok"),
        ("--training.denoise_steps 1 --training.teacher t", "denoise_steps needs model.family encoder-decoder, tok"),
        ("--training.denoise_steps 1 --training.objective denoise", "is 1: it is used only with training.obj"),
        ("--training.objective lm --model.family encoder-decoder", "objective lm needs model.family decoder-only"),
        ("--model.family encoder-only", "translation needs model.family encoder-decoder or decoder-only"),
        ("--training.objective denoise --training.best_metric bleu", "is bleu, which objective denoise doesn't"),
        (f"{LM} --training.freeze '[embeddings, decoder]'", "nothing is left to learn"),
        (f"{MLM} --training.freeze [decoder]", "training.freeze names decoder: model.family encoder-only has none"),
        ("--lora.rank 2", "give training.start_from"),
        ("--lora.rank 2 --training.start_from a --training.freeze [encoder]", "doesn't go with training.freeze"),
        ("--lora.rank 2 --training.start_from a --training.compile true", "doesn't go with training.compile"),
        ("--lora.rank -1", "lora.rank is -1: it must be at least 0"),
        ("--lora.rank 2 --lora.alpha 0", "lora.alpha is 0.0: it must be above 0"),
        ("--lora.parts attention", "it is used only with lora.rank above 0"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(given: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        config_of(given)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
