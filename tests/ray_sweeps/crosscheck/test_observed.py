"""Bursts that were measured once and are kept in the repository."""

from pathlib import Path

import pytest

from ray_sweeps.crosscheck.check import check_cell
from ray_sweeps.crosscheck.folders import read_runs, run_names
from tests.inside import ROOT

OBSERVATIONS = ROOT / "bench" / "fidelity" / "observations"


@pytest.mark.parametrize(
    "run",
    [
        "h2#mixed8-pull-100mbit-fair-h2-two-visit-1M",
        "h2#alexnet-push-100mbit-fair-h2-write-cycle",
        "grpc-newest#mixed8-push-50mbit-fair-grpc-whole",
    ],
)
def test_simulated_bursts_have_the_measured_order_where_no_buffer_or_credit_decides(run: str):
    """Rules, hand-overs and what earlier bursts leave are in the right place; nothing is fitted."""
    (read,) = read_runs([str(OBSERVATIONS / run)], {})
    (unit,) = read.units
    check = check_cell(unit)
    assert [burst.reason for burst in check.bursts] == [""] * 5
    assert all(burst.order_equal for burst in check.bursts)


def test_every_kept_run_is_found():
    names = [name for path in sorted(OBSERVATIONS.glob("*/")) for name in run_names(path)]
    assert len(names) == 147
    assert all("#" in name for name in names)
    assert Path(names[0].partition("#")[0]).is_dir()
