"""Reading in processes of their own while a GPU searches, which takes less time for a line than to read it.

    this process                         each of the processes
    requests               →             steps of reading
    searches on the GPU    ⇄             what is left to search
    n-best lists           ←             steps back

The processes speak in pickles, but only with the process that started them.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from multiprocessing import parent_process
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import IO, Any

import torch

from nmt.config import SearchConfig
from nmt.data.store.engines import usable_cores
from nmt.decode.engine import Engine, Ids
from nmt.decode.shortlist import Shortlist
from nmt.model.device import is_out_of_memory
from nmt.reading.request import Lists, Request
from nmt.text.markup import Mode
from nmt.translation.repair import portions

SWITCH_SECONDS = 2e-4  # after which Python lets another thread run: one that holds up a GPU; usually 5e-3
MOST = 8  # processes, of which each reads 2,000 to 3,000 lines a second, and a GPU searches 3,000 to 9,000
LEAST_LINES = 2000  # that are translated before processes start, which takes some seconds
PARTS = ("tokenizer", "facts", "search", "spellings", "language", "quotes")
"""What a process needs of the translator."""

PART = 4  # batches that are read here until processes are ready
Process = subprocess.Popen[bytes]
Translate = Callable[[Sequence[Request]], Lists]


@dataclass(frozen=True, eq=False)
class FarEngine:
    """In a process: the engine of the process that started this one. What isn't here is asked of that process."""

    questions: IO[bytes]
    answers: IO[bytes]
    longest_source: int | None
    shortlist: Shortlist | None

    device = torch.device("cpu")  # where this process computes
    takes_phrases, leaves_python = True, False

    def ask(self, name: str, *arguments: Any) -> Any:
        """The result of a method of the engine. Raises what it raises."""
        send(self.questions, ("ask", (name, arguments)))
        works, value = receive(self.answers)
        if not works:
            raise value
        return value

    def begun(self, source: Ids, target: Ids) -> "FarEngine":
        return self  # the engine begins its texts already

    @cache  # noqa: B019
    def longest_target(self, n_source: int) -> int | None:
        return self.ask("longest_target", n_source)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Another method of the engine. No call here may be stopped, so its arguments can be sent."""
        return partial(self.ask, name)


class Readers:
    """Processes that read lines and write translations for a `Translator`."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.lines, self.started = engine, 0, False
        self.lock = Lock()
        self.free = SimpleQueue[Process]()
        self.processes: list[Process] = []
        weakref.finalize(self, end, self.processes)

    def translate(self, translator: Any, requests: Sequence[Request], search: SearchConfig, mode: Mode) -> Lists:
        """As `Translator.translate_n_best`. Until processes are ready, lines are read here."""
        with self.lock:
            self.lines += len(requests)
            # A process of a pool has others beside it, which read too.
            if not self.started and self.lines >= LEAST_LINES and parent_process() is None:
                self.started = True
                self.start(translator, min(MOST, usable_cores() // 2))
        here, lists = translator.call(search, mode).translate, Lists()
        while len(lists) < len(requests) and self.free.empty():
            size = PART * search.batch_size if self.processes else len(requests)
            lists += here(requests[len(lists) : len(lists) + size])
        return lists + self.apart(here, requests[len(lists) :], search, mode)

    def start(self, translator: Any, number: int) -> None:
        """Start processes, which are ready some seconds later."""
        command, pipe = [sys.executable, "-P", "-m", __name__], subprocess.PIPE
        places = [os.path.abspath(place) for place in sys.path if isinstance(place, str)]
        variables = os.environ | {"PYTHONPATH": os.pathsep.join(places), "CUDA_VISIBLE_DEVICES": ""}
        parts = {name: getattr(translator, name) for name in PARTS}
        parts["kind"] = type(translator)
        parts["engine"] = self.engine.longest_source, self.engine.shortlist
        with contextlib.suppress(OSError):  # without processes, lines are read here
            for _ in range(number):
                # In a session of its own: Ctrl-C is for this process, and the others end with it.
                process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=variables, start_new_session=True)
                self.processes.append(process)
                Thread(target=self.prepare, args=(process, parts), daemon=True).start()

    def prepare(self, process: Process, parts: dict[str, Any]) -> None:
        """Tell a process what it needs, and wait until it is ready. One that ends, or can't be told, is not used."""
        try:
            send(process.stdin, parts)
            receive(process.stdout)
        except Exception:
            process.kill()
        else:
            self.free.put(process)

    def apart(self, here: Translate, requests: Sequence[Request], search: SearchConfig, mode: Mode) -> Lists:
        """The lists of requests that processes read. Those with constraints, whose automata are large, are read
        here."""
        free = [number for number, request in enumerate(requests) if not request.constraints]
        bound = [number for number, request in enumerate(requests) if request.constraints]
        workers, usual = max(1, self.free.qsize()), sys.getswitchinterval()
        cut = portions([requests[number] for number in free], search.batch_size, workers, ordered=False, most=1)
        numbers = [[free[number] for number in portion] for portion in cut]
        texts = [[requests[number] for number in portion] for portion in numbers]
        pool = ThreadPoolExecutor(workers)  # not more: what has no process would be read here, before the searches
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            lists = pool.map(lambda portion: self.portion(portion, search, mode) or here(portion), texts)
            of_bound = here([requests[number] for number in bound])
            found = dict(zip(chain(*numbers, bound), chain(*lists, of_bound), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)
            sys.setswitchinterval(usual)
        return [found[number] for number in range(len(requests))]

    def portion(self, requests: list[Request], search: SearchConfig, mode: Mode) -> Lists | None:
        """The lists of a portion, from a process; None if none is free, or it ends, or something can't be sent."""
        try:
            process = self.free.get_nowait()
        except Empty:
            return None
        try:
            works, value = self.converse(process, (requests, search, mode))
        except Exception:
            process.kill()
            return None
        self.free.put(process)
        if not works:
            raise value
        return value

    def converse(self, process: Process, message: Any) -> tuple[bool, Any]:
        """Send a message, and answer questions until the result comes."""
        send(process.stdin, message)
        while True:
            kind, value = receive(process.stdout)
            if kind == "done":
                return value
            send(process.stdin, self.answer(*value))

    def answer(self, name: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether a method of the engine works, and its result or error."""
        try:
            return True, getattr(self.engine, name)(*arguments)
        except Exception as error:
            problem = error
        if is_out_of_memory(problem) and torch.cuda.is_available():
            torch.cuda.empty_cache()  # a process halves its batch, but has no GPU
        return False, problem


def send(pipe: IO[bytes] | None, value: Any) -> None:
    assert pipe is not None
    pipe.write(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))  # whole, or nothing
    pipe.flush()


def receive(pipe: IO[bytes] | None) -> Any:
    assert pipe is not None
    return pickle.load(pipe)


def end(processes: list[Process]) -> None:
    for process in processes:
        process.kill()
        process.wait()


def main() -> None:
    """In a process: requests flow in, lists flow out, until the other process closes the pipe."""
    torch.set_num_threads(1)
    answers, questions = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not get between the messages
    with contextlib.suppress(Exception):  # the other process ended, or has a tokenizer that isn't known here
        parts = receive(answers)
        engine = FarEngine(questions, answers, *parts.pop("engine"))
        translator = parts.pop("kind")(engine, parts["tokenizer"], facts=parts["facts"])
        vars(translator).update(parts)
        send(questions, "ready")
        while True:
            requests, search, mode = receive(answers)
            try:
                result: tuple[bool, Any] = True, translator.call(search, mode).translate(requests)
            except (OSError, EOFError, pickle.UnpicklingError):  # the other process ended
                raise
            except Exception as error:
                result = False, error
            send(questions, ("done", result))


if __name__ == "__main__":
    main()
