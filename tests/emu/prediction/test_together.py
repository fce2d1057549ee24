"""A cell of several connections predicted as a whole, from rows as a run leaves them."""

from dataclasses import replace

import pytest

from emu.plan import Plan, make_plan
from emu.prediction.cell_inputs import CellCalibration, CellInputs, cell_inputs
from emu.prediction.cell_prediction import predict_cell
from emu.prediction.link_speed import own_speed
from h2model.candidates import candidate_senders, receiver_model
from h2model.connection import Connection, StreamPlan
from h2model.network import Network
from netcosim.scenario import build_scenario
from netcosim.trace import Service, StreamRow
from tests.emu.run.made import LINK, OPEN_WINDOWS, grant
from topo.share import Capacity, SharedLinks, route_between

RATE = 95e6
CELL = "mix/h2"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(
        build_scenario(
            {
                "name": "together",
                "cluster": {"topology": "star", "workers": 2, "link": {"rate": "100mbit"}},
                "workload": [
                    {
                        "name": "mix",
                        "direction": "both",
                        "stagger": "80ms",
                        "tensors": [
                            {"name": "a", "size": "900kB"},
                            {"name": "b", "size": "100kB"},
                            {"name": "c", "size": "500kB"},
                        ],
                    }
                ],
                "transport": [
                    {
                        "name": "h2",
                        "sender": "h2",
                        "receiver": "h2",
                        "discipline": "round_robin",
                        "flow_control": False,
                    }
                ],
            }
        )
    )


def shared(plan: Plan) -> SharedLinks:
    planned = plan.connections(plan.cells[0])
    routes = [route_between(plan.net, c.source, c.destination, c.worker) for c in planned]
    capacity = Capacity(one_way_bps=RATE, two_way_bps=0.97 * RATE, by_worker=True)
    return SharedLinks({way: capacity for route in routes for way in route.ways}, routes)


def wire_of(plan: Plan, speed: float) -> list[StreamRow]:
    """Schedule of the job's own discipline on links that are so many times as fast."""
    (cell,) = plan.cells
    planned = plan.connections(cell)
    sender = candidate_senders(cell.transport)["round_robin"]
    receiver = receiver_model(cell.transport, None)
    network = Network([Connection(sender, receiver, LINK) for _ in planned], shared(plan))
    plans = [
        [
            StreamPlan(stream=2 * m.index + 1, size_bytes=m.size_bytes, ready_ns=c.start_ns)
            for m in c.messages
        ]
        for c in planned
    ]
    rows = []
    for c, schedule in zip(planned, network.burst(plans, speed=speed), strict=True):
        for m in c.messages:
            stream = 2 * m.index + 1
            services = tuple(
                Service(start_ns=i.start_ns, end_ns=i.end_ns, size_bytes=i.size_bytes, position=n)
                for n, i in enumerate(schedule.intervals)
                if i.stream == stream
            )
            rows.append(
                StreamRow(
                    world="emu",
                    cell=cell.name,
                    burst=0,
                    source=c.source,
                    destination=c.destination,
                    connection=c.index,
                    stream=stream,
                    tensor=m.tensor,
                    size_bytes=m.size_bytes,
                    wire_bytes=m.size_bytes,
                    ready_ns=c.start_ns,
                    start_ns=services[0].start_ns,
                    wire_end_ns=schedule.end_ns[stream],
                    services=services,
                )
            )
    return rows


def known(plan: Plan, rows: list[StreamRow]) -> CellInputs:
    (cell,) = plan.cells
    planned = plan.connections(cell)
    grants = [replace(g, cell=CELL, connection=c.index) for c in planned for g in OPEN_WINDOWS]
    return cell_inputs(
        plan,
        cell,
        CellCalibration(links={c.index: LINK for c in planned}, shares=shared(plan)),
        {0: 0},
        measured=rows,
        grants=grants,
    )


def ends(rows: list[StreamRow], level: str = "") -> dict[tuple[int, int], int]:
    return {
        (r.connection, r.stream): r.wire_end_ns
        for r in rows
        if r.level == level and r.model in ("", "round_robin")
    }


def test_each_connection_is_found_at_its_share(plan: Plan) -> None:
    rows = wire_of(plan, 1.0)
    assert {r.connection for r in rows} == {0, 1, 2, 3}
    assert ends(predict_cell(known(plan, rows)), "PREDICT") == ends(rows)


