"""Building of the peers' programs, and installation of the packages that they need."""

import os
from collections.abc import Sequence
from pathlib import Path

from bench.peers.job import run_command
from netcosim.errors import EnvironmentRefusedError


def install_packages(packages: Sequence[str]) -> None:
    """Install packages of Debian.

    Raises
    ------
    EnvironmentRefusedError
        This is not root, or one can't be installed.
    """
    if os.geteuid() != 0:
        raise EnvironmentRefusedError(f"{packages[0]}: not installed; only root can install it")
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes"]
    run_command([*apt, "update"])
    run_command([*apt, "install", "--no-install-recommends", *packages])


def build_program(
    source: Path, program: Path, *, options: Sequence[str] = (), libraries: Sequence[str] = ()
) -> Path:
    """Compile a C++ source with ``-O2``, if that has not been done; return the program.

    Raises
    ------
    EnvironmentRefusedError
        It can't be built.
    """
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        built = program.with_suffix(".new")
        run_command(["g++", "-O2", "-std=c++17", *options, source, "-o", built, *libraries])
        built.replace(program)
    return program
