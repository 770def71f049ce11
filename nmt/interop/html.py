"""The format of one HTML file: an encoder–decoder flows in; a page with the translator inside flows out, which needs a
browser and no network.

The files in `one_file` are its program and its look. The page has them, the settings and tables that the program needs
(JSON), the weights (base64), and the model card. Its policy allows this program alone, and no connection.
"""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import IO, Any, cast

import torch
from torch import Tensor

from nmt.data.tokenizer import Tokenizer
from nmt.decode.engine import IdPair, Ids
from nmt.decode.hypothesis import forbidden_ids, longest_output
from nmt.fields import require
from nmt.files import write_json, write_text
from nmt.interop import onnx
from nmt.interop.archive import licence_text
from nmt.interop.export import GREEDY, About, Export, Parity, compare
from nmt.interop.fast_tokenizer import normalizers, read_pieces
from nmt.model.layers import GATED
from nmt.text.characters import Characters
from nmt.text.sentences import ABBREVIATIONS
from nmt.translation.model_folder import ModelInfo, load_shortlist
from nmt.translation.translator import Translator

QUANTIZATIONS = ["float32", "int8"]
PARTS = Path(__file__).with_name("one_file")
PROGRAM, CHECK = ("tokenizer.js", "model.js", "translator.js"), PARTS / "check.mjs"
PAGE, SAMPLES = "translator.html", "samples.json"
MOST_PIECES = 1000  # of a translation
MOST_BYTES = 300_000_000  # of the weights: browsers have strings of about 500 MB, and base64 takes a third more
N_SAMPLES, SAMPLE = 5, 100  # lines that the page itself compares, and the most characters of one
OLDEST_NODE = 18
NO_NODE = f"Not compared with nmt: Node {OLDEST_NODE} or later, which would run its program, is not on this machine."
NOTES = (
    "The page itself can compare a few lines with nmt, in the browser that it is open in.",
    "It searches greedily, without nmt's guard, terms, mark-up, placeholders, capitals and quotes.",
)


def obstacles(info: ModelInfo, tokenizer: Tokenizer | None = None) -> list[str]:
    found = onnx.obstacles(replace(info, model=replace(info.model, source_end=True)))
    return [*found, "a tokenizer of another library"] if tokenizer and tokenizer.mapped else found


def write(export: Export, folder: Path) -> None:
    """Write the page, but for the card and the samples."""
    layout, weights = packed(tensors_of(export), small=export.quantization == "int8")
    size, advice = f"{len(weights) / 1e6:.0f} MB", "take --quantization int8, or another format"
    problem = f"the weights have {size}, too much for a page ({MOST_BYTES / 1e6:.0f}): {advice}"
    require(len(weights) <= MOST_BYTES, problem)
    names = {"engine": PROGRAM, "page": ["page.js"], "style": ["style.css"]}
    texts = {name: "".join((PARTS / file).read_text("utf8") for file in files) for name, files in names.items()}
    hashes = {name: b64encode(sha256(text.encode()).digest()).decode() for name, text in texts.items()}
    values = {
        **texts,
        **{f"{name}_hash": value for name, value in hashes.items()},
        "settings": in_script({**settings_of(export), "tensors": layout}),
        "weights": b64encode(weights).decode(),
        "licence": escape(licence_text("The program of this page", export.info)).replace("{", "&#123;"),
    }
    write_text(folder / PAGE, filled((PARTS / "page.html").read_text("utf8"), values))


def filled(template: str, values: Mapping[str, str]) -> Iterator[str]:
    """The template with values in the place of their names, such as {{card}}; those of other names stay."""
    for n, part in enumerate(re.split(r"\{\{(\w+)\}\}", template)):
        yield part if n % 2 == 0 else values.get(part, f"{{{{{part}}}}}")


def in_script(value: Any) -> str:
    """JSON that can't end the script that it stands in, or look like a name that a value takes the place of."""
    return json.dumps(value).replace("<", "\\u003c").replace("{{", "{\\u007b")


def settings_of(export: Export) -> dict[str, Any]:
    tokenizer, info, model = export.tokenizer, export.info, cast(Any, export.model)
    config, shortlist = model.config, load_shortlist(export.folder, tokenizer)
    sides = [(tokenizer.source, tokenizer.characters[0])]
    sides += [] if tokenizer.joint else [(tokenizer.target, tokenizer.characters[1])]
    return {
        "model": {
            "width": config.d_model,
            "heads": config.n_heads,
            "keyHeads": config.kv_heads,
            "headWidth": config.d_head,
            "scale": model.scale,
            "normKind": config.norm,
            "epsilon": config.epsilon,
            "isPreNorm": config.norm_position == "pre",
            "activation": config.activation,
            "isGated": config.activation in GATED,
            "encoder": len(model.encoder),
            "decoder": len(model.decoder),
            "sourceEnd": config.source_end,
            "before": tokenizer.starts()[0],
            "never": forbidden_ids(info.search),
            "ratio": info.search.max_length_ratio,
            "longest": longest(export),
        },
        "tokenizers": [tokenizer_settings(side.serialized_model_proto(), characters) for side, characters in sides],
        "languages": export.direction,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "longest": info.facts.longest_source,
        "sentences": info.facts.usual_sentences,
        "finalMark": info.facts.final_mark,
        "abbreviations": sorted(ABBREVIATIONS),
        "shortlist": shortlist
        and {
            "candidates": [[i for i in row if i] for row in shortlist.candidates_UC.tolist()],
            "common": shortlist.common.tolist(),
            "isJoint": tokenizer.joint,
        },
    }


