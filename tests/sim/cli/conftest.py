import pytest

from tests.sim.cli.started import Inside


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(capsys=capsys, patch=monkeypatch)
