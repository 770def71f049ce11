"""Requests that were made to harm a service: large, odd, broken or slow ones, as bytes for a socket; and how long
`/health` takes meanwhile.

    python -m tests.server.attacks PORT SECONDS

prints the times of `/health` in milliseconds, as JSON: it is a process of its own, so that it waits for nobody else.
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from urllib.parse import quote

from tests.documents.office_samples import docx, run

Attack = tuple[str, bytes]
"""A name, and all that is sent."""
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
EVERY = 0.01  # seconds between two looks at /health


def http(method: str, path: str, body: bytes = b"", kind: str = "application/json", head: str = "") -> bytes:
    lines = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return f"{lines}{head}\r\n".encode("latin-1", "replace") + body


def v1(path: str, **body: object) -> bytes:
    method = "PUT" if path.startswith("glossaries") else "POST"
    return json_body(f"/v1/{path}", {"source": "de", "target": "en"} | body, method)


def json_body(path: str, body: object, method: str = "POST") -> bytes:
    return http(method, path, json.dumps(body).encode())


def file(name: str, data: bytes, path: str = "/v1/documents", **more: str) -> bytes:
    deepl = {"target_lang": "EN-GB", "source_lang": "DE"}
    fields = (deepl if path.startswith("/v2") else {"source": "de", "target": "en"}) | more
    parts = [f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items()]
    part = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = "".join([*parts, part]).encode() + data + b"\r\n--b--\r\n"
    return http("POST", path, body, "multipart/form-data; boundary=b")


def texts() -> Iterator[Attack]:
    """Too much to translate, in every form."""
    words = "Der Hund läuft auf der Wiese und der Mann sieht ihn. "
    many, long = [words] * 128, (words * 200)[:10_000]
    yield "lines in one text", v1("translate", text="\n".join("a" for _ in range(5_000)))
    yield "lines in all texts", v1("translate", text=["a\n" * 1_560] * 128)
    yield "sentences streamed", v1("translate", text=["Ja. " * 1_900] * 128, stream=True)
    yield "one text streamed", v1("translate", text="A. " * 3_333, stream=True)
    yield "all texts", v1("translate", text=many, search={"beam_size": 16, "n_best": 8})
    yield "all texts sampled", v1("translate", text=many, search={"samples": 16})
    yield "long texts with all details", v1("translate", text=[long] * 90, alignments=True, tokens=True, attention=True)
    yield "one word", v1("translate", text=["a" * 10_000] * 100)
    yield "no blanks", v1("translate", text=["漢" * 3_000] * 100)
    yield "tags", v1("translate", text=["<b>" * 3_333] * 100, format="html")
    yield "open tags", v1("translate", text=["<" * 10_000] * 100, format="html")
    yield "entities", v1("translate", text=["&amp" * 2_500] * 100, format="html")
    yield "digits", v1("translate", text=["1" * 1_900] * 128)
    yield "numbers", v1("translate", text=["1,1." * 2_500] * 100)
    yield "braces", v1("translate", text=["{" * 10_000, "{a}" * 3_333, "%s" * 5_000] * 33)
    yield "addresses", v1("translate", text=["a@a." * 2_500, "http://" * 1_400] * 50)
    yield "commas", v1("translate", text=[", " * 5_000] * 100)
    yield "breaks", v1("translate", text=["\r\u2028" * 5_000] * 100)
    for name, path in (("deepl", "/v2/translate"), ("libretranslate", "/translate")):
        body = {"text": [long] * 100, "target_lang": "EN-GB", "q": [long] * 100, "source": "de", "target": "en"}
        yield name, json_body(path, body)
    tags = ",".join(f"t{n}" for n in range(900))
    body = {"text": ["<t" * 5_000] * 50, "target_lang": "EN-GB", "tag_handling": "xml", "ignore_tags": tags}
    yield "ignored tags", json_body("/v2/translate", body)
    body |= {"text": ["<t>" * 3_000] * 100, "ignore_tags": "t"}
    yield "an ignored tag", json_body("/v2/translate", body)
    for name in ("ignore_tags", "glossary_ids"):
        yield f"many {name}", json_body("/v2/translate", body | {"text": ["a"], name: "a," * 500_000})
    yield "detect", json_body("/detect", {"q": [long] * 100})
    yield "other words", v1("word_alternatives", text=long[:900], translation=long[:900], word=9)
    yield "other words of breaks", v1("word_alternatives", text="\n" * 9_999, translation="a\n" * 4_999, word=4_998)


def constraints() -> Iterator[Attack]:
    """Phrases and glossaries."""
    text = "Ein Mann steht auf einer Leiter und putzt ein Fenster, während ein Hund im Garten läuft."
    words = [f"word{n}" for n in range(100)]
    yield "28 phrases", v1("translate", text=text, must=words[:28])
    yield "28 phrases of 128 texts", v1("translate", text=[text] * 128, must=words[:28])
    yield "100 alternatives", v1("translate", text=text, must=[words, words[:50]])
    yield "forbidden phrases", v1("translate", text=text, must_not=[f"w{n}" for n in range(60_000)])
    yield "long phrases", v1("translate", text=text, must=["a " * 5_000], must_not=["b " * 5_000])
    yield "long prefix", v1("translate", text=text, prefix="a " * 100_000)
    terms = {word.strip(",."): f"{word}x|{word}y" for word in text.split()}
    yield "terms", v1("translate", text=[text] * 128, glossary=terms)
    everywhere = {f"*{n}*": "a" for n in range(9_000)}
    yield "terms for every line", v1("translate", text=[text * 80] * 100, glossary=everywhere)
    yield "too many terms", v1("translate", text=text, glossary={str(n): "a" for n in range(50_000)})
    for n in range(12):
        yield "stored", v1(f"glossaries/g{n}", entries={f"t{k}": f"w{k}" for k in range(9_000)})
    entries = "\n".join(f"a{n}\tb" for n in range(9_999))
    dictionaries = [{"source_lang": "de", "target_lang": "en", "entries": entries[:9_000]}] * 90
    yield "dictionaries", json_body("/v3/glossaries", {"name": "a", "dictionaries": dictionaries})
    yield "all glossaries", http("GET", "/v1/glossaries")


def bodies() -> Iterator[Attack]:
    """Bodies that take long to read."""
    form = "application/x-www-form-urlencoded"
    yield "20 MiB of a form", http("POST", "/v2/document", b"a=%41&" * 3_400_000, form)
    yield "1 MiB of a form", http("POST", "/translate", b"&" * 2**20, form)
    yield "escapes", http("POST", "/translate", b"q=" + b"%C3" * 340_000, form)
    for path in ("/v1/documents", "/translate_file", "/v2/document"):
        yield f"boundaries {path}", http("POST", path, b"\r\n--" * 5_000_000, "multipart/form-data; boundary=b")
        yield f"parts {path}", http("POST", path, b"--b\r\n\r\n\r\n" * 2_000_000, "multipart/form-data; boundary=b")
    yield "heads", http("POST", "/translate", b"--b\r\n" + b"a:b\r\n" * 200_000, "multipart/form-data; boundary=b")
    yield "nested", http("POST", "/v1/translate", b"[" * 2**20)
    yield "nested objects", http("POST", "/translate", b'{"q":' * 200_000)
    yield "digits", http("POST", "/v1/translate", b'{"text":' + b"1" * 1_000_000 + b"}")
    yield "escaped", http("POST", "/translate", b'{"q":"' + rb"\ud800" * 170_000 + b'"}')
    yield "names", json_body("/v1/translate", {f"n{n}": n for n in range(60_000)})
    yield "items", v1("translate", text=["a"] * 200_000)
    empty = b'{"target":"en","text":"a","must":[' + b"[]," * 300_000 + b"[]]}"
    yield "empty lists", http("POST", "/v1/translate", empty)
    yield "a long code", json_body("/translate", {"q": "a", "source": "a-" * 400_000, "target": "en"})
    yield "a long query", http("GET", "/translate?" + "q=a&" * 15_000)
    yield "a long path", http("GET", "/v1/" + quote("ä") * 9_000)
    yield "many heads", http("GET", "/health", head="".join(f"a{n}: b\r\n" for n in range(6_000)))
    yield "an endless head", b"GET /health HTTP/1.1\r\nA: " + b"a" * 20_000_000
    yield "an endless line", b"GET /" + b"a" * 20_000_000
    yield "20 MiB of columns", file("a.csv", b"a", columns="a," * 10_000_000)
    yield "20 MiB of a name", file("a.txt", b"a", "/v2/document", filename="a/" * 10_000_000)


def files(paths: tuple[str, ...] = ("/v1/documents", "/translate_file", "/v2/document")) -> Iterator[Attack]:
    """Files whose readers have much to do."""
    draw = random.Random(1)
    words = [f"{draw.getrandbits(60):x}" for _ in range(60_000)]  # what becomes much longer isn't unpacked
    runs, boxes = "<w:r><w:pict><w:txbxContent><w:p>", "</w:p></w:txbxContent></w:pict></w:r>"
    xliff = (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        '<file source-language="de" target-language="en"><body>{}</body></file></xliff>'
    )
    unit = '<trans-unit id="1"><source>{}</source></trans-unit>'
    seg = '<tu><tuv xml:lang="de"><seg>a</seg></tuv><tuv xml:lang="en"><seg/></tuv></tu>'
    entries = ",".join(f'"Hund {n}": {{}}' for n in range(50_000))
    forms = "<numerusform></numerusform>" * 50_000
    made = {
        "a.po": b'msgid "' + b"\\" * 60_000 + b"\n" + b'"a" ' * 15_000,
        "b.po": b'msgid ""\n' + b'"a\\n"\n' * 50_000 + b'msgstr ""\n',
        "c.po": b'msgid "' + b"\\\\" * 60_000 + b'a"\nmsgstr ""\n',
        "a.md": b"[a](<" * 12_000 + b'[a]: <a> "' * 5_000,
        "b.md": b"> " * 20_000 + b"* " * 20_000,
        "c.md": b"**a" * 20_000 + b"`" * 20_000,
        "a.html": b"<p>Der <b>Hund</b> ist da.</p>" * 100_000,
        "b.html": b"<!--" * 50_000 + b"<a " * 50_000,
        "a.vtt": b"WEBVTT\n\n00:00.000 --> 00:01.000\n" + b"<00:00." * 70_000,
        "a.srt": b"1\n00:00:00,000 --> 00:00:01,000\n" + b"a\n" * 100_000,
        "a.xlf": xliff.format(unit.format('<bpt id="1">' * 12_000)).encode(),
        "b.xlf": xliff.format(unit.format("\r" * 300_000 + "a")).encode(),
        "c.xlf": xliff.format(unit.format('<g id="1">' * 200 + "a" + "</g>" * 200) * 200).encode(),
        "a.docx": docx("".join(map(run, words[:30_000]))),
        "b.docx": docx(*map(run, words)),
        "c.docx": docx("<w:p>" * 100_000),
        "d.docx": docx(runs * 30 + run("a") + boxes * 30, *map(run, words[:5_000])),
        "strings.xml": b"<resources>" + b"<string name='a'>\\u0041\r</string>" * 50_000 + b"</resources>",
        "a.json": b'{"a":' * 100_000,
        "b.json": json.dumps([f"{{count, plural, one {{Hund}} other {{{n}}}}}" for n in range(50_000)]).encode(),
        "a.yaml": b"a: [" * 50_000 + b"&a *a " * 50_000,
        "b.yaml": b'- a: "b"\n' * 50_000,
        "a.csv": b'"' * 200_000 + b"a,b\n" * 500_000,
        "b.csv": b'"a""b",b\n' * 200_000,
        "a.txt": b"Der Hund.\n" * 2_000_000,
        "a.tmx": f'<tmx version="1.4"><header srclang="de"/><body>{seg * 60_000}</body></tmx>'.encode(),
        "a.strings": b'"a" = "' + b"\\" * 200_000,
        "b.strings": b'"a" = "' + b"\\n" * 100_000 + b'a";',
        "a.ts": f"<TS><message><source>a</source><translation>{forms}</translation></message></TS>".encode(),
        "a.xcstrings": f'{{"sourceLanguage": "de", "strings": {{{entries}}}}}'.encode(),
    }
    for n, (name, data) in enumerate(made.items()):
        yield name, file(name, data, paths[n % len(paths)])


def fuzzed(n: int, seed: int = 1) -> Iterator[Attack]:
    """Random requests: good ones with bytes changed, repeated or cut off, and sizes at the limits."""
    draw = random.Random(seed)
    good = [
        v1("translate", text="Hund"),
        http("POST", "/translate", b"q=Hund&source=de&target=en", ""),
        file("a.txt", b"a"),
    ]
    good += [file("a.md", b"# A\n\n*b* [c](d)\n"), file("a.po", b'msgid "a"\nmsgstr ""\n'), file("a.html", b"<p>a</p>")]
    good += [http("POST", "/v2/translate", b'{"text":["Hund"],"target_lang":"EN-GB"}'), http("GET", "/v1/models")]
    signs = b'\\|<|&|"|[|(|{|\r|\n| |*|_|%41|\xff|1.|a|\0|-->'.split(b"|")
    for number in range(n):
        request = draw.choice(good)
        for _ in range(draw.randint(1, 3)):
            place, length = draw.randrange(len(request)), draw.choice([0, 1, 10, 1_000])
            sign = draw.choice(signs) + draw.choice(signs)
            request = request[:place] + sign * draw.choice([1, 10, 1_000, 9_999, 30_000]) + request[place + length :]
        head, _, body = request.partition(b"\r\n\r\n")
        if draw.random() < 0.8 and b"Content-Length" in head:  # so that the body is read
            lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
            head = b"\r\n".join([*lines, b"Content-Length: %d" % len(body)])
        yield f"fuzzed {number}", head + b"\r\n\r\n" + body


def attacks(n_fuzzed: int) -> list[Attack]:
    return [*texts(), *constraints(), *bodies(), *files(), *fuzzed(n_fuzzed)]


async def send(port: int, request: bytes, seconds: float) -> str:
    """Send a request, and wait for at most so long; the first line of the answer, or what happened."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(request)
                return (await reader.readline()).decode("latin-1").strip() or "closed"
            finally:
                writer.transport.abort()
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return type(error).__name__


async def look(port: int, seconds: float) -> list[float]:
    """The times of /health, in milliseconds, for so long."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        await send(port, HEALTH, 60)
        times.append(1000 * (time.perf_counter() - started))
        await asyncio.sleep(EVERY)
    return times


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(look(int(sys.argv[1]), float(sys.argv[2])))))
