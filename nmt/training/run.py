"""A run: settings and a corpus flow in; a run folder flows out, filled by the stages prepare, train and evaluate.

Each stage leaves its result in the folder (docs/training.md lists the files), so an interrupted run continues where it
stopped. Rank 0 does all stages; the other processes of torchrun only train (see `nmt.training.distributed`).
"""

import contextlib
import json
import platform
import shlex
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nmt.config import OBJECTIVES, Config
from nmt.config.names import describe_changes, fixed_settings, flatten
from nmt.config.recipes import by_dotted_names, dump_config, load_config, make_config
from nmt.data.cleaning.cleaner import ledger_table
from nmt.data.cleaning.losses import describe_losses
from nmt.data.corpora import corpus_files
from nmt.data.resolve import ResolvedRun, resolve
from nmt.data.store.prepared import Prepared, note_of_edits, require_own_run_folder
from nmt.data.store.preparing import prepare
from nmt.data.store.record import read_record
from nmt.extras import install, python
from nmt.fields import require
from nmt.files import locked, write_json, write_text
from nmt.messages import say, show
from nmt.model.device import choose_numerics, is_out_of_memory, let_segments_grow
from nmt.training.checkpoint import choose_weights
from nmt.training.choice import choose, chosen_before
from nmt.training.data import TrainingData
from nmt.training.delivery import describe, measure_tests, write_model
from nmt.training.distributed import Processes, process_group
from nmt.training.finetuning import require_fitting_models
from nmt.training.loop import Trainer, make_trainer
from nmt.training.monitor import Monitor, validation_at
from nmt.translation.pair_scorer import load_scorer
from nmt.version import __version__

FEW_PAIRS = 1000  # with less training text, a translator learns next to nothing
# Settings that change no result.
HARMLESS = ("name", "runs", "training.device", "training.threads", "training.log_every")


def carry_out(given: Mapping[str, Any], *, resume: bool) -> None:
    """Do the run of a command line. `given`: as for `resolve`; `resume`: continue a run that was stopped."""
    let_segments_grow()
    with process_group(given.get("training.device", "auto")) as processes:
        try:
            if processes.is_main:
                resolved = resolve(given)
                require_fitting_text(resolved.config)
                # Before the time that preparing takes.
                choose_numerics(resolved.config.training.device, resolved.config.training.precision)
                Run(resolved.config, processes, resolved, given).carry_out(resume)
            # Other processes may not be able to read the same corpus.
            elif settings := processes.broadcast(dict[str, Any](), group=processes.preparing):
                with contextlib.suppress(KeyboardInterrupt):  # rank 0 tells the user that training was stopped
                    run = Run(make_config(by_dotted_names(settings)), processes)
                    run.train(Prepared.load(run.folder))
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt(*stop.args or ["Stopped; what is finished is kept for --resume."]) from None


@contextlib.contextmanager
def enough_memory() -> Iterator[None]:
    """Turn PyTorch's error, when memory runs out in this context, into a ValueError with advice."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        problem = "memory ran out for the model, the optimizer or validation: take a smaller model"
        raise ValueError(f"{problem} ({error})") from error


def require_fitting_text(config: Config) -> None:
    """Raise ValueError if the objective can't learn from data.text: only translation and pair need pairs."""
    objective, text = config.training.objective, config.data.text
    advice = "pairs" if OBJECTIVES[objective].text == "pairs" else "source, target or both"
    fits = (text == "pairs") == (advice == "pairs")
    require(fits, f"training.objective {objective} can't learn from data.text {text}: take {advice}")


def without_effect(config: Config, named: Collection[str], data: TrainingData) -> Iterator[str]:
    """Notes on the settings in `named` that change nothing in this run, and on corpora whose weights leave no pair."""
    training, several = config.training, len({part.name for part in data.val_sets}) > 1
    falls, translates = training.schedule in ("cosine", "linear", "wsd"), training.objective == "translation"
    uses = {
        "mixing_temperature": (len(config.data.directions) > 1, "data.many_to_many"),
        "best_of": (several, "several validation sets"),
        "validation_sentences": (translates, "training.objective translation"),
        "min_learning_rate": (falls, "training.schedule cosine, linear or wsd"),
    }
    for name, (is_used, needed) in uses.items():
        if f"training.{name}" in named and not is_used:
            yield f"training.{name} changes nothing here: it is used only with {needed}"
    if mixture := data.first_mixture:  # it has all that any step reads
        for part, size, amount in zip(data.portions, mixture.sizes, mixture.amounts, strict=True):
            if size and not amount:
                unit = "pairs" if part.text == "pairs" else "texts"
                yield f"WARNING: none of the {size:,} {unit} of {part.name} is seen: raise the weight of that corpus"