def longest(export: Export) -> tuple[int, int]:
    """The most pieces of a source that is read at once, and of a translation."""
    model: Any = export.model
    room, before = model.longest_source or MOST_PIECES, len(export.tokenizer.starts()[0])
    source = min(GREEDY.span_pieces, room - before)
    target = max(longest_output(source, search, None) for search in (GREEDY, export.info.search))
    return source, min(target, room, MOST_PIECES)


def tokenizer_settings(proto: bytes, characters: Characters) -> dict[str, Any]:
    """The pieces, and the rules that tidy text: of each its regular expression, and what replaces it."""
    (pieces, is_bpe), rules = read_pieces(proto), list[tuple[str, str]]()
    for rule in normalizers(characters):
        if rule["type"] != "Strip":
            pattern = rule["pattern"]["Regex"] if "pattern" in rule else ""
            # JavaScript refuses some escapes of Python.
            written = re.sub(r"\\(.)", lambda match: match[1] if match[1] in " #&~" else match[0], pattern)
            rules.append((written, rule.get("content", "")))
    return {"rules": rules, "isBpe": is_bpe, "pieces": pieces}


def tensors_of(export: Export) -> dict[str, Tensor]:
    """The weights, and tables of positions: rows that are added, and cosines and sines of rotations."""
    model: Any = export.model
    found = {name: t for name, t in model.state_dict().items() if not name.endswith("_positions.table")}
    lengths = [most + 1 for most in longest(export)]
    lengths[0] += len(export.tokenizer.starts()[0])
    sides = {"src": model.src_positions, "tgt": model.tgt_positions}
    for (side, positions), length in zip(sides.items(), lengths, strict=True):
        if hasattr(positions, "table"):
            positions.reserve(length)
            found[f"{side}_positions"] = positions.table[:length]
    if rotary := model.decoder[0].self_attention.rotary:
        found["rotary"] = rotary.rows(max(lengths)).flatten(0, 1)
    return found


def packed(tensors: Mapping[str, Tensor], *, small: bool) -> tuple[dict[str, Any], bytes]:
    """The tensors as bytes, shared ones once, and where each stands: [type, first byte, rows, columns]. `small`: the
    weights in 8 bits, with the factors of their rows after them."""
    layout, shared, data = dict[str, Any](), dict[int, Any](), bytearray()
    for name, tensor in tensors.items():
        key = tensor.data_ptr()
        if key not in shared:
            matrix = tensor.detach().float().reshape(len(tensor), -1)
            in_bytes = small and tensor.dim() == 2 and name.endswith(".weight")
            shared[key] = ["int8" if in_bytes else "float32", len(data), *matrix.shape]
            if in_bytes:
                factors = matrix.abs().amax(1).clamp(min=1e-12) / 127
                rounded = (matrix / factors[:, None]).round().to(torch.int8).numpy().tobytes()
                data += rounded + bytes(-len(rounded) % 4)
                matrix = factors
            data += matrix.contiguous().numpy().astype("<f4").tobytes()
        layout[name] = shared[key]
    return layout, bytes(data)


def check(export: Export, folder: Path, lines: Sequence[str]) -> Parity:
    """As other formats, if Node is there to run the program of the page; else nothing is compared."""
    info, page = export.info, folder / PAGE
    search = replace(GREEDY, max_length_ratio=info.search.max_length_ratio)
    translator = Translator(export.model, export.tokenizer, search, facts=info.facts)  # type: ignore[arg-type]
    translator.name_languages(*export.direction)
    expected = translator.translate(lines, markup="none")
    short = [pair for pair in zip(lines, expected, strict=True) if len(pair[0]) <= SAMPLE]
    write_json(folder / SAMPLES, short[:N_SAMPLES])
    if not has_node():
        return Parity("", 0.0, 0, (NO_NODE,))

    def greedy(sources: Sequence[Ids]) -> list[list[int]]:
        arguments = [[source, GREEDY.max_length_ratio] for source in sources]
        return [found["ids"] for found in run(page, "greedy", arguments)]

    def score(pairs: Sequence[IdPair]) -> list[list[float]]:
        return run(page, "score", pairs)

    parity = compare(export, greedy, score, lines, export.quantization)
    found = [result["text"] for result in run(page, "translate", [[line] for line in lines])]
    equal = sum(a == b for a, b in zip(found, expected, strict=True))
    whole = f"From text to text, {equal} of {len(lines)} lines are those of nmt (greedy search, no guard)."
    return replace(parity, figures=(*parity.figures, whole))


def has_node() -> bool:
    if not shutil.which("node"):
        return False
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)", version)
    return bool(found and int(found[1]) >= OLDEST_NODE)


def run(page: Path, call: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
    """What a method of the page's translator returns, call by call."""
    text = json.dumps({"call": call, "arguments": arguments})
    done = subprocess.run(["node", str(CHECK), str(page)], input=text, capture_output=True, text=True, encoding="utf8")
    require(done.returncode == 0, f"the program of the page failed in Node: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def about(export: Export) -> About:
    return About("browsers", "Open the file in Chromium, Firefox or another browser.", NOTES)


def pack(folder: Path, stream: IO[bytes]) -> None:
    """Write the page of the exported folder, with its card and its samples."""
    card, samples = ((folder / name).read_text("utf8") for name in ("README.md", SAMPLES))
    values = {"card": escape(card), "samples": in_script(json.loads(samples))}
    stream.writelines(part.encode() for part in filled((folder / PAGE).read_text("utf8"), values))
