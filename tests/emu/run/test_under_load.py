"""A run on a machine that is busy with others: it answers, and the answer is right.

What is asked holds however the machine is disturbed: order, bytes, validity; never times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from netcosim.results.run_record import RunRecord
from netcosim.results.streams.summary import Summary
from netcosim.service_positions import byte_positions
from netcosim.trace import StreamRow, bursts
from tests.emu.run.running import WORK, Done, results, run_to_end, scenario
from tests.emu.run.world import World
from tests.loaded import loaded

pytestmark = [pytest.mark.root, pytest.mark.emulation]
SHARE = 0.2
RULES = {"mix/fifo": "fifo", "mix/turns": "round_robin"}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run under load, and what it left."""

    done: Done
    summary: Summary
    record: RunRecord
    measured: tuple[StreamRow, ...]
    predicted: tuple[StreamRow, ...]
    page: str


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    with World(tmp_path_factory.mktemp("world")) as world:
        with loaded(SHARE):
            done = run_to_end(world, "--scenario", scenario("loaded"), "--out", "out")
        with results(world) as folder:
            summary, record = folder.read_summary(), folder.read_run()
            assert summary is not None, done.err
            assert record is not None
            yield Ran(
                done=done,
                summary=summary,
                record=record,
                measured=folder.read_trace(),
                predicted=folder.read_predictions(),
                page=Path(world.at(f"{WORK}/out/report.html")).read_text(),
            )


def test_it_ends_with_an_answer_for_each_cell(ran: Ran) -> None:
    assert ran.done.code == 0, ran.done.err
    assert (ran.summary.complete, ran.summary.trusted, ran.summary.reasons) == (True, True, ())
    assert {cell.cell for cell in ran.summary.cells} == set(RULES)
    for cell in ran.summary.cells:
        # Where a pause delayed an input of every burst, none may be judged, and none is named.
        kind = "follows" if cell.judged_bursts else "undecided"
        assert (cell.answer.kind, cell.answer.model) == (kind, RULES[cell.cell])
        assert cell.answer.agreeing == cell.judged_bursts == cell.answer.bursts
        assert cell.verdict in " ".join(ran.page.split())


def test_nothing_is_repeated_for_what_the_machine_did(ran: Ran) -> None:
    assert [(v.cell, v.burst, v.attempt) for v in ran.record.validity] == [
        (cell, burst, 0) for cell in RULES for burst in range(3)
    ]
    assert all(v.valid for v in ran.record.validity)
    assert all(v.judged == (not v.delayed_inputs) for v in ran.record.validity)
    assert set(ran.record.recorder["scheduling"].values()) == {"fifo"}


def test_the_order_of_service_is_exactly_the_predicted_one(ran: Ran) -> None:
    judged = {(v.cell, v.burst) for v in ran.record.validity if v.judged}
    truth = bursts(ran.measured)
    assert truth.keys() == {(cell, burst) for cell in RULES for burst in range(3)}
    for where in judged:
        mine = [
            r
            for r in ran.predicted
            if (r.cell, r.burst) == where and (r.model, r.level) == (RULES[where[0]], "PREDICT")
        ]
        assert byte_positions(mine) == pytest.approx(byte_positions(truth[where]), abs=0.0002)


def test_no_byte_is_missing(ran: Ran) -> None:
    sizes = {"a": 900_000, "b": 300_000, "c": 700_000, "d": 100_000}
    for rows in bursts(ran.measured).values():
        assert {r.tensor: r.wire_bytes for r in rows} == sizes
        assert all(sum(s.size_bytes for s in r.services) == r.wire_bytes for r in rows)