def recorded(file: Path) -> dict[str, Any]:
    """What a run has recorded in a file so far; empty without the file."""
    return dict(json.loads(file.read_text(encoding="utf8"))) if file.exists() else {}


class Run:
    """A run folder, and the stages that fill it."""

    def __init__(
        self, config: Config, processes: Processes, resolved: ResolvedRun | None = None, named: Collection[str] = ()
    ) -> None:
        """`resolved`: what rank 0 knows besides the settings. `named`: the settings that the command line has."""
        self.config, self.processes, self.named = config, processes, named
        self.corpus, self.given = (resolved.corpus, resolved.given) if resolved else (None, None)
        self.folder = Path(config.runs) / config.name
        self.report_file, self.seconds_file = self.folder / "report.json", self.folder / "seconds.json"
        self.training_file, self.config_file = self.folder / "trained.json", self.folder / "config.yaml"

    def carry_out(self, resume: bool) -> None:
        """Do the stages that are not finished, in rank 0; the other processes are told with which settings to train, or
        (without any) to end. Raises ValueError if the settings of a resumed run changed."""
        tell_others = partial(self.processes.broadcast, group=self.processes.preparing)
        if self.given is not None:
            recorded = self.config_file if self.is_begun() else None
            self.config, self.given = chosen_before(self.given, self.config, recorded)
        if self.report_file.exists():
            tell_others({})
            self.require_equal_settings("is finished, and was trained")
            if note := note_of_edits(self.config, self.folder, read_record(self.folder) or {}):
                say(note)
            say(f"{self.folder} is finished; --name NAME trains another. Its report:")
        else:
            require_own_run_folder(self.config, self.folder)
            with locked(self.folder):
                self.require_fitting_folder(resume)
                with self.timed("prepare"):
                    prepared = self.prepare()
                is_trained = (self.folder / "model").exists()
                tell_others({} if is_trained else asdict(self.config))
                if not is_trained:
                    with self.timed("train"):
                        self.train(prepared)
                self.evaluate(prepared)
        self.print_report()

    def prepare(self) -> Prepared:
        """Prepare the corpus, and choose the settings that are to be chosen."""
        prepared = prepare(self.corpus, self.config, self.folder, load_scorer)
        if self.given is not None:
            with enough_memory():
                self.config = choose(self.given, self.config, prepared)
        # Only now: if preparing fails, a new folder stays empty, and is deleted.
        write_text(self.config_file, f"# Written by nmt {__version__}.\n{dump_config(self.config)}")
        show(ledger_table(prepared.ledgers))
        data = self.config.data
        for warning in describe_losses(prepared.ledgers, corpus_files(data), data.languages):
            say(warning)
        return prepared

    def require_equal_settings(self, state: str) -> None:
        """Raise ValueError if a trained run has other settings, which its scores would be taken for."""
        before, now = (flatten(config) for config in (load_config(self.config_file), self.config))
        changed = describe_changes(before | {name: now[name] for name in HARMLESS}, now)
        advice = "A finished run is not changed or made longer: --name NAME trains another"
        require(not changed, f"{self.folder} {state} with other settings: {changed}. {advice}")

    def is_begun(self) -> bool:
        """Whether training has left something that other settings don't fit."""
        checkpoints = self.folder / "checkpoints"
        trained = (*checkpoints.glob("step-????????"), *checkpoints.glob("step-*.damaged"), *self.folder.glob("model"))
        return self.config_file.exists() and bool(trained)

    def require_fitting_folder(self, resume: bool) -> None:
        """Raise ValueError if a run with checkpoints has other settings, except those marked MAY_CHANGE. Of prepared
        data alone, `prepare` compares them."""
        if self.is_begun():
            require(resume, f"{self.folder} is not finished: --resume goes on with it, --name NAME starts a new run")
            changed = describe_changes(fixed_settings(load_config(self.config_file)), fixed_settings(self.config))
            advice = "Take the old settings to resume it, or --name NAME for a new run"
            require(not changed, f"{self.folder} was started with other settings: {changed}. {advice}")
            if (self.folder / "model").exists():
                self.require_equal_settings("was trained")
        else:
            require_fitting_models(self.config)

    @contextlib.contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the seconds of a stage, also of one that fails or is interrupted, to seconds.json."""
        started = time.perf_counter()
        try:
            yield
        finally:
            seconds = recorded(self.seconds_file)
            seconds[stage] = round(seconds.get(stage, 0.0) + time.perf_counter() - started, 1)
            with contextlib.suppress(OSError):  # the user must see the error of the stage instead
                if self.config_file.exists():  # else nothing is prepared
                    write_json(self.seconds_file, seconds)

    @enough_memory()
    def train(self, prepared: Prepared) -> None:
        """Train, or resume training; then choose the weights and write the model folder."""
        processes, config = self.processes, self.config
        data = TrainingData.load(prepared, config.data)
        trainer = make_trainer(config, data, self.folder, processes)
        self.announce(trainer, prepared)
        progress = trainer.progress
        monitored = Monitor(self.folder, progress.step, trainer.most_steps()) if processes.is_main else None
        with monitored or contextlib.nullcontext() as monitor:
            trainer.train(monitor)
            chosen, weights = choose_weights(trainer.checkpoints, progress, trainer.model, processes)
        if processes.is_main:
            steps = {"taken": progress.step, "chosen": [chosen]}
            device, precision = str(trainer.numerics.device), "bf16" if trainer.numerics.bf16 else "fp32"
            write_json(self.training_file, {"steps": steps, "device": device, "precision": precision})
            write_model(self.folder / "model", weights, data, config, prepared.name, trainer.numerics.device)

    def announce(self, trainer: Trainer, prepared: Prepared) -> None:
        """Tell the size of the model and of the text, and which settings don't fit them."""
        config, processes = self.config, self.processes
        parameters = sum(p.numel() for p in trainer.model.parameters())
        where = f"{trainer.numerics}{f', {processes.size} processes' if processes.size > 1 else ''}"
        ledger = prepared.ledgers["train"]
        text = ledger.amount(len(prepared.train) - ledger.kept)
        learned = sum(p.numel() for p in trainer.model.parameters() if p.requires_grad)
        what = f"{'adapters, ' if config.lora.rank else ''}{learned:,} of " if learned < parameters else ""
        by = f", by the teacher {config.training.teacher}" if config.training.teacher else ""
        say(f"Training {what}{parameters:,} parameters on {text}{by}: {where}")
        kept, starts_anew = ledger.kept - ledger.texts, not config.training.start_from
        if kept < FEW_PAIRS and config.training.objective == "translation" and starts_anew:
            say(f"WARNING: {kept:,} training pairs are too few for a translator of any use: it needs many thousands")
        for note in without_effect(config, self.named, trainer.data):
            say(note)
        steps = trainer.most_steps()
        limit = "max_steps" if steps == config.training.max_steps else "max_epochs"
        for name, lacks, advice in (
            ("warmup_steps", "the learning rate rises until the end", "a tenth"),
            ("denoise_steps", "no step learns to translate", "a third"),
        ):
            if 0 < steps <= (first := getattr(config.training, name)):
                problem = f"WARNING: training.{limit} ends training at step {steps:,}, and {name} is {first:,}"
                say(f"{problem}: {lacks}. Set {name} to {advice} of the steps")

    def evaluate(self, prepared: Prepared) -> None:
        """Measure the model folder on the test sets, and write report.json."""
        started = time.perf_counter()
        scores = measure_tests(self.folder, self.config, prepared.tests)
        training = recorded(self.training_file)  # empty if an older nmt trained the run
        chosen = training.get("steps", {}).get("chosen", [])
        report = {
            "corpus": prepared.name,
            "commits": prepared.commits,
            "source": self.config.data.source,
            "target": self.config.data.target,
            **scores,
            "training": training,
            # The mean of several checkpoints, by an older nmt, has no record.
            "validation": validation_at(self.folder / "metrics.jsonl", chosen[0]) if len(chosen) == 1 else {},
            "seconds": recorded(self.seconds_file) | {"evaluate": round(time.perf_counter() - started, 1)},
            "pairs": {"train": len(prepared.train) - prepared.ledgers["train"].texts, "val": len(prepared.val)},
            "versions": {"nmt": __version__, "python": platform.python_version()}
            | {name: version(name) for name in ("torch", "sentencepiece", "sacrebleu")},
            "settings": asdict(self.config),
        }
        write_json(self.report_file, report)

    def print_report(self) -> None:
        """Print examples, scores, and the commands to type next."""
        for line in describe(recorded(self.report_file), self.folder):
            say(line)
        if find_spec("tensorboard"):
            say(f"Watch:      {python()} -m tensorboard.main --logdir {shlex.quote(self.config.runs)}")
        else:
            say(f"To watch the curves, install TensorBoard first: {install('tensorboard')}")
