"""Claims are the same whoever computes them, and none is lost with the process that did."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from emu.plan import make_plan
from emu.prediction import parallel
from emu.prediction.cell_inputs import CellCalibration, CellInputs, cell_inputs
from emu.prediction.parallel import cell_predictions, predict_cells
from netcosim import parallel_map
from netcosim.scenario import read_scenario
from tests.emu.run.made import LINK, OPEN_WINDOWS, find, wire_of
from tests.emu.run.running import scenario

ORDERS = ([0, 1, 2, 3, 4], [2, 0, 4, 1, 3], [4, 3, 2, 1, 0], [1, 0, 3, 2, 4], [3, 4, 0, 2, 1])


@pytest.fixture(scope="module")
def cells() -> list[CellInputs]:
    plan = make_plan(read_scenario(Path(scenario("transports"))))
    cell = find(plan, "mix/fifo")
    links = {c.index: LINK for c in plan.connections(cell)}
    return [
        cell_inputs(
            plan,
            cell,
            CellCalibration(links=links, shares=_alone),
            {0: 0},
            measured=wire_of(plan, {0: order}, cell.name),
            grants=OPEN_WINDOWS,
        )
        for order in ORDERS
    ]


def _alone(busy: frozenset[int]) -> dict[int, float]:
    return dict.fromkeys(busy, LINK.rate_bps)


@pytest.mark.oracle
def test_other_processes_claim_the_same(
    cells: list[CellInputs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "_WORTH_BYTES", 0)
    monkeypatch.setattr(parallel_map, "usable_processors", lambda: 2)
    own = [cell_predictions(known) for known in cells]
    assert list(predict_cells(cells)) == own
    assert own[0] != own[1]


@pytest.mark.oracle
def test_a_killed_process_loses_no_claim(
    cells: list[CellInputs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "_WORTH_BYTES", 0)
    monkeypatch.setattr(parallel_map, "usable_processors", lambda: 2)
    answers = predict_cells(cells * 20)
    found = [next(answers)]
    processes = multiprocessing.active_children()
    assert len(processes) == 2
    for process in processes:
        if process.pid is not None:
            os.kill(process.pid, signal.SIGKILL)
    assert [*found, *answers] == [cell_predictions(known) for known in cells] * 20
    assert not multiprocessing.active_children()
