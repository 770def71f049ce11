"""How much the service translates, and how long its clients wait, beside the same sentences through `Translator`.

    python -m benchmarks.serve_speed --model runs/de-en-multi30k --sentences test.de

The service, the load and the direct calls are processes of their own; direct calls and service run in turn, since the
speed of a shared machine drifts, and the service's cache is off. Throughput is that of clients which send the next
sentence when they have the answer to the last one. For the times of the load, requests are sent at random moments
(Poisson), at a share of that throughput, whether or not answers have come; a request's time counts from the moment when
it was due, so that waiting for a free client counts. The ratio of processor times hardly depends on what else runs.
"""

import argparse
import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle, islice, repeat
from pathlib import Path

from benchmarks.report import benchmark_parser, keep
from benchmarks.rows import Row, rounded, run_script


def main() -> int:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", type=Path, default=Path("runs/reference"), help="run or model folder")
    parser.add_argument("--sentences", type=Path, required=True, metavar="FILE", help="text to translate, line by line")
    parser.add_argument(
        "--setting", action="append", default=[], help="clients x texts of a request, such as 64x8; repeatable"
    )
    parser.add_argument("--seconds", type=float, default=10, help="time of each measurement")
    parser.add_argument("--share", type=float, default=0.7, help="of the throughput, for the times of the load")
    parser.add_argument("--requests", type=int, default=0, help="so many for the memory, instead of the speed")
    parser.add_argument("--precision", default="auto", help="as nmt.translate's --precision")
    parser.add_argument("--backend", default="auto", help="as nmt.serve's --backend")
    parser.add_argument("--beam-size", type=int, default=5)
    parser.add_argument("--port", type=int, help="of another service with LibreTranslate's API: measured in turn")
    parser.add_argument("--direct", action="store_true", help=argparse.SUPPRESS)  # be the process that calls directly
    args = parser.parse_args()
    lines = [line for line in args.sentences.read_text(encoding="utf8").splitlines() if line.strip()]
    if args.direct:
        print(json.dumps(time_directly(args, lines)))
        return 0
    of_memory = (measure_memory(args, lines, cache) for cache in ("on", "off"))
    keep(of_memory if args.requests else measure(args, lines), args)
    return 0


def measure(args: argparse.Namespace, lines: list[str]) -> Iterator[Row]:
    direct = call_directly(args)
    for clients, n in (map(int, setting.split("x")) for setting in args.setting or ("1x1", "8x1", "64x1", "64x8")):
        with service(args, "--cache-tokens", "0") as (port, pid):
            throughput(port, several(lines, n), clients, 2)  # warm
            before = processor_time(pid)
            rate, times, failed = throughput(port, several(lines, n), clients, args.seconds)
            used = (processor_time(pid) - before) / len(times) / n
            moments = arrivals(args.share * rate, args.seconds)
            waits, failed_open = asyncio.run(load(port, several(lines, n), clients, moments))
        again = call_directly(args)
        other = measure_other(args, lines, clients, n) if args.port else {}
        both = statistics.mean([direct["rate"], again["rate"]])
        yield {
            "benchmark": "serve_peers" if args.port else "serve_speed",
            "clients": clients,
            "texts": n,
            "sentences_per_second": rounded(n * rate),
            "share_of_direct": rounded(n * rate / both),
            "direct_per_second": rounded(both),
            "processor_share": rounded(again["processor"] / used),
            "direct_single": again["times"],
            "times": quantiles(times),
            "times_of_load": quantiles(waits),
            "load_share": args.share,
            "failed": failed + failed_open,
            **other,
        }
        direct = again


def several(lines: Sequence[str], n: int) -> Iterator[list[str]]:
    """The texts of each request."""
    texts = cycle(lines)
    while True:
        yield [*islice(texts, n)]


def measure_other(args: argparse.Namespace, lines: Sequence[str], clients: int, n: int) -> Row:
    """The throughput of the service on --port, and the times of its clients."""
    throughput(args.port, several(lines, n), clients, 2)  # warm
    rate, times, failed = throughput(args.port, several(lines, n), clients, args.seconds)
    return {"other_per_second": rounded(n * rate), "other_times": quantiles(times), "other_failed": failed}


def throughput(port: int, texts: Iterator[list[str]], clients: int, seconds: float) -> tuple[float, list[float], int]:
    """The requests that are answered in a second, the seconds that each took, and how many failed."""
    started = time.perf_counter()
    times, failed = asyncio.run(load(port, texts, clients, closed(seconds)))
    return len(times) / (time.perf_counter() - started), times, failed


