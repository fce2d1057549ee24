import json
from pathlib import Path

import pytest

from tests.netcosim.workload.profiles import plain
from tests.sim.cli.started import FAST, Inside


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(capsys=capsys, patch=monkeypatch)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the test is in: it has a scenario, and a profile of few operations."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(FAST)
    (tmp_path / "mine.json").write_text(json.dumps(plain()))
    return tmp_path