def test_only_the_oracle_knows_that_the_links_were_slow(plan: Plan) -> None:
    rows = wire_of(plan, 0.9)
    predicted = predict_cell(known(plan, rows))
    measured, length = ends(rows), max(ends(rows).values())
    last = max(measured, key=lambda key: measured[key])
    assert ends(predicted, "PREDICT")[last] < 0.95 * length
    found = ends(predicted, "ORACLE")
    assert max(abs(found[key] - measured[key]) for key in measured) < 0.005 * length


def test_positions_on_a_link_count_the_bytes_of_all_connections_over_it(plan: Plan) -> None:
    """Pulls share the server's one direction, pull-backs the other: 1.5 MB for each worker."""
    (cell,) = plan.cells
    bottlenecks = plan.bottlenecks(cell)
    assert len(set(bottlenecks.values())) == 2
    predicted = [r for r in predict_cell(known(plan, wire_of(plan, 1.0))) if r.level == "PREDICT"]
    for model in {r.model for r in predicted}:
        for way in set(bottlenecks.values()):
            mine = [r for r in predicted if r.model == model and bottlenecks[r.connection] == way]
            assert len({r.connection for r in mine}) == 2
            total = sum(s.size_bytes for r in mine for s in r.services)
            assert total == 3_000_000
            for row in mine:
                visits = [s for r in mine for s in r.services]
                over = sum(s.size_bytes for s in visits if s.end_ns <= row.wire_end_ns)
                begun = sum(s.size_bytes for s in visits if s.start_ns < row.wire_end_ns)
                assert row.link_position is not None
                assert over / total - 1e-6 <= row.link_position <= begun / total + 1e-6
            in_order = sorted(mine, key=lambda r: r.wire_end_ns)
            positions = [r.link_position for r in in_order if r.link_position is not None]
            assert positions == sorted(positions)
            assert len(positions) == len(mine)
            assert positions[-1] == pytest.approx(1.0, abs=1e-6)


def test_a_connection_that_has_not_begun_has_carried_nothing(plan: Plan) -> None:
    """The second worker begins after 80 ms; the first one's first 900 kB are there by then."""
    predicted = predict_cell(known(plan, wire_of(plan, 1.0)))
    (first,) = (
        r
        for r in predicted
        if (r.level, r.model, r.connection, r.tensor) == ("PREDICT", "fifo", 0, "a")
    )
    assert first.wire_end_ns < 80_000_000
    assert first.link_position == pytest.approx(0.3, abs=1e-6)


def test_a_connection_with_a_bottleneck_to_itself_has_no_position_on_it() -> None:
    apart = make_plan(
        build_scenario(
            {
                "name": "apart",
                "cluster": {"link": {"rate": "100mbit"}},
                "workload": [{"name": "mix", "tensors": [{"name": "a", "size": "90kB"}]}],
                "transport": [
                    {
                        "name": "h2",
                        "sender": "h2",
                        "receiver": "h2",
                        "discipline": "round_robin",
                        "flow_control": False,
                    }
                ],
            }
        )
    )
    predicted = predict_cell(known(apart, wire_of(apart, 1.0)))
    assert predicted
    assert {r.link_position for r in predicted} == {None}


def test_a_connection_whose_credit_was_not_captured_has_no_oracle(plan: Plan) -> None:
    rows = wire_of(plan, 1.0)
    whole = known(plan, rows)
    (cell,) = plan.cells
    lost = cell_inputs(
        plan,
        cell,
        CellCalibration(links={c.index: LINK for c in plan.connections(cell)}, shares=shared(plan)),
        {0: 0},
        measured=rows,
        grants=[replace(grant("initial_window", 10), cell=CELL)],
    )
    assert {r.level for r in predict_cell(whole)} == {"PREDICT", "EXPLAIN", "ORACLE"}
    assert {r.level for r in predict_cell(lost)} == {"PREDICT", "EXPLAIN"}


def test_speed_is_what_was_carried_over_what_could_have_been() -> None:
    def shares(busy: frozenset[int]) -> dict[int, float]:
        return {i: 8e9 / len(busy) for i in busy}  # a byte a nanosecond, shared

    assert own_speed([[(0, 100)], [(50, 250)]], 250, shares, 0) == pytest.approx(1)
    assert own_speed([[(0, 100)], [(50, 250)]], 200, shares, 0) == pytest.approx(0.8)
    # The pause from 100 to 150 counts but for the slack, which also ends it later.
    assert own_speed([[(0, 100), (150, 200)]], 150, shares, 10) == pytest.approx(150 / 170)
    assert own_speed([[(0, 100), (105, 200)]], 200, shares, 10) == pytest.approx(200 / 210)
