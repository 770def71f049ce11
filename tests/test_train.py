"""From a corpus to a report through the command; what a second call, an interruption and changed settings do."""

import fcntl
import importlib
import json
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nmt import Translator, messages
from nmt.evaluate import main as evaluate_main
from nmt.extras import install, typed
from nmt.train import main
from nmt.translate import main as translate_main
from nmt.translation.model_folder import Facts
from tests import forks
from tests.data.corpus_files import interrupt, write_corpus
from tests.tiny import Stderr

TIMED = {f"speed/{name}" for name in ("target_tokens_per_second", "sentences_per_second", "data_share")}
ROOT = Path(__file__).parent.parent
SENTENCES = [
    (f"das {a} ist {b} .", f"the {c} is {d} .")
    for a, c in (("Haus", "house"), ("Boot", "boat"), ("Kind", "child"), ("Tier", "animal"), ("Brot", "bread"))
    for b, d in (("alt", "old"), ("neu", "new"), ("gut", "good"), ("klein", "small"), ("rot", "red"))
]
SMALL = shlex.split("""
    --tokenizer.vocab_size 60 --tokenizer.byte_fallback false --model.d_model 16 --model.n_heads 2 --model.d_ff 32
    --model.encoder_layers 1 --model.decoder_layers 1 --training.max_steps 6 --training.batch_tokens 100
    --training.log_every 2 --training.validate_every 3 --training.threads 1
    --training.device cpu --training.precision fp32
""")


