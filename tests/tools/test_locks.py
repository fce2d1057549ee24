"""The locks of the sets of dependencies: a chain without two pins, true to pyproject."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.locks import FOLDER, SETS, name_of, read_locks

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FIXED_BY_THE_USER = {"mininet", "scapy", "h2", "grpcio", "numpy", "ray", "pytest"}
HEAVY = {"numba", "llvmlite", "pyarrow", "matplotlib", "pillow", "ray", "mypy"}


def names(*sets: str) -> set[str]:
    locks = read_locks()
    return {name_of(pin) for name in sets for pin in locks[name]}


def declared(requirements: list[str]) -> set[str]:
    found = (re.match(r"[A-Za-z0-9._-]+", requirement)[0] for requirement in requirements)
    return {name for name in found if name != "netcosim"}


def test_each_lock_adds_to_the_one_before_and_no_package_is_in_two():
    before, seen = None, set()
    for name in SETS:
        text = (FOLDER / f"{name}.lock").read_text()
        references = [line for line in text.splitlines() if line.startswith("-r")]
        assert references == ([] if before is None else [f"-r {before}.lock"])
        assert seen.isdisjoint(names(name))
        before, seen = name, seen | names(name)


def test_every_pin_has_hashes():
    for lock in read_locks().values():
        assert all("--hash=sha256:" in entry for entry in lock.values())


def test_each_set_has_what_pyproject_declares_for_it():
    project, extras = PROJECT["project"], PROJECT["project"]["optional-dependencies"]
    assert declared(PROJECT["dependency-groups"]["plan"]) <= names("plan")
    assert declared(project["dependencies"]) <= names("plan", "base")
    assert declared(extras["emu"]) <= names("plan", "base", "emu")
    assert declared([*extras["all"], *extras["sweeps"]]) <= names("plan", "base", "emu", "all")
    assert declared(extras["dev"]) <= names(*SETS)
    assert names("plan", "base", "emu", "all") >= FIXED_BY_THE_USER


def test_a_plan_needs_nothing_heavy_and_the_simulator_nothing_of_the_emulation():
    assert names("plan").isdisjoint(HEAVY)
    assert names("plan", "base").isdisjoint({"mininet", "scapy", "h2", "ray", "torch", "pytest"})


ONLY = """
import sys
from importlib import metadata
allowed = set(sys.argv[1].split())
owners = metadata.packages_distributions()
class Others:
    def find_spec(name, path=None, target=None):
        known = owners.get(name.partition(".")[0], [])
        found = {owner.lower().replace("_", "-") for owner in known}
        if found and not found & allowed:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Others)
import emu.run, sim.run
codes = [each.run.main(["--plan"]) for each in (sim, emu)]
raise SystemExit(codes != [0, 0])
"""


@pytest.mark.soak
def test_plans_of_both_worlds_are_made_with_what_the_lock_of_plans_has():
    """And without a tool of the emulation, which is told."""
    environ = {"PATH": "/nowhere", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", ONLY, " ".join({"netcosim", *names("plan")})]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "in all      100 runs" in done.stdout
    reason = "needs root" if os.geteuid() else "needs iproute2, tcpdump, ethtool, mininet"
    text = " ".join(done.stdout.split())
    assert f"not checked tools, namespaces and the shaping of links: {reason}" in text
