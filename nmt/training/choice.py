"""The choice of settings for a run without a recipe: prepared text and the machine flow in; settings flow out."""

import math
import time
from dataclasses import asdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch

from nmt.config import OBJECTIVES, Config, choice
from nmt.config.choice import CHOSEN, MORE_STEPS
from nmt.config.names import flatten
from nmt.config.recipes import load_config, make_config
from nmt.data.store.prepared import Prepared
from nmt.messages import say
from nmt.training.data import TrainingData
from nmt.training.loop import make_trainer
from nmt.training.monitor import Window
from nmt.translation.model_folder import read_info, require_model

SLOW_STEPS, TIMED_STEPS = 3, 8  # the first steps of a process are slow
# In 16 trainings of 8 to 50 minutes, a step took 0.9 to 1.18 times as long as the timed ones, and a validation up to 7
# times as long as training on as many pairs, 3 times in the mean.
SLOWER, VALIDATING = 1.08, 4
OF_TIME = ("training.max_steps", "training.validate_every")
LIMITS = ("training.max_minutes", "training.max_epochs")


Given = dict[str, Any]
"""Settings by their dotted names that are not chosen."""


def chosen_before(given: Given, config: Config, recorded: Path | None) -> tuple[Config, Given | None]:
    """The settings of a run with what is chosen already, by the same run before (`recorded`: its config.yaml; None if
    it took no step) or by the model that it starts from; and what the choice of the others must keep, None without
    others. A run that gets other minutes or epochs keeps all but the steps."""
    chosen, start = dict[str, Any](), config.training.start_from
    if recorded:
        chosen = {name: value for name, value in flatten(load_config(recorded)).items() if name.startswith(CHOSEN)}
        is_renewed = any(given.get(name) not in (None, chosen[name]) for name in LIMITS)
        kept = {name: value for name, value in chosen.items() if name not in OF_TIME} | given
        return make_config(flatten(config) | chosen | given), kept if is_renewed else None
    if start:
        model = asdict(read_info(require_model(Path(start)) / "config.json")[0].model)
        if model["family"] not in OBJECTIVES[config.training.objective].families:
            del model["family"], model["source_attention"]  # which other families don't have
        chosen = {f"model.{name}": value for name, value in model.items()}
    return make_config(flatten(config) | chosen | given), given


def choose(given: Given, config: Config, prepared: Prepared) -> Config:
    """The settings of a run: those in `given`, by their dotted names, and for the others what suits the corpus and the
    machine. `config`: the settings that the text was prepared with."""
    ledger = prepared.ledgers["train"]
    pairs, more = ledger.kept - ledger.texts, MORE_STEPS if ledger.texts else 1.0
    # What the text was prepared with stays: it may come from more than `given`, such as the corpus that auto took.
    settings = flatten(config)
    if not config.tokenizer.folder:  # of a tokenizer that is taken, no setting is used
        settings["tokenizer.vocab_size"] = prepared.tokenizer.src_vocab_size
    if config.training.objective == "translation":
        settings["training.best_metric"] = "chrf"  # BLEU of little text is near 0, and needs words between blanks
    steps, passes, about = config.training.max_steps, math.inf, ""
    has_model = bool(config.training.start_from)
    for chosen_now in choice.choose_models(pairs, given):
        settings |= {name: value for name, value in chosen_now.items() if not (has_model and name.startswith("model."))}
        if "training.max_steps" in given:
            break
        minutes = config.training.max_minutes or more * choice.usual_minutes(pairs)
        data = TrainingData.load(prepared, config.data)
        seconds, steps_a_pass = time_steps(make_config(settings | given), data)
        validated = min(len(data.validation_text), config.training.validation_sentences or math.inf)
        whole = 60 * minutes / (SLOWER * seconds)
        a_validation = VALIDATING * steps_a_pass * validated / (len(data.train) - data.texts)  # in steps
        validating = min(whole / 2, choice.VALIDATIONS * a_validation)
        fitting = whole - validating
        most = (config.training.max_epochs or math.inf) * steps_a_pass
        steps = choice.choose_steps(pairs, more * steps_a_pass, min(fitting, most))
        passes, needed = steps / steps_a_pass, (steps + validating) * SLOWER * seconds / 60
        about = f", {passes:.1f} passes over the text, in about {max(1, round(needed)):,} min"
        about += " (--training.max_minutes changes that)"
        if has_model or "model.d_model" in given or choice.is_fast_enough(pairs, steps_a_pass, fitting):
            break
    share = choice.denoise_share(pairs, ledger.texts, steps) if may_denoise(given, config, prepared) else 0.0
    chosen = make_config(settings | choice.course_of(steps, share) | given)
    model = chosen.model
    layers = f"{model.encoder_layers}+{model.decoder_layers} layers of width {model.d_model}"
    pieces = f"{prepared.tokenizer.src_vocab_size:,} pieces"
    first = chosen.training.denoise_steps
    about += f"; the first {first:,} steps restore noised text" if first else ""
    say(f"Chosen for {ledger.amount()}: {pieces}, {layers}, dropout {model.dropout:g}; {steps:,} steps{about}")
    if passes < 1:
        say("WARNING: training ends before it has read all of the text once: give it more minutes")
    return chosen


def may_denoise(given: Given, config: Config, prepared: Prepared) -> bool:
    """Whether the first steps may restore noised text: not if the user gives the steps, which may be few, unless there
    are texts that only these steps read."""
    is_new = not config.training.start_from and "training.max_steps" not in given
    return config.can_denoise and prepared.tokenizer.joint and (is_new or prepared.ledgers["train"].texts > 0)


def time_steps(config: Config, data: TrainingData) -> tuple[float, float]:
    """The seconds of a step on this machine, and the steps of a pass over the text."""
    say(f"Timing steps of a model of width {config.model.d_model} on this machine …")
    with TemporaryDirectory() as folder:
        trainer = make_trainer(config, data, Path(folder))
        times = list[float]()
        for _ in range(SLOW_STEPS + TIMED_STEPS):
            started = time.perf_counter()
            trainer.step(Window())
            times.append(time.perf_counter() - started)
            trainer.threads.adapt()
        torch.set_num_threads(trainer.threads.most)
        return median(times[SLOW_STEPS:]), trainer.data.steps_a_pass(trainer.model, trainer.config)
