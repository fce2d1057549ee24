"""The cells of the cross-check, attempts at them and figures of these."""

import dataclasses
from pathlib import Path

import pytest

from bench.crosscheck.attempts import Attempt, keep
from bench.crosscheck.cells import Cell
from bench.crosscheck.figures import figures_of
from bench.crosscheck.listed import described, development, drawn, source_hash
from bench.crosscheck.running import run_missing
from emu.training.job_cells import job_cells


@pytest.mark.soak
def test_all_cells_can_be_emulated_and_no_two_are_the_same() -> None:
    cells = (*development(), *drawn())
    assert len({cell.name for cell in cells}) == len(cells)
    for cell in cells:
        (found,) = job_cells(cell.scenario())
        job = found.job
        assert (job.workers, job.steps) == (max(cell.workers), 24)
        assert abs(int(job.plan.size_bytes.sum()) - 4_000_000) <= len(job.plan.size_bytes)


def test_drawn_cells_hang_on_the_sources_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn() == drawn()
    found = drawn()
    monkeypatch.setattr("bench.crosscheck.listed.source_hash", lambda: "0123456789abcdef")
    assert drawn() != found


MODELS = {
    **{"examples_per_s": 99.0, "error": -0.01, "abstraction": 0.01},
    "streams": {"mean": 0.004, "max": 0.02, "streams": 96},
}


def point(**changes: object) -> dict[str, object]:
    """A point of ``crosscheck.json`` that is right in all."""
    return {
        **{"workers": 2, "measured": 100.0, "predicted": 100.0, "low": 99.0, "high": 101.0},
        **{"sd": 0.001, "bimodal": False, "error": 0.0, "step_median_error": 0.0},
        **{"step_p95_error": 0.0, "streams": {"mean": 0.001, "max": 0.01, "streams": 96}},
        **{"discipline_errors": {"fifo": 0.2}, "order_errors": {"reverse": -0.05}},
        **changes,
    }


def attempt(cell: Cell, *points: dict[str, object], failed: str = "") -> Attempt:
    """An attempt that found these points."""
    return Attempt(
        cell=cell.name,
        properties=described(cell),
        sources="5" * 16,
        commit="c",
        seconds={"record": 1.0},
        failed=failed,
        checked=None if failed else {"points": list(points)},
    )


def test_figures_find_what_is_off() -> None:
    bsp, asp = (Cell(network="alexnet", transport="fifo", rule=rule) for rule in ("bsp", "asp"))
    slow = dataclasses.replace(bsp, model="fifo", delay="5ms")
    found = {
        figure.name: figure
        for figure in figures_of(
            [
                attempt(bsp, point(error=0.9)),  # an older one
                attempt(bsp, point(error=-0.004), point(error=0.006, models=MODELS)),
                attempt(
                    asp,
                    point(error=0.011, step_median_error=0.03),
                    point(sd=0.02, measured=102.0, step_median_error=0.2),
                    point(sd=0.02, step_median_inside=True, step_p95_inside=False),
                ),
                attempt(
                    slow,
                    point(error=0.03, simulated_error=0.3, step_median_error=-0.07),
                    point(error=-0.01, simulated_error=-0.1),
                    point(error=0.015),
                ),
                attempt(
                    dataclasses.replace(bsp, clock="real"),
                    point(error=0.04, lost_share=0.005, busy_share=0.3),
                    point(error=0.02, lost_share=0.005, busy_share=0.04),
                    point(error=0.3, lost_share=0.02),
                ),
                attempt(dataclasses.replace(bsp, order="random"), failed="runs: exit code 4"),
            ]
        )
    }
    assert found["listed: fair, bsp and join: largest error"].value == pytest.approx(0.6)
    assert found["listed: fair, bsp and join: largest error"].met is False
    steady = found["listed: fair, asp and ssp: largest error less 2 sd, where the sd is small"]
    assert steady.value == pytest.approx(0.9)
    assert steady.met
    inside = found["listed: fair, asp and ssp: inside the range, where the sd is large"]
    assert (inside.value, inside.met) == (50, False)
    for name, value in (
        ("median step, largest error", 20.0),
        ("median step, where the sd is small, largest error", 3.0),
        ("median step inside its range, where the sd is large", 100.0),
        ("p95 of steps inside its range, where the sd is large", 0.0),
        ("streams of the first steps, where the sd is small, largest mean error", 0.1),
    ):
        assert found[f"listed: fair: {name}"].value == pytest.approx(value), name
    assert found["listed: fair: median step inside its range, where the sd is large"].met
    assert found["listed: fifo and delay: median error"].value == pytest.approx(1.5)
    alone = "listed: fifo and delay, many runs' mean: median error of a single simulation"
    assert (found[alone].value, found[alone].note) == (pytest.approx(20), "2 points, 10 to 30 %")
    assert found["listed: fifo and delay: median step, largest"].value == pytest.approx(7)
    assert found["listed: cells"].note == "1 failed"
    assert found["listed: points"].value == 11
    real = found["listed: by the machine's clock, where it lost 1 % at most: largest error"]
    assert (real.value, real.note) == (pytest.approx(4), "2 of 3 points, median 3 %")
    name = "listed: the same, where no process was busy for more than 5 %: largest error"
    assert (found[name].value, found[name].note) == (pytest.approx(2), "1 of 3 points, median 2 %")
    over = found["listed: fair: streams over models of connections, largest mean error"]
    assert (over.value, over.met) == (pytest.approx(0.4), True)
    assert not any(name.startswith("drawn") for name in found)


def test_what_the_present_sources_have_run_to_the_end_is_not_run_again(tmp_path: Path) -> None:
    path, said = tmp_path / "kept.jsonl", list[str]()
    cells = development()[:3]
    present = source_hash()
    keep(dataclasses.replace(attempt(cells[0], point()), sources=present), path)
    keep(dataclasses.replace(attempt(cells[1], failed="runs"), sources=present), path)
    keep(dataclasses.replace(attempt(cells[2], point()), sources="other"), path)
    run_missing(cells, budget_s=-1, say=said.append, path=path, folders=tmp_path, records=tmp_path)
    assert said == ["the budget of -1 s is used up; 2 cells are left"]