def houses(folder: Path) -> Path:
    return write_corpus(folder / "houses", train=SENTENCES[:20], val=SENTENCES[20:22], test_a=SENTENCES[22:])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return houses(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, to be read only, beside which others may begin."""
    corpus = houses(tmp_path_factory.mktemp("finished"))
    assert train(corpus) == 0
    return corpus.parent / "runs" / "de-en-houses"


def arguments(corpus: Path, *more: str) -> list[str]:
    return ["--data.corpus", str(corpus), "--runs", str(corpus.parent / "runs"), *SMALL, *more]


def train(corpus: Path, *more: str) -> int:
    return main(arguments(corpus, *more))


def start(corpus: Path, *more: str) -> "subprocess.Popen[str]":
    """The training command in a process of its own, whose stderr can be read."""
    return forks.start(main, arguments(corpus, *more), stderr=subprocess.PIPE, text=True)


def test_a_corpus_becomes_a_measured_model(corpus: Path, stderr_of: Stderr, monkeypatch: pytest.MonkeyPatch) -> None:
    val = corpus / "val.en"
    val.write_text("".join(f"{line} {line}\n" for line in val.read_text().splitlines()))  # twice as long
    said = stderr_of(train, corpus, status=0)
    assert "Watch:      " in said
    run = corpus.parent / "runs" / "de-en-houses"
    report = json.loads((run / "report.json").read_text())
    assert report["commits"] == {}  # of the hub, nothing was read
    assert report["corpus"] == "houses"
    assert {"bleu", "chrf", "exact", "bleu_signature", "chrf_signature", "parameters"} <= report.keys()
    assert {"prepare", "train", "evaluate"} == report["seconds"].keys()
    steps = report["training"].pop("steps")
    assert (steps["taken"], steps["chosen"]) in ((6, [3]), (6, [6]), (6, [3, 6]))
    assert report["training"] == {"device": "cpu", "precision": "fp32"}
    assert {"nmt", "torch", "sacrebleu"} <= report["versions"].keys()
    assert report["bleu_signature"].startswith("BLEU|nrefs:1|case:mixed|")
    assert len((run / "translations" / "test_a.en").read_text().splitlines()) == 3
    translator = Translator.load(run / "model", "cpu", precision="fp32", backend="pytorch")
    assert translator.translate(["das Haus ist rot .", ""])[1] == ""
    assert translator.engine.shortlist is not None
    assert translator.facts.least_known > 0.5
    assert translator.facts.length_ratio > 1.5
    assert translator.tokenizer.words is not None
    assert translator.facts.least_spelling > 0
    search = replace(translator.search, guard=False)
    found = [best for best, *_ in translator.translate_n_best([source for source, _ in SENTENCES[20:22]], search)]
    lowest = min(found, key=lambda best: best.confidence)
    assert translator.facts.least_confidence == pytest.approx(lowest.confidence, abs=3e-4)
    longest = max(map(len, translator.tokenizer.encode_source([source for source, _ in SENTENCES[:20]])))
    assert longest <= translator.facts.longest_source <= longest + 6, "a copy has up to three placeholders"
    assert "Chosen for 20 pairs: 57 pieces, 1+1 layers of width 16, dropout 0.3; 6 steps" in said
    assert "WARNING: 20 training pairs are too few for a translator of any use" in said
    assert "Translating 2 validation sentences, to know when a translation is unsure" in said
    assert "WARNING: 2 of these 2 translations are poor (chrF below 40)" in said
    assert "Measuring the model on 3 test sentences" in said
    assert f"{typed('translate')} --model {run / 'model'}" in said
    assert all(f"source  {source}" in said for source, _ in SENTENCES[22:]), "the test set has three sentences to show"
    with monkeypatch.context() as patched:
        patched.setattr("nmt.training.run.find_spec", lambda name: None)
        said = stderr_of(train, corpus, status=0)
    assert "is finished" in said
    assert f"To watch the curves, install TensorBoard first: {install('tensorboard')}" in said
    assert "Its report:" in stderr_of(train, corpus, "--training.threads", "1", status=0)
    assert "training.seed was 1, is 7" in stderr_of(train, corpus, "--training.seed", "7", "--training.threads", "1")
    (corpus / "test_a.en").write_text("the bread is old .\nthe bread is new .\nthe bread is good .\n")
    said = stderr_of(train, corpus, status=0)
    assert "text has changed since it was prepared: " in said
    assert "test_a.en was changed" in said


def test_a_trained_run_without_figures_is_not_made_longer(finished: Path, stderr_of: Stderr, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "de-en-houses"
    shutil.copytree(finished, run)
    (run / "report.json").unlink()
    same = ["--config", str(run / "config.yaml"), "--runs", str(run.parent), "--resume"]
    said = stderr_of(main, [*same, "--training.max_steps", "300"])
    assert "was trained with other settings: training.max_steps was 6, is 300" in said
    assert "BLEU" in stderr_of(main, same, status=0)


def test_tensorboard_has_samples(finished: Path) -> None:
    events = EventAccumulator(str(finished / "tensorboard"))
    events.Reload()
    assert [e.step for e in events.Tensors("samples/text_summary")] == [3, 6]
    shown = events.Tensors("samples/text_summary")[0].tensor_proto.string_val[0].decode()
    assert all(f"| {source} |" in shown for source, _ in SENTENCES[20:22])


def test_a_model_is_tuned_further_with_its_own_tokenizer(finished: Path, stderr_of: Stderr) -> None:
    base = finished / "model"
    config = ["--config", str(finished / "config.yaml"), "--name", "tuned", "--training.max_steps", "0"]
    config += ["--training.freeze", "[encoder]", "--training.teacher", str(base)]
    said = stderr_of(main, [*config, "--training.start_from", str(base), "--tokenizer.folder", str(base)], status=0)
    assert f"The tokenizer is the one in {base}" in said
    assert "embeddings 100.0%, encoder 100.0%, decoder 100.0%." in said
    assert re.search(rf"Training [\d,]+ of [\d,]+ parameters on .* by the teacher {base}", said)
    tuned = finished.with_name("tuned") / "model"
    assert (tuned / "model.safetensors").read_bytes() == (base / "model.safetensors").read_bytes()
    assert (tuned / "joint.model").read_bytes() == (base / "joint.model").read_bytes()
    card = (tuned / "README.md").read_text("utf8")
    assert "Its training started from a model that was trained on houses. Its terms hold too" in card
    assert "It was trained further on that corpus only: check its licence before" in card


def test_a_model_is_written_even_if_the_first_one_has_been_moved(
    finished: Path, stderr_of: Stderr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = shutil.copytree(finished / "model", tmp_path / "base")
    monkeypatch.setattr("nmt.training.delivery.measure_facts", lambda *_: base.rename(tmp_path / "moved") and Facts())
    config = ["--config", str(finished / "config.yaml"), "--name", "moved", "--training.max_steps", "0"]
    said = stderr_of(main, [*config, "--training.start_from", str(base), "--tokenizer.folder", str(base)], status=0)
    assert "The model card doesn't have the origin and licence" in said
    card = (finished.with_name("moved") / "model" / "README.md").read_text("utf8")
    assert f"Its training started from {base}." in card


def test_settings_without_any_effect_are_told_and_epochs_are_a_limit_too(corpus: Path, stderr_of: Stderr) -> None:
    write_corpus(corpus.with_name("few"), train=[("das Rad", "the wheel")])
    idle = ["--training.mixing_temperature", "3", "--training.best_of", "mean", "--training.min_learning_rate", "1e-5"]
    idle += ["--training.schedule", "constant"]
    more = ["--data.more", f"[{{corpus: {corpus.with_name('few')}, weight: 0.1}}]", "--training.max_steps", "90000"]
    said = " ".join(stderr_of(train, corpus, *idle, *more, "--training.max_epochs", "1", status=0).split())
    for name, needed in (
        ("mixing_temperature", "data.many_to_many"),
        ("best_of", "several validation sets"),
        ("min_learning_rate", "training.schedule cosine, linear or wsd"),
    ):
        assert f"training.{name} changes nothing here: it is used only with {needed}" in said
    assert "validation_sentences" not in said
    assert "none of the 1 pairs of few is seen: raise the weight of that corpus" in said
    assert re.search(r"training\.max_epochs ends training at step [1-9], and warmup_steps is 6,428", said)


def test_a_run_that_ends_before_it_learns_to_translate_warns(corpus: Path, stderr_of: Stderr) -> None:
    steps = ["--training.max_steps", "2", "--training.denoise_steps", "2", "--training.warmup_steps", "1"]
    said = " ".join(stderr_of(train, corpus, *steps, status=0).split())
    assert "WARNING: training.max_steps ends training at step 2, and denoise_steps is 2: no step learns to" in said
    assert "warmup_steps is" not in said


def test_an_adapter_translates_as_the_adapted_model(finished: Path, stderr_of: Stderr, tmp_path: Path) -> None:
    base, corpus = finished, finished.parents[1] / "houses"
    config = ["--config", str(base / "config.yaml"), "--name", "adapted", "--training.learning_rate", "0.05"]
    start = ["--training.start_from", str(base), "--tokenizer.folder", str(base / "model"), "--lora.rank", "2"]
    assert "Training adapters, " in stderr_of(main, [*config, *start, "--training.warmup_steps", "1"], status=0)
    texts = ["--source", str(corpus / "train.de"), "--reference", str(corpus / "train.en"), "--precision", "fp32"]
    texts += ["--backend", "pytorch"]  # which computes adapters
    adapted, outputs = str(base.with_name("adapted")), []
    for name, options in (("a", [str(base), "--adapter", adapted]), ("b", [adapted]), ("c", [str(base)])):
        assert evaluate_main(["--model", *options, *texts, "--save", str(tmp_path / name)]) == 0
        outputs += [next((tmp_path / name).iterdir()).read_text(encoding="utf8")]
    assert outputs[0] == outputs[1] != outputs[2]


def test_a_run_whose_corpus_failed_begins_anew(corpus: Path, stderr_of: Stderr) -> None:
    whole = (corpus / "train.de").read_text(encoding="utf8")
    (corpus / "train.de").write_text("\n" * len(whole.splitlines()), encoding="utf8")
    assert "no usable train pair" in stderr_of(train, corpus, "--model.dropout", "0.2")
    assert list((corpus.parent / "runs").iterdir()) == [], "no empty run folder is left"
    (corpus / "train.de").write_text(whole, encoding="utf8")
    assert train(corpus) == 0, "neither --resume nor the first call's settings are asked for"


def test_an_unfinished_run_wants_resume_and_its_own_settings(corpus: Path, stderr_of: Stderr) -> None:
    assert train(corpus) == 0
    run = corpus.parent / "runs" / "de-en-houses"
    (run / "report.json").unlink()
    assert "--resume goes on" in stderr_of(train, corpus)
    assert "model.dropout was 0.3, is 0.2" in stderr_of(train, corpus, "--resume", "--model.dropout", "0.2")
    assert train(corpus, "--resume") == 0
    assert (run / "report.json").exists()


def test_a_run_folder_can_be_renamed(finished: Path, stderr_of: Stderr, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "renamed"
    shutil.copytree(finished, run)
    same = ["--config", str(run / "config.yaml"), "--runs", str(run.parent), "--name", "renamed", "--resume"]
    assert "renamed is finished" in stderr_of(main, same, status=0)
    (run / "report.json").unlink()
    shutil.rmtree(run / "model")
    assert "Resuming after step 6" in stderr_of(main, same, status=0)
    assert (run / "model" / "model.safetensors").read_bytes() == (finished / "model/model.safetensors").read_bytes()


def test_a_run_without_a_step_begins_anew(corpus: Path, stderr_of: Stderr) -> None:
    """What the error advises is taken, with and without --resume."""
    for more in ([], ["--resume"]):
        assert "a batch has room for 5" in stderr_of(train, corpus, "--training.batch_tokens", "5", *more)
    assert train(corpus, "--resume", "--training.batch_tokens", "90", "--training.seed", "2") == 0
    assert "data.max_*" in stderr_of(train, corpus, "--name", "other", "--data.max_pieces", "2")
    assert train(corpus, "--name", "other") == 0


def test_a_foreign_rank_silences_nothing(corpus: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr) -> None:
    monkeypatch.setenv("RANK", "x")
    importlib.reload(messages)
    assert "BLEU" in stderr_of(train, corpus, "--training.max_steps", "0", status=0)


def test_ctrl_c_saves_and_the_run_goes_on(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also while nobody reads what the command writes: it waits in the middle of a line."""
    checkpoints = corpus.parent / "runs" / "de-en-houses" / "checkpoints"
    process = start(corpus, "--training.max_steps", "100000", "--training.validate_every", "100000")
    assert process.stderr is not None
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)  # bytes that are kept until they are read
    for line in process.stderr:
        if line.startswith("step 10:"):
            break
    capsys.readouterr()
    assert train(corpus, "--resume") == 2, "two processes must not train one run"
    assert "another process" in capsys.readouterr().err
    unread = -1
    while unread < (unread := int.from_bytes(fcntl.ioctl(process.stderr, termios.FIONREAD, bytes(4)), sys.byteorder)):
        time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(60) == 130, rest
    assert "all is saved" in rest
    assert "Traceback" not in rest
    [saved] = checkpoints.iterdir()
    step = json.loads((saved / "state.json").read_text())["step"]
    assert step >= 10
    assert train(corpus, "--resume", "--training.max_steps", str(step + 3)) == 0
    assert (checkpoints / f"step-{step + 3:08d}").is_dir()


