"""Errors pooled over streams, bursts and cells, against figures worked out by hand."""

import statistics
from dataclasses import replace

import numpy as np
import pytest

from ray_sweeps.crosscheck.record import Crosscheck
from ray_sweeps.crosscheck.summary import GROUPS, summarise_checks
from ray_sweeps.crosscheck.unit import BurstCheck, CellCheck, CellFacts, StoredScore, StreamCheck
from ray_sweeps.crosscheck.wording import headline, signed_percent

LENGTH_NS = 1000


def facts(**changes: object) -> CellFacts:
    made = {
        **{"scenario": "made", "workload": "w", "transport": "t", "network": "pair, fair"},
        **{"servers": 1, "workers": 1, "rate_bps": 100_000_000, "release": "h2"},
        **{"exchange": "pull", "discipline": "fifo"},
    }
    return CellFacts(**made | changes)


def check(cell: str, errors_ns: list[int], reason: str = "", **changes: object) -> CellCheck:
    """A cell with one burst whose streams are so much too late; the last one is its end."""
    mine = facts(**changes)
    same = {
        **{"run": "run", "cell": cell, "workload": "w", "way": "server to worker", "burst": 0},
        **{"first": True, "bound": False, "compared": not reason, "reason": reason},
        **{"connection": 0, "size_bytes": 10, "ready_ns": 0, "measured_ns": LENGTH_NS},
        **{"wall_ns": 2 * LENGTH_NS, "length_ns": LENGTH_NS},
        **{"predicted_position": 0.25, "measured_position": 0.5},
    }
    names = ("transport", "release", "network", "rate_bps", "exchange", "discipline")
    same |= {name: getattr(mine, name) for name in names}
    streams = [
        StreamCheck(
            **same,
            stream=2 * i + 1,
            tensor=f"t{i}",
            predicted_ns=LENGTH_NS + error_ns,
            time_error=error_ns / LENGTH_NS,
            relative_error=error_ns / LENGTH_NS if i else None,
        )
        for i, error_ns in enumerate(errors_ns)
    ]
    burst = BurstCheck(
        burst=0,
        reason=reason,
        streams=len(streams),
        length_ns=LENGTH_NS,
        order_mean=0.25,
        order_max=0.25,
        order_equal=True,
        time_mean=float(np.mean(np.abs(errors_ns)) / LENGTH_NS),
        time_max=float(np.max(np.abs(errors_ns)) / LENGTH_NS),
        end=max(errors_ns) / LENGTH_NS,
    )
    return CellCheck(run="run", cell=cell, facts=mine, bursts=(burst,), streams=tuple(streams))


def summed(*checks: CellCheck) -> Crosscheck:
    return summarise_checks(checks, (), runs=1, engine="hash", complete=True)


def test_errors_are_pooled_over_streams_with_their_sign_apart():
    found = summed(check("a/t", [-100, 50, 50]), check("b/t", [300]))
    errors = found.errors
    assert (errors.cells, errors.bursts, errors.time.count) == (2, 2, 4)
    assert errors.time.mean == pytest.approx((0.1 + 0.05 + 0.05 + 0.3) / 4)
    assert errors.time.p95 == pytest.approx(np.percentile([0.1, 0.05, 0.05, 0.3], 95))
    assert errors.bias == pytest.approx(0.3 / 4)
    assert errors.relative.count == 2
    assert errors.wall.mean == pytest.approx(np.mean([1100, 950, 950, 700]) / 2000)
    assert errors.order.mean == 0.25
    assert errors.end.mean == pytest.approx((0.05 + 0.3) / 2)
    assert errors.median_cell == pytest.approx(statistics.median([0.2 / 3, 0.3]))


def test_every_group_has_all_compared_streams_once():
    found = summed(
        check("a/t", [1, 2]),
        check("b/t", [3], rate_bps=10**9, release="grpc 1.85.1"),
        check("c/t", [400], "stalls"),
    )
    for by in GROUPS:
        mine = [group for group in found.groups if group.by == by]
        assert sum(group.errors.time.count for group in mine) == found.compared_streams == 3
    assert [g.value for g in found.groups if g.by == "rate"] == ["100 Mbit/s", "1 Gbit/s"]


def test_what_is_not_compared_is_counted_and_its_errors_stand_apart():
    found = summed(check("a/t", [10]), check("b/t", [400, -200], "stalls"))
    (apart,) = found.not_compared
    assert (apart.reason, apart.bursts, apart.cells) == ("stalls", 1, 1)
    assert apart.simulated.time.mean == pytest.approx(0.3)
    assert found.errors.time.max == pytest.approx(0.01)
    assert found.cells[1].errors is None
    assert found.cells[1].bursts[0].time_max == pytest.approx(0.4)


def test_stored_scores_stand_beside_where_both_are_there():
    score = StoredScore(
        model="fifo", source="s", streams=1, order=0.125, order_max=1, time=0.5, time_max=1
    )
    found = summed(replace(check("a/t", [10]), stored=score), check("b/t", [20]))
    assert found.beside.cells == 1
    assert found.beside.time == pytest.approx(0.01)
    assert (found.beside.order, found.beside.stored_order) == (0.25, 0.125)
    assert found.beside.stored_time == 0.5
    assert summed(check("a/t", [10])).beside is None


def test_nothing_compared_says_so():
    found = summed(check("a/t", [10], "invalid"))
    assert headline(found) == "None of 1 measured burst of 1 cell could be compared."
    assert found.groups == () and found.errors is None


def test_a_cell_with_a_problem_is_a_line_and_no_cell():
    bad = CellCheck(run="run", cell="a/t", problem="is broken")
    found = summed(bad, check("b/t", [10]))
    assert found.lines == ("run: a/t: is broken",)
    assert [cell.cell for cell in found.cells] == ["b/t"]


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.012, "+1.2 %"), (-0.5, "-50 %"), (0, "0 %"), (-1e-6, "<0.01 %")]
)
def test_signed_percent(fraction: float, text: str):
    assert signed_percent(fraction) == text
