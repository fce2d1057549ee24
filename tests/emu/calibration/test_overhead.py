"""A receiver's calibration: what is sent for it, what is found in rows whose truth is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from emu.calibration.overhead import (
    BURSTS,
    LARGEST_BYTES,
    WIRE_S,
    alone_in,
    calibration_messages,
    evaluate,
    largest_bytes,
)
from emu.plan import Plan, distinct_receivers, make_plan, receiver_key
from emu.prediction.delivery import takes_turns, with_delivered
from emu.prediction.run_inputs import overhead_of
from h2model.overhead import Linear, Overhead, delivered_ends_ns
from netcosim.results.json_files import as_stored
from netcosim.results.run_record import Validity, first_bursts
from netcosim.scenario import read_scenario
from netcosim.trace import Service, StreamRow
from tests.emu.run.running import scenario
from tests.netcosim.rows import stream_row

TRUTH = Overhead(
    first=Linear(alpha_ns_per_byte=1.2, beta_ns=300_000.0),
    later=Linear(alpha_ns_per_byte=0.5, beta_ns=150_000.0),
    stretch=1.8,
)
RATE_BPS = 95e6


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(read_scenario(Path(scenario("transports"))))


def row(stream: int, start: int, end: int, *, burst: int = 0, size: int | None = None) -> StreamRow:
    size = round((end - start) * RATE_BPS / 8e9) if size is None else size
    where = {"cell": "calibration", "burst": burst, "stream": stream, "tensor": f"m{stream}"}
    sizes = {"size_bytes": size, "wire_bytes": size}
    times = {"ready_ns": start, "start_ns": start, "wire_end_ns": end}
    served = (Service(start_ns=start, end_ns=end, size_bytes=size),)
    return stream_row(**where, **sizes, **times, services=served)


def in_turn(burst: int, messages: list[tuple[int, int]]) -> list[StreamRow]:
    """Messages of (size, ready) on a FIFO link, without their delivered ends."""
    free = 0
    rows = []
    for place, (size, ready) in enumerate(messages):
        start = max(free, ready)
        free = start + round(size * 8e9 / RATE_BPS)
        rows.append(row(2 * place + 1, start, free, burst=burst, size=size))
    return rows


def calibrated(truth: Overhead) -> list[list[StreamRow]]:
    """A calibration's bursts as a receiver with this overhead would deliver them."""
    messages = [(m.size_bytes, m.ready_ns) for m in calibration_messages(RATE_BPS, 0)]
    bursts = [in_turn(burst, messages) for burst in range(BURSTS)]
    return [with_delivered(rows, truth, frozenset({0})) for rows in bursts]


def test_a_known_receiver_is_found_again() -> None:
    found = evaluate(calibrated(TRUTH))
    for name in ("first", "later"):
        ours, truth = getattr(found.overhead, name), getattr(TRUTH, name)
        assert ours.alpha_ns_per_byte == pytest.approx(truth.alpha_ns_per_byte, rel=1e-3)
        assert ours.beta_ns == pytest.approx(truth.beta_ns, rel=1e-3)
    assert found.overhead.stretch == TRUTH.stretch
    assert found.residual_max_ns < 2_000
    assert len(found.samples) == BURSTS * len(calibration_messages(RATE_BPS, 0))


def test_one_disturbed_message_of_each_size_has_no_pull() -> None:
    bursts = calibrated(TRUTH)
    seen: set[int] = set()
    for rows in bursts:
        seen.clear()
        for place, each in enumerate(rows):
            if each.size_bytes not in seen and each.delivered_ns is not None:
                seen.add(each.size_bytes)
                rows[place] = replace(each, delivered_ns=each.delivered_ns + 5_000_000)
    found = evaluate(bursts).overhead
    for name in ("first", "later"):
        ours, truth = getattr(found, name), getattr(TRUTH, name)
        assert ours.alpha_ns_per_byte == pytest.approx(truth.alpha_ns_per_byte, rel=0.01)


def test_what_was_found_survives_its_file() -> None:
    found = evaluate(calibrated(TRUTH))
    assert overhead_of(as_stored(found.record())) == found.overhead


def test_messages_that_meet_another_are_not_alone() -> None:
    rows = [row(1, 0, 100), row(3, 300, 400), row(5, 420, 600), row(7, 900, 950)]
    ends = (150, 430, 700, 960)
    delivered = [replace(r, delivered_ns=end) for r, end in zip(rows, ends, strict=True)]
    # The second is still being parsed when the third begins to arrive.
    assert alone_in(delivered) == [True, False, True, True]
    # The third comes while the second is being parsed, whatever arrives.
    late = [*delivered[:1], replace(delivered[1], delivered_ns=610), *delivered[2:]]
    assert alone_in(late) == [True, False, False, True]


def test_a_disturbed_calibration_still_gives_a_line() -> None:
    together = in_turn(0, [(500_000, 0), (400_000, 0), (300_000, 0)])
    bursts = [with_delivered(together, TRUTH, frozenset({0}))] * 2
    assert not all(alone_in(bursts[0]))
    assert evaluate(bursts).overhead.first.alpha_ns_per_byte > 0


