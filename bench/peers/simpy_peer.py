"""SimPy as a peer: its environment, and `bench/peers/simpy_model.py` run in it."""

import sys
from pathlib import Path

from bench.peers.job import PeerRun, run_command, run_peer

RELEASE = "4.1.2"
MODEL = Path(__file__).parent / "simpy_model.py"


def install(folder: Path) -> Path:
    """Put SimPy into an environment of its own below `folder`; return its Python."""
    home = folder / f"simpy-{RELEASE}"
    python = home / "bin" / "python"
    ready = home / ".ready"
    if not ready.exists():
        run_command([sys.executable, "-m", "venv", "--clear", home])
        run_command([python, "-m", "pip", "install", "--quiet", f"simpy=={RELEASE}"])
        ready.touch()
    return python


def run(folder: Path, job: Path, *, ends: bool = False) -> PeerRun:
    """Simulate a job; `install` is called first."""
    return run_peer([install(folder), "-P", MODEL], job, ends=ends)