def measure_memory(args: argparse.Namespace, lines: list[str], cache: str) -> Row:
    """The service's memory after each tenth of the requests, each of which has another text. The cache is full, if
    there is one, after about 8,000."""
    options = [] if cache == "on" else ["--cache-tokens", "0"]
    texts = ([f"{line} {n}"] for n, line in enumerate(cycle(lines)))
    with service(args, *options) as (port, pid):
        sizes, failed = [], 0
        for _ in range(10):
            failed += asyncio.run(load(port, texts, 64, repeat(None, args.requests // 10)))[1]
            sizes.append(resident(pid))
    return {
        "benchmark": "serve_memory",
        "cache": cache,
        "requests": args.requests,
        "megabytes": sizes,
        "growth": rounded(sizes[-1] / sizes[2] - 1),
        "failed": failed,
    }


def resident(pid: int) -> int:
    """The memory of a process, in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def processor_time(pid: int) -> float:
    """The processor seconds of a process, of all threads."""
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def service(args: argparse.Namespace, *options: str) -> Iterator[tuple[int, int]]:
    """A service with the model: its port, and the number of its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nmt.serve", args.model, "--port", port, "--precision", args.precision]
    command += ["--ready-seconds", 0, "--beam-size", args.beam_size, "--backend", args.backend, *options]
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL)
    try:
        for _ in range(3_000):
            time.sleep(0.1)
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                    break
            except OSError:
                if process.poll() is not None:
                    raise ValueError(f"the service ended with status {process.returncode}") from None
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def call_directly(args: argparse.Namespace) -> Row:
    command = [sys.executable, "-m", "benchmarks.serve_speed", "--direct", "--model", args.model, "--seconds"]
    command += [args.seconds, "--sentences", args.sentences, "--precision", args.precision]
    command += ["--beam-size", args.beam_size, "--backend", args.backend]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True)
    found: Row = json.loads(done.stdout)
    return found


def time_directly(args: argparse.Namespace, lines: list[str]) -> Row:
    """Sentences a second, as `nmt.translate` translates them, and the times of calls with a single sentence."""
    from nmt.commands.streams import BYTES_AHEAD
    from nmt.translation.translator import Translator, find_model

    translator = Translator.load(find_model(str(args.model)), precision=args.precision, backend=args.backend)
    translator.search = replace(translator.search, beam_size=args.beam_size)
    size = sum(len(line.encode()) + 1 for line in lines) / len(lines)
    ahead = int(translator.search.batch_size * BYTES_AHEAD / size)  # lines that the command reads at once
    chunks = [lines[start : start + ahead] for start in range(0, len(lines), ahead)]
    translator.translate(lines[:200])
    n, started, used = 0, time.perf_counter(), time.process_time()
    for chunk in cycle(chunks):
        translator.translate(chunk)
        n += len(chunk)
        if time.perf_counter() - started > args.seconds:
            break
    rate, used = n / (time.perf_counter() - started), (time.process_time() - used) / n
    times, ends = list[float](), time.perf_counter() + args.seconds
    for line in cycle(lines):
        before = time.perf_counter()
        translator.translate([line])
        times.append(time.perf_counter() - before)
        if time.perf_counter() > ends and len(times) > 1:
            break
    return {"rate": rate, "processor": used, "times": quantiles(times)}


def quantiles(times: Sequence[float]) -> dict[str, float]:
    """In milliseconds."""
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {f"p{n}": rounded(1000 * cuts[n - 1]) for n in (50, 95, 99)}


def closed(seconds: float) -> Iterator[float | None]:
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        yield None


def arrivals(rate: float, seconds: float) -> Iterator[float | None]:
    drawn, moment = random.Random(1), 0.0
    while (moment := moment + drawn.expovariate(rate)) < seconds:
        yield moment


async def load(
    port: int, texts: Iterator[list[str]], clients: int, moments: Iterator[float | None]
) -> tuple[list[float], int]:
    """The seconds that each answered request took, and how many failed."""
    times, failed = list[float](), 0
    started = time.perf_counter()

    async def client() -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for moment in moments:
            asked = next(texts)
            if moment is not None and (wait := started + moment - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            due = time.perf_counter() if moment is None else started + moment
            if await ask(reader, writer, asked):
                times.append(time.perf_counter() - due)
            else:
                failed += 1
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return times, failed


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, texts: list[str]) -> bool:
    """Send a request, and read the answer; whether it is a translation."""
    body = json.dumps({"q": texts if len(texts) > 1 else texts[0], "source": "de", "target": "en"}).encode()
    head = f"POST /translate HTTP/1.1\r\nHost: l\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    told = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(told.split(b":")[1]))
    return answer.startswith(b"HTTP/1.1 200")


if __name__ == "__main__":
    run_script(main)
