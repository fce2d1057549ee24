"""SimGrid as a peer: Debian's package, and `bench/peers/simgrid_model.cpp` built with it."""

from pathlib import Path

from bench.peers.building import build_program, install_packages
from bench.peers.job import PeerRun, run_peer

PACKAGES = ("libsimgrid-dev", "g++")
SOURCE = Path(__file__).parent / "simgrid_model.cpp"
HEADER = Path("/usr/include/simgrid/s4u.hpp")


def install(folder: Path) -> Path:
    """Install SimGrid if it is missing, and build the model below `folder`; return the program.

    Raises
    ------
    EnvironmentRefusedError
        It is missing and this is not root, or it can't be installed or built.
    """
    if not HEADER.exists():
        install_packages(PACKAGES)
    return build_program(SOURCE, folder / "simgrid_model", libraries=["-lsimgrid"])


def run(folder: Path, job: Path, *, ends: bool = False) -> PeerRun:
    """Simulate a job; `install` is called first."""
    return run_peer([install(folder)], job, ends=ends)
