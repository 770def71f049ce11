"""A run: its folder, and the stages that fill it, from the corpus to the report.

Each stage leaves its result when it is done, so that a run that was cut off goes on where it stopped. torchrun starts
several processes on one run (see `nmt.training.distributed`): all train, and the first does all else.
"""

import contextlib
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt import __version__
from nmt.cli import console, dump_config, flatten, load_config, say
from nmt.config import Config
from nmt.files import locked, write_json, write_lines, write_text

if TYPE_CHECKING:
    from nmt.data.corpora import Corpus
    from nmt.data.prepared import Prepared
    from nmt.training.distributed import Processes

# What may differ when a run goes on: nothing here alters what its steps so far have learned.
MAY_CHANGE = {
    "training.max_steps",
    "training.log_every",
    "training.validate_every",
    "training.validation_sentences",
    "training.learning_rate",
    "training.min_learning_rate",
    "training.clip_norm",
    "training.patience",
    "training.threads",
    "training.device",
    "training.keep_checkpoints",
    "training.average",
    "training.average_of",
    "training.compile",
    "training.shard",
    "training.stop_at",
    "runs",
}
EXAMPLES = 5


@contextlib.contextmanager
def enough_memory() -> Iterator[None]:
    """Tell in a sentence if memory runs out within."""
    from nmt.training.memory import is_out_of_memory

    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise ValueError(
            f"memory ran out, not over a batch but over the model, validation or the optimizer: take a "
            f"smaller model or, with several processes, training.shard ({error})"
        ) from error


