import shutil
from pathlib import Path

import pytest

from tests.tools.project import BACKEND, PYPROJECT, RUN, Project

CHECKOUT = Path(__file__).resolve().parents[2]


def make_project(folder: Path) -> Project:
    root, wheels = folder / "check out", folder / "wheels"
    wheels.mkdir()
    (root / "emu").mkdir(parents=True)
    (root / "requirements").mkdir()
    shutil.copy(CHECKOUT / "dev", root)
    shutil.copytree(CHECKOUT / "tools", root / "tools")
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "backend.py").write_text(BACKEND)
    (root / "emu" / "__init__.py").write_text("")
    (root / "emu" / "run.py").write_text(RUN)
    made = Project(root=root, wheels=wheels)
    made.lock("1.0")
    return made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Nothing is set up yet."""
    return make_project(tmp_path)


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Set up once for the tests that leave it as it is."""
    made = make_project(tmp_path_factory.mktemp("ready"))
    first = made.dev("setup")
    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr.startswith("dev: making the Python environment")
    assert made.dev("setup", "dev").returncode == 0
    return made
