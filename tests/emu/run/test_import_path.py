"""Root imports nothing from the current folder, whatever the files there are called."""

import os
import sys
import sysconfig
from importlib import metadata

import pytest

from tests.emu.run.running import DIRECT, WORK, run_to_end, scenario
from tests.emu.run.world import ROOT, World
from tests.processes import ended

pytestmark = [pytest.mark.root, pytest.mark.emulation]
PROJECT = ("netcosim", "topo", "h2model", "sim")
PLANTED = """\
import os
os.close(os.open("imported-" + __name__.partition(".")[0], os.O_CREAT))
"""


def names() -> set[str]:
    """Every library that this Python has, and the project's own packages."""
    installed = {name for name in metadata.packages_distributions() if name.isidentifier()}
    return set(sys.stdlib_module_names) | installed | set(PROJECT)


def plant(world: World, names: set[str]) -> None:
    for name in names:
        world.at(f"{WORK}/{name}.py").write_text(PLANTED)


@pytest.mark.parametrize("option", [(), ("-P",)], ids=["python", "python -P"])
def test_files_with_the_names_of_libraries(world: World, option: tuple[str, ...]) -> None:
    """`python -m emu.run` itself would begin with a planted emu, so that one needs -P."""
    plant(world, names() | {"emu"} if option else names() - {"emu"})
    *python, module, name = DIRECT
    command = (*python, *option, module, name)
    environ = {"PYTHONPATH": ""} if option else {}
    done = run_to_end(
        world, "--scenario", scenario("tiny"), "--out", "out", command=command, environ=environ
    )
    assert done.code in (0, 1), done.err
    assert [path.name for path in world.at(WORK).glob("imported-*")] == []


@pytest.mark.parametrize(
    ("program", "folder"),
    [(("-m", "emu.run"), str(ROOT)), (("-P", str(ROOT / "emu" / "run.py")), "/")],
    ids=["by its name", "by its file"],
)
def test_a_checkout_that_is_not_installed(program: tuple[str, str], folder: str) -> None:
    """Without site, nothing says where the project is; the libraries are named by PYTHONPATH."""
    done = ended(
        [sys.executable, "-S", *program, "--scenario", scenario("tiny"), "--plan"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "three/grpc" in done.stdout