class Run:
    """A run folder, and the stages that fill it."""

    def __init__(self, config: Config, corpus: "Corpus | None") -> None:
        """`corpus`: if it is at hand already; else it is read when it is needed."""
        self.config, self.corpus = config, corpus
        self.folder = Path(config.runs) / config.name
        self.report_file, self.seconds_file = self.folder / "report.json", self.folder / "seconds.json"

    def carry_out(self, resume: bool) -> None:
        """From the corpus to the report; what is finished is not done again. Raises ValueError if settings changed."""
        from nmt.training.distributed import joined

        with joined(self.config.training.device) as processes:
            if processes.told(self.report_file.exists()):
                say(f"{self.folder} is finished; --name NAME trains another.")
            elif not processes.first:
                self.help(processes)
            else:
                with locked(self.folder):
                    self.open_folder(resume)
                    prepared = self.timed("prepare", self.prepare)
                    if not processes.told((self.folder / "model").exists(), preparing=True):
                        self.timed("train", lambda: self.train(prepared, processes))
                    self.evaluate(prepared)
        if processes.first:
            self.show()

    def help(self, processes: "Processes") -> None:
        """What a process does that is not the first: wait for the data, and train."""
        from nmt.data.prepared import Prepared

        if not processes.told(False, preparing=True):  # the first knows whether all is trained
            with contextlib.suppress(KeyboardInterrupt):  # and says that all stopped
                self.train(Prepared.load(self.folder), processes)

    def open_folder(self, resume: bool) -> None:
        """Record the settings; those of a run that goes on must be the ones it began with.

        A run without a checkpoint holds nothing to go on with but its prepared data, which `prepare` compares with the
        settings: it begins anew, as the user now asks.
        """
        file = self.folder / "config.yaml"
        checkpoints = self.folder / "checkpoints"
        begun = (*checkpoints.glob("step-????????"), *checkpoints.glob("step-*.damaged"), *self.folder.glob("model"))
        if file.exists() and begun:
            if not resume:
                raise ValueError(
                    f"{self.folder} holds a run that has not finished: --resume goes on with it, "
                    f"--name NAME starts another"
                )
            before, now = flatten(load_config(file)), flatten(self.config)
            changed = [f"{k} was {before[k]}, is {v}" for k, v in now.items() if before[k] != v and k not in MAY_CHANGE]
            if changed:
                raise ValueError(
                    f"{self.folder} was begun with other settings: {'; '.join(changed)}. Take --name NAME "
                    f"for another run, or the old settings to go on"
                )
        write_text(file, f"# Written by nmt {__version__}.\n{dump_config(self.config)}")

    def timed(self, stage: str, work: Callable[[], Any]) -> Any:
        """Do a stage, and add its seconds to seconds.json."""
        started = time.perf_counter()

        def note() -> None:
            seconds = self.seconds()
            seconds[stage] = round(seconds.get(stage, 0.0) + time.perf_counter() - started, 1)
            write_json(self.seconds_file, seconds)

        try:
            result = work()
        except BaseException:
            with contextlib.suppress(OSError):  # why the work failed is what the user should read
                note()
            raise
        note()
        return result

    def seconds(self) -> dict[str, float]:
        """Seconds spent in each stage so far, interrupted attempts included."""
        return dict(json.loads(self.seconds_file.read_text())) if self.seconds_file.exists() else {}

    def prepare(self) -> "Prepared":
        from nmt.data.cleaning import ledger_table
        from nmt.data.prepared import prepare, prepare_run

        prepared = prepare(self.corpus, self.config, self.folder, say) if self.corpus else prepare_run(self.config, say)
        console().print(ledger_table(prepared.ledgers))
        return prepared

    def train(self, prepared: "Prepared", processes: "Processes") -> None:
        """Train, or go on training; then choose the weights and write the model folder."""
        from nmt.training.data import TrainingData
        from nmt.training.delivery import deliver
        from nmt.training.loop import Stopped, make_trainer
        from nmt.training.monitor import Monitor
        from nmt.training.selection import choose_weights

        data = TrainingData.encode(prepared.tokenizer, prepared.train, prepared.val, self.config.training)
        with enough_memory():
            trainer = make_trainer(self.config, data, self.folder, say, processes)
        parameters = sum(p.numel() for p in trainer.model.parameters())
        others = f", {processes.size} processes" if processes.size > 1 else ""
        say(
            f"Training {parameters:,} parameters on {len(prepared.train):,} pairs: {trainer.numerics}{others}; "
            f"watch it with: make tensorboard"
        )
        try:
            with (
                enough_memory(),
                (
                    Monitor(self.folder, trainer.progress.step, self.config.training.max_steps)
                    if processes.first
                    else contextlib.nullcontext()
                ) as monitor,
            ):
                trainer.train(monitor)
                weights = choose_weights(trainer.checkpoints, trainer.progress, trainer.validator, say)
                if monitor:
                    monitor.settings(flatten(self.config), {"best_validation": abs(trainer.progress.best_value or 0.0)})
        except Stopped as stopped:
            raise KeyboardInterrupt(
                f"Stopped after step {trainer.progress.step:,}; all is saved. The same command with --resume goes on."
            ) from stopped
        if processes.first:
            deliver(self.folder / "model", weights, data, self.config, prepared.corpus, trainer.numerics.device)

    def evaluate(self, prepared: "Prepared") -> None:
        """Translate the test sets with the model folder as users load it, and write report.json."""
        from nmt.translation.translator import Translator

        started = time.perf_counter()
        translator = Translator.load(self.folder / "model", self.config.training.device, precision="fp32")
        tests = {name: self.test(translator, name, pairs) for name, pairs in prepared.tests.items()}
        main_test = tests[next(iter(tests))]
        report = {
            "corpus": prepared.corpus,
            "source": self.config.data.source,
            "target": self.config.data.target,
            **{key: main_test[key] for key in ("bleu", "chrf", "bleu_signature", "chrf_signature")},
            "tests": tests,
            "seconds": self.seconds() | {"evaluate": round(time.perf_counter() - started, 1)},
            "parameters": sum(p.numel() for p in translator.model.parameters()),
            "pairs": {"train": len(prepared.train), "val": len(prepared.val)},
            "versions": {"nmt": __version__, "python": platform.python_version()}
            | {name: version(name) for name in ("torch", "sentencepiece", "sacrebleu")},
            "settings": asdict(self.config),
        }
        write_json(self.report_file, report)

    def test(self, translator: Any, name: str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
        """Scores and examples of one test set; the translations go to translations/NAME.TARGET."""
        from nmt.scoring.evaluation import evaluate

        sources, references = map(list, zip(*pairs, strict=True))
        evaluation = evaluate(translator, sources, references)
        translations = evaluation.translations
        write_lines(self.folder / "translations" / f"{name}.{self.config.data.target}", translations)
        spread = [i * len(sources) // EXAMPLES for i in range(min(EXAMPLES, len(sources)))]
        examples = [{"source": sources[i], "translation": translations[i], "reference": references[i]} for i in spread]
        result: dict[str, Any] = {"sentences": len(sources), "examples": examples}
        for score in evaluation.scores:
            key = score.name.lower()
            result |= {key: round(score.value, 2), f"{key}_signature": score.signature}
        return result

    def show(self) -> None:
        """The report for people: examples, scores, and what to type next."""
        report = json.loads(self.report_file.read_text(encoding="utf8"))
        for name, test in report["tests"].items():
            for example in test["examples"]:
                say("")
                for key, label in (("source", "source"), ("translation", "nmt"), ("reference", "reference")):
                    say(f"{label:>10}  {example[key]}")
            say(
                f"\n{name}: BLEU {test['bleu']:.2f}, chrF {test['chrf']:.2f} on {test['sentences']:,} sentences of "
                f"{report['corpus']}\n  {test['bleu_signature']}\n  {test['chrf_signature']}"
            )
        seconds = report["seconds"]
        say("\n" + ", ".join(f"{stage} {seconds[stage]:,.0f} s" for stage in seconds) + f"; report: {self.report_file}")
        say(f"\nTranslate:  {sys.executable} -m nmt.translate --model {self.folder / 'model'}")
        say(f"Watch:      {sys.executable} -m tensorboard.main --logdir {self.config.runs}")