def test_ctrl_c_after_training_loses_nothing(corpus: Path, monkeypatch: pytest.MonkeyPatch, stderr_of: Stderr) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("nmt.training.run.measure_tests", interrupt)
        assert stderr_of(train, corpus, status=130).endswith("\nStopped; what is finished is kept for --resume.\n")
    assert train(corpus, "--resume") == 0


def test_kill_9_at_any_moment_changes_nothing(corpus: Path) -> None:
    """With dropout, bf16 and a moving average; a checkpoint each step, so that saves are hit."""
    settings = shlex.split("""
        --training.max_steps 24 --training.validate_every 1 --training.validation_sentences 1 --training.precision bf16
        --training.ema 0.9
    """)
    assert train(corpus, *settings, "--name", "whole") == 0
    seed = random.randrange(2**32)
    moments, kills = random.Random(seed), 0
    while True:
        process = start(corpus, *settings, "--name", "killed", "--resume")
        assert process.stderr is not None
        for line in process.stderr:
            if kills < 3 and line.startswith("step "):
                time.sleep(moments.uniform(0.0, 0.2))
                process.kill()
                break
        rest = process.stderr.read()
        if process.wait(60) != -signal.SIGKILL:
            break
        kills += 1
    assert process.returncode == 0, rest
    assert kills > 0, "the run was over before it could be killed"
    runs = corpus.parent / "runs"
    for name in ("model", "ema", "optimizer"):
        one, other = (
            (runs / run / "checkpoints" / "step-00000024" / f"{name}.safetensors").read_bytes()
            for run in ("whole", "killed")
        )
        assert one == other, (name, seed)
    figures = [
        [
            {tag: value for tag, value in json.loads(line).items() if tag not in TIMED}
            for line in (runs / run / "metrics.jsonl").read_text().splitlines()
        ]
        for run in ("whole", "killed")
    ]
    assert figures[0] == figures[1], seed


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--data.corpus", "nowhere/at/all"], "nowhere/at/all"),
        (["--training.max_stepz", "3"], "did you mean training.max_steps?"),
        (["--training.device", "cuda:99", "--data.corpus", "CORPUS"], "cuda:99"),
        (["--training.device", "gpu", "--data.corpus", "CORPUS"], "'gpu' is not a device"),
        (["--model.d_ff", "100000000000", "--data.corpus", "CORPUS"], "memory ran out"),
        (["--data.text", "target", "--data.corpus", "CORPUS"], "can't learn from data.text target: take pairs"),
        (["--training.objective", "denoise", "--data.text", "pairs", "--data.corpus", "CORPUS"], "data.text pairs"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(corpus: Path, stderr_of: Stderr, argv: list[str], message: str) -> None:
    argv = [str(corpus) if word == "CORPUS" else word for word in argv]
    tokenizer = ["--tokenizer.vocab_size", "60", "--tokenizer.byte_fallback", "false"]
    said = stderr_of(main, [*argv, "--runs", str(corpus.parent / "runs"), *tokenizer])
    assert message in said.splitlines()[-1]
    assert "--training.device" not in argv or not (corpus.parent / "runs").exists(), "nothing is prepared"


COMMANDS = ("train", "prepare", "translate", "evaluate", "augment")
LARGE = {"torch", "numpy", "sentencepiece", "tensorboard", "sacrebleu", "datasets", "huggingface_hub", "PIL"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import nmt", 120),
        ("import nmt.train", 200),
        *((f"import nmt.{name}; nmt.{name}.main(['--help'])", 400) for name in COMMANDS),
    ],
)
def test_help_imports_no_torch_and_little_else(code: str, most: int) -> None:
    """What is imported decides how long a user waits for help, or for an error about a misspelled option."""
    code = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = done.stderr.split()
    assert not LARGE & set(modules)
    assert len(modules) < most


