"""A stand-in for the hub of Hugging Face: it serves the files of a folder as one model or data set."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote

COMMIT = "c0ffee" + 34 * "0"


class Hub(BaseHTTPRequestHandler):
    """Answers what huggingface_hub asks: the list of files, their sizes and hashes, and their contents."""

    folder: Path
    name: str
    """Its kind too: models/owner/tiny."""
    asked: list[str]
    cut: list[str]
    """Files whose next answer ends half-way."""

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def do_POST(self) -> None:
        """Some of the entries of the list of files."""
        names = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).get("paths", [])
        there = [name for name in names if (self.folder / name).is_file()]
        self.send(json.dumps([*map(self.entry, there)]).encode(), with_body=True, type="application/json")

    def entry(self, name: str) -> dict[str, object]:
        return {"type": "file", "path": name, "size": (self.folder / name).stat().st_size, "oid": name}

    def answer(self, with_body: bool) -> None:
        path = unquote(self.path.split("?")[0])
        self.asked.append(f"{self.command} {path} {self.headers.get('Range', '')}".strip())
        files = sorted(p.name for p in self.folder.iterdir())
        stored, name = f"/{self.name.removeprefix('models/')}/resolve/{COMMIT}/", path.rpartition("/")[2]
        if re.fullmatch(rf"/api/{self.name}(/revision/(?!missing)[\w.-]+)?", path):
            siblings = [{"rfilename": name} for name in files]
            about = {"id": self.name.partition("/")[2], "sha": COMMIT, "siblings": siblings}
            self.send(json.dumps(about).encode(), with_body, type="application/json")
        elif path.startswith(f"/api/{self.name}/tree/"):
            self.send(json.dumps([*map(self.entry, files)]).encode(), with_body, type="application/json")
        elif path.startswith(stored) and name in files:
            is_cut = with_body and name in self.cut
            self.send((self.folder / name).read_bytes(), with_body, is_cut=is_cut)
            if is_cut:
                self.cut.remove(name)
                self.close_connection = True
        else:
            kinds = {"/revision/": "Revision", "/resolve/": "Entry"}
            kind = next((kind for part, kind in kinds.items() if part in path), "Repo")
            self.send_response(404)
            self.send_header("X-Error-Code", f"{kind}NotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def send(self, body: bytes, with_body: bool, type: str = "application/octet-stream", is_cut: bool = False) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        self.send_response(206 if asked else 200)
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body) - start))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        if with_body:
            self.wfile.write(body[start : len(body) // 2 if is_cut else None])

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def hub(folder: Path, *cut: str, name: str = "models/owner/tiny") -> Iterator[tuple[str, list[str]]]:
    """Serve a folder; gives the address, and the list of requests so far. `cut`: files whose first answer ends
    half-way."""
    asked: list[str] = []
    kind = type("Served", (Hub,), {"folder": folder, "name": name, "asked": asked, "cut": list(cut)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
