"""Predictors by name: what all of them do, and libraries that are not there."""

import sys

import pytest

from netcosim.errors import EnvironmentRefusedError
from netcosim.policies.coordinator.observed import Use
from netcosim.policies.coordinators import predictor_names, predictor_of
from netcosim.scenario import CoordinationSpec

LIBRARY = {"arima": "statsmodels", "lstm": "PyTorch", "narx": "PyTorch", "rnn": "PyTorch"}


def spec(name: str) -> CoordinationSpec:
    return CoordinationSpec(kind="lb_bsp", predictor=name)


@pytest.mark.parametrize("name", [n for n in predictor_names() if n not in LIBRARY])
def test_a_constant_speed_is_predicted(name: str) -> None:
    predictor = predictor_of(spec(name), 1)(0)
    for _ in range(30):
        predictor.observe(7.0)
    assert predictor.predict(Use()) == pytest.approx(7.0)


@pytest.mark.parametrize("name", LIBRARY)
def test_a_library_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("torch", "statsmodels", "statsmodels.tsa.arima.model"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EnvironmentRefusedError, match=f"needs {LIBRARY[name]}: pip install"):
        predictor_of(spec(name), 1)(0)