@pytest.mark.parametrize(
    ("pair", "languages"),
    [("en-pt-BR", "en pt-BR"), ("zh-Hant-TW-sr_Latn", "zh-Hant-TW sr_Latn"), ("pt-br-en", None), ("de-en-fr", None)],
)
def test_make_tells_languages_from_regions(tmp_path: Path, pair: str, languages: str | None) -> None:
    """With a command in the place of Python that prints its arguments, and an installation that seems to be done."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/bin/echo")
    for name in (".made", ".core-installed"):
        (tmp_path / name).touch()
    command = ["make", f"train-{pair}", f"VENV={tmp_path}", "-o", f"{tmp_path}/.core-installed"]
    command += ["CORPUS=some/folder", "ARGS=--training.max_steps 5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if languages is None:
        assert done.returncode == 2
        assert f"train-{pair}: write make train-SOURCE-TARGET" in done.stderr
    else:
        source, target = languages.split()
        given = f"--data.source {source} --data.target {target} --data.corpus some/folder --training.max_steps 5"
        assert done.stdout.strip() == f"-m nmt.train --resume {given}"


@pytest.mark.parametrize(
    ("objective", "family", "name"),
    [("lm", "decoder-only", "en-houses-lm"), ("pair", "encoder-only", "de-en-houses-pair")],
)
def test_other_objectives_are_reported(corpus: Path, objective: str, family: str, name: str, stderr_of: Stderr) -> None:
    command = [corpus, "--training.objective", objective, "--model.family", family]
    said = stderr_of(train, *command, status=0)
    run = corpus.parent / "runs" / name
    report = json.loads((run / "report.json").read_text())
    assert {"nll", "perplexity", "parameters", "tests"} <= report.keys()
    assert not report.keys() & {"bleu", "chrf"}
    assert "on 20 pairs" in said or "texts" in said
    assert "nmt.translate --model" not in said
    assert f"it was trained with training.objective {objective}" in stderr_of(translate_main, ["--model", str(run)])
    assert "is finished" in stderr_of(train, *command, status=0)
