"""What each level may know: rows are made by a model whose truth is known, then predicted again."""

from dataclasses import replace
from pathlib import Path

import pytest

from emu.known import KnownCell, known_cell
from emu.plan import Plan, make_plan
from emu.predictions import predict_cell
from h2model.candidates import candidate_senders, receiver_model
from h2model.connection import Connection, LinkModel, StreamPlan
from netcosim.scenario import read_scenario
from netcosim.trace import Service, StreamRow, service_order
from tests.run.running import scenario

LINK = LinkModel(rate_bps=95e6, delay_ns=100_000, credit_latency_ns=200_000, past_bytes=65536)
CELL = "mix/fifo"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(read_scenario(Path(scenario("transports"))))


def wire_of(plan: Plan, appearance: dict[int, list[int]], cell_name: str = CELL) -> list[StreamRow]:
    """Rows as a run would leave them, of a sender that was handed `appearance` in this order.

    By burst, the messages' places in their order of release. The logged times are those of
    the order of release, 1 ms apart.
    """
    cell = next(c for c in plan.cells if c.name == cell_name)
    (planned,) = plan.connections(cell)
    discipline = str(cell.transport.discipline)
    sender = candidate_senders(cell.transport)[discipline]
    connection = Connection(sender, receiver_model(cell.transport, cell.window_bytes), LINK)
    rows = []
    for burst, order in appearance.items():
        streams = [2 * (len(order) * burst + place) + 1 for place in range(len(order))]
        schedule = connection.burst(
            [
                StreamPlan(
                    stream=streams[place],
                    size_bytes=planned.messages[place].size_bytes,
                    ready_ns=number * 1_000_000,
                )
                for number, place in enumerate(order)
            ]
        )
        for place, (message, stream) in enumerate(zip(planned.messages, streams, strict=True)):
            served = [
                Service(start_ns=i.start_ns, end_ns=i.end_ns, size_bytes=i.size_bytes, position=n)
                for n, i in enumerate(schedule.intervals)
                if i.stream == stream
            ]
            rows.append(
                StreamRow(
                    world="emu",
                    cell=cell.name,
                    burst=burst,
                    source=planned.source,
                    destination=planned.destination,
                    connection=planned.index,
                    stream=stream,
                    tensor=message.tensor,
                    size_bytes=message.size_bytes,
                    wire_bytes=message.size_bytes,
                    ready_ns=place * 1_000_000,
                    start_ns=served[0].start_ns,
                    wire_end_ns=schedule.end_ns[stream],
                    services=tuple(served),
                )
            )
    return rows


def known(plan: Plan, rows: list[StreamRow], attempts: dict[int, int]) -> KnownCell:
    cell = next(c for c in plan.cells if c.name == rows[0].cell)
    links = {c.index: LINK for c in plan.connections(cell)}
    return known_cell(plan, cell, links, attempts, measured=rows, grants=())


def ends(rows: list[StreamRow], level: str, model: str = "fifo") -> dict[int, int]:
    return {r.stream: r.wire_end_ns for r in rows if (r.level, r.model) == (level, model)}


def test_explain_knows_the_order_in_which_streams_appeared(plan: Plan) -> None:
    rows = wire_of(plan, {0: [2, 0, 4, 1, 3]})
    measured = {r.stream: r.wire_end_ns for r in rows}
    predicted = predict_cell(known(plan, rows, {0: 0}))
    assert ends(predicted, "EXPLAIN") == measured
    assert ends(predicted, "PREDICT") != measured


def test_predict_sees_nothing_of_the_wire(plan: Plan) -> None:
    rows = wire_of(plan, {0: [2, 0, 4, 1, 3]})
    # The same hand-overs with quite another wire.
    other = [
        replace(
            row,
            wire_end_ns=row.wire_end_ns * 2,
            start_ns=7,
            services=(Service(start_ns=7, end_ns=8, size_bytes=1, position=-row.stream),),
        )
        for row in rows
    ]
    one, two = (predict_cell(known(plan, each, {0: 0})) for each in (rows, other))
    assert [r for r in one if r.level == "PREDICT"] == [r for r in two if r.level == "PREDICT"]
    assert [r for r in one if r.level == "EXPLAIN"] != [r for r in two if r.level == "EXPLAIN"]


def test_levels_above_predict_are_asked_of_the_configured_discipline(plan: Plan) -> None:
    predicted = predict_cell(known(plan, wire_of(plan, {0: [0, 1, 2, 3, 4]}), {0: 0}))
    assert {r.model for r in predicted if r.level == "EXPLAIN"} == {"fifo"}
    assert {"fifo", "two_visit", "write_cycle"} < {r.model for r in predicted}


def test_a_rounds_state_outlives_its_bursts_and_ends_with_it(plan: Plan) -> None:
    """The write target grows from burst to burst, of invalid ones too, and not over rounds."""
    rows = wire_of(plan, {burst: [0, 1, 2, 3, 4] for burst in range(2)}, "mix/write-cycle")
    marked = [replace(row, valid=row.burst > 0) for row in rows]
    together = predict_cell(known(plan, marked, {0: 0, 1: 0}))
    apart = predict_cell(known(plan, marked, {0: 0, 1: 1}))

    def order(predicted: list[StreamRow], burst: int) -> tuple[tuple[int, int], ...]:
        mine = [r for r in predicted if (r.model, r.burst) == ("write_cycle", burst)]
        return service_order([replace(r, stream=r.stream % 10) for r in mine])

    assert order(together, 0) == order(apart, 0) == order(apart, 1)
    assert order(together, 1) != order(together, 0)
