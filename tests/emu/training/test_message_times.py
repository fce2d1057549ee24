"""What nodes logged of a job of nothing but messages, as times of a message."""

import pytest

from emu.remote.training.roles import DELIVERED, HANDED, REQUESTED, Row
from emu.training.message_times import MESSAGES, STEPS, WARMUP, times_of

STEP_NS = 200_000_000


def logged(
    servers: int, *, asking_ns: int, parameter_ns: int, gradient_ns: int, round_trip_ns: int
) -> list[Row]:
    """Rows of nodes with exactly these times; those of the warm-up are ten times as slow."""
    rows: list[Row] = []
    for step in range(STEPS):
        slower = 10 if step < WARMUP else 1
        begun_ns = step * STEP_NS
        rows.append((REQUESTED, 0, step, -1, begun_ns))
        all_ns = 0
        for op in range(servers * MESSAGES):
            nth = op % MESSAGES + 1
            at_ns = slower * (MESSAGES * asking_ns + nth * parameter_ns) + round_trip_ns
            all_ns = max(all_ns, at_ns)
            rows.append((HANDED, 0, step, op, begun_ns + at_ns - round_trip_ns // 2))
            rows.append((DELIVERED, 0, step, op, begun_ns + at_ns))
        for op in range(servers * MESSAGES):
            at_ns = all_ns + slower * (op % MESSAGES + 1) * gradient_ns + round_trip_ns // 2
            rows.append((DELIVERED, 0, step, servers * MESSAGES + op, begun_ns + at_ns))
        for server in range(servers):  # what waits until all others have arrived
            last = 2 * servers * MESSAGES + 2 + server
            rows.append((DELIVERED, 0, step, last, begun_ns + STEP_NS - 1))
    rows.append((REQUESTED, 0, STEPS, -1, STEPS * STEP_NS))
    return rows


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("round_trip_ns", [0, 20_000_000])
def test_each_time_comes_back_whatever_the_path(servers: int, round_trip_ns: int) -> None:
    rows = logged(
        servers,
        asking_ns=50_000,
        parameter_ns=80_000,
        gradient_ns=60_000,
        round_trip_ns=round_trip_ns,
    )
    found = times_of(rows[::-1], servers, round_trip_ns)
    assert found.parameter_ns == pytest.approx(80_000, rel=0.02)
    assert found.asking_ns == pytest.approx(50_000, rel=0.04)
    assert found.gradient_ns == pytest.approx(60_000, rel=0.001)
    assert found.spread == 0.0
