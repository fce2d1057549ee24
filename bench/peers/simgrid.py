"""SimGrid as a peer: Debian's package, and `bench/peers/simgrid_model.cpp` built with it."""

import os
from pathlib import Path

from bench.peers.job import PeerRun, run_command, run_peer
from netcosim.errors import EnvironmentRefusedError

PACKAGES = ("libsimgrid-dev", "g++")
SOURCE = Path(__file__).parent / "simgrid_model.cpp"
HEADER = Path("/usr/include/simgrid/s4u.hpp")


def install(folder: Path) -> Path:
    """Install SimGrid if it is missing, and build the model below `folder`: the program.

    Raises
    ------
    EnvironmentRefusedError
        It is missing and this is not root, or it can't be installed or built.
    """
    if not HEADER.exists():
        _install_packages()
    program = folder / "simgrid_model"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        built = program.with_suffix(".new")
        run_command(["g++", "-O2", "-std=c++17", SOURCE, "-o", built, "-lsimgrid"])
        built.replace(program)
    return program


def _install_packages() -> None:
    if os.geteuid() != 0:
        raise EnvironmentRefusedError(f"{PACKAGES[0]}: not installed; only root can install it")
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes"]
    run_command([*apt, "update"])
    run_command([*apt, "install", "--no-install-recommends", *PACKAGES])


def run(folder: Path, job: Path, *, ends: bool = False) -> PeerRun:
    """Simulate a job; `install` is called first."""
    return run_peer([install(folder)], job, ends=ends)
