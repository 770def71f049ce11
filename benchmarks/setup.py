"""Makes what the benchmarks need: the reference model in runs/reference, and a virtual environment for each peer.

    python -m benchmarks.setup --corpus multi30k

The settings of the model are those of `reference.yaml`; other options than those listed here go to nmt.train. The
requirements of the peers contradict each other, so each peer has its own environment, in benchmarks/.peers, with the
versions in benchmarks/peers/NAME.txt. An interrupted training goes on, and what is finished is not made again.
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "benchmarks" / "reference.yaml"
REQUIREMENTS, ENVIRONMENTS = ROOT / "benchmarks" / "peers", ROOT / "benchmarks" / ".peers"
# For each peer the packages that are installed without their requirements.
PEERS: dict[str, list[str]] = {
    "transformers": [],
    "eole": ["eole==0.6.4"],
    "sockeye": ["sockeye==3.1.34"],
    "joeynmt": ["joeynmt==2.3.0"],
}
TRAINERS = ["transformers", "eole"]  # whose speed of training is measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="multi30k", help="as nmt.train's --data.corpus")
    parser.add_argument("--peers", default=",".join(TRAINERS), help=f"of {', '.join(PEERS)}; default: %(default)s")
    args, options = parser.parse_known_args()
    peers = [name for name in args.peers.split(",") if name]
    if unknown := set(peers) - set(PEERS):
        parser.error(f"--peers has {', '.join(sorted(unknown))}: the peers are {', '.join(PEERS)}")
    for name in peers:
        make_environment(name)
    config = ["--config", str(REFERENCE), "--data.corpus", args.corpus]
    # In place of this process: Ctrl-C reaches the training alone, which saves its state.
    os.execv(sys.executable, [sys.executable, "-m", "nmt.train", "--resume", *config, *options])


def make_environment(name: str) -> None:
    """Install a peer, unless it is installed with the same requirements."""
    folder, requirements = ENVIRONMENTS / name, REQUIREMENTS / f"{name}.txt"
    wanted = requirements.read_text(encoding="utf8") + "\n".join(PEERS[name])
    stamp = folder / "installed.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf8") == wanted:
        print(f"{folder.relative_to(ROOT)} is installed already", file=sys.stderr)
        return
    print(f"Installing {name} in {folder.relative_to(ROOT)}", file=sys.stderr, flush=True)
    venv.create(folder, clear=True, with_pip=True)
    install = [str(python_of(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    without_requirements = [["--no-deps", *PEERS[name]]] if PEERS[name] else []
    for packages in (["-r", str(requirements)], *without_requirements):
        if subprocess.run([*install, *packages], check=False).returncode:
            sys.exit(f"setup: pip could not install {name}; its message is above")
    stamp.write_text(wanted, encoding="utf8")


def python_of(name: str) -> Path:
    """The Python of a peer's environment."""
    return ENVIRONMENTS / name / "bin" / "python"


def version_of(name: str) -> str:
    """The version of a peer in its environment."""
    code = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run([python_of(name), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def peer_command(module: str, name: str) -> list[str]:
    """The start of the command that runs a module in the environment of a peer."""
    if not python_of(name).exists():
        sys.exit(f"{name} is not installed: run make benchmark-setup PEERS={name}")
    return [str(python_of(name)), "-m", module]


if __name__ == "__main__":
    main()