@pytest.mark.parametrize("rate_bps", [1e6, 20e6, 95e6, 950e6, 10e9])
def test_a_burst_keeps_to_its_time_and_its_messages_apart(rate_bps: float) -> None:
    messages = calibration_messages(rate_bps, 0)
    sizes = [m.size_bytes for m in messages]
    assert max(sizes) <= LARGEST_BYTES
    least = 4096 * len(messages) * 8 / rate_bps  # a slow link still carries the smallest ones
    assert sum(sizes) * 8 / rate_bps <= WIRE_S + least
    ready = [m.ready_ns for m in messages]
    assert ready == sorted(ready)
    assert len({m.index for m in messages}) == len(messages)
    apart = [m for m in messages if m.ready_ns < ready[-1]]
    assert len(apart) > 8
    for one, following in zip(apart, messages[1:], strict=False):
        wire_ns = one.size_bytes * 8e9 / rate_bps
        assert following.ready_ns - one.ready_ns > wire_ns


def test_no_message_is_larger_than_the_largest_that_the_run_sends(plan: Plan) -> None:
    cell = plan.cells[0]
    largest = max(m.size_bytes for c in plan.cells for server in c.messages for m in server)
    assert largest_bytes(plan, cell) <= largest
    sizes = [m.size_bytes for m in calibration_messages(10e9, 0, largest_bytes(plan, cell))]
    assert max(sizes) == largest_bytes(plan, cell)


def test_receivers_differ_by_library_part_and_peer_and_not_by_window(plan: Plan) -> None:
    cell = plan.cells[0]

    def like(**changes: object) -> str:
        return receiver_key(replace(cell, transport=cell.transport.model_copy(update=changes)))

    push = cell.workload.model_copy(update={"direction": "push"})
    back = cell.workload.model_copy(update={"direction": "pull-back"})
    same = (
        like(),
        like(window=65536, flow_control=True),
        like(credit="half"),
        receiver_key(replace(cell, workload=back)),
    )
    assert len(set(same)) == 1
    others = (
        like(receiver="grpc"),
        like(receiver="grpc", receiver_release="1.59.5"),
        like(sender="grpc"),
        receiver_key(replace(cell, workload=push)),
    )
    assert len({*same, *others}) == 1 + len(others)


def test_each_receiver_is_calibrated_once(plan: Plan) -> None:
    found = distinct_receivers(plan.cells)
    assert set(found) == {receiver_key(cell) for cell in plan.cells}
    assert len(found) < len(plan.cells)


def test_the_first_burst_of_each_round_is_the_first_of_its_connections() -> None:
    attempts = {0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 2}
    judged = [
        Validity.model_construct(burst=burst, attempt=attempt)
        for burst, attempt in attempts.items()
    ]
    assert first_bursts(judged) == {0, 3, 4}


def test_connections_bursts_models_and_levels_are_delivered_apart() -> None:
    burst = in_turn(0, [(500_000, 0), (400_000, 0)])
    alone = with_delivered(burst, TRUTH, frozenset({0}))
    mixed = [
        replace(r, **change)
        for change in ({}, {"connection": 1}, {"model": "fifo"}, {"level": "ORACLE"})
        for r in burst
    ]
    ends = [r.delivered_ns for r in with_delivered(mixed, TRUTH, frozenset({0}))]
    assert ends == [r.delivered_ns for r in alone] * 4


def test_the_first_burst_has_its_own_line() -> None:
    burst = in_turn(0, [(500_000, 0)])
    (first,) = with_delivered(burst, TRUTH, frozenset({0}))
    (later,) = with_delivered(burst, TRUTH, frozenset({7}))
    arrived = [(r.wire_end_ns, r.size_bytes) for r in burst]
    for found, line in ((first, TRUTH.first), (later, TRUTH.later)):
        expected = arrived[0][0] + line.alpha_ns_per_byte * arrived[0][1] + line.beta_ns
        assert found.delivered_ns == pytest.approx(expected, abs=1)


def test_one_reader_delivers_in_the_order_of_the_streams() -> None:
    rows = [row(1, 0, 900_000), row(3, 0, 500_000)]
    free = with_delivered(rows[::-1], TRUTH, frozenset())
    turns = with_delivered(rows[::-1], TRUTH, frozenset(), in_turn=True)
    ends = {r.stream: r.delivered_ns or 0 for r in turns}
    assert ends[3] > ends[1] > 900_000
    assert next(r.delivered_ns or 0 for r in free if r.stream == 3) < ends[1]


def test_only_a_listening_receiver_without_asyncio_takes_turns(plan: Plan) -> None:
    cell = plan.cells[0]
    old = cell.transport.model_copy(update={"receiver": "grpc", "receiver_release": "1.17.0"})
    push = cell.workload.model_copy(update={"direction": "push"})
    assert takes_turns(replace(cell, transport=old, workload=push))
    assert not takes_turns(replace(cell, transport=old))
    assert not takes_turns(replace(cell, workload=push))


def test_an_unknown_receiver_leaves_delivered_ends_unknown() -> None:
    burst = in_turn(0, [(500_000, 0)])
    assert with_delivered(burst, None, frozenset()) == burst


def test_no_message_is_delivered_before_its_last_byte() -> None:
    for rows in calibrated(TRUTH):
        assert all(r.delivered_ns is not None and r.delivered_ns > r.wire_end_ns for r in rows)
    assert delivered_ends_ns([], [], TRUTH.first) == []
