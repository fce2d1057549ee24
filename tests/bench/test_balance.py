"""The benchmark of coordinators: its parts on small jobs, its page."""

from typing import Any

import pytest

from bench.balance import stealing
from bench.balance.costs import _predictor_us
from bench.balance.gpus import PUBLISHED, curve, gpu_figures
from bench.balance.page import gpus_png
from bench.balance.processes import _redundancy
from bench.balance.stealing import stealing_figures


def test_the_published_batches_take_equally_long() -> None:
    times = [curve(worker).of(batch) for worker, batch in enumerate(PUBLISHED)]
    assert times == pytest.approx([times[0]] * 4)
    # 57 examples more cost the fastest half a second, 26 fewer save the slowest two (section 5.2).
    assert curve(0).of(89) - curve(0).of(32) == pytest.approx(500, rel=0.01)
    assert curve(3).of(32) - curve(3).of(6) == pytest.approx(2000, rel=0.01)


@pytest.mark.soak
def test_four_gpus_find_the_published_equilibrium() -> None:
    rows: list[dict[str, Any]] = []
    figures = list(gpu_figures(rows, quick=True))
    assert figures[0].met
    assert all(sum(row["batches"]) == 128 for row in rows)
    assert gpus_png(rows).startswith(b"\x89PNG")


def test_two_spare_workers_hide_two_stragglers_and_not_three() -> None:
    assert [figure.met for figure in _redundancy()] == [True, True, True]


@pytest.mark.soak
def test_work_stealing_is_varied_around_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stealing, "process_names", lambda: ("announced",))
    monkeypatch.setattr(stealing, "STEPS_QUICK", 2)
    rows: list[dict[str, Any]] = []
    (figure,) = stealing_figures(rows, quick=True)
    assert figure.value == rows[0]["over_bsp"]
    assert rows[0]["varied"] == "chosen"
    assert len({row["over_bsp"] for row in rows}) > len(rows) / 2


def test_a_predictor_takes_some_time() -> None:
    assert 0.0 < _predictor_us("average", 20) < 1e6
