import shutil
from pathlib import Path

import pytest

from tests.setup.project import BACKEND, PYPROJECT, RUN, Project

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root, wheels = tmp_path / "check out", tmp_path / "wheels"
    wheels.mkdir()
    (root / "emu").mkdir(parents=True)
    shutil.copy(CHECKOUT / "dev", root)
    shutil.copytree(CHECKOUT / "tools", root / "tools")
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "backend.py").write_text(BACKEND)
    (root / "emu" / "__init__.py").write_text("")
    (root / "emu" / "run.py").write_text(RUN)
    made = Project(root=root, wheels=wheels)
    made.lock("1.0")
    return made
