"""What nodes logged of a job of nothing but messages, as times of a message."""

import numpy as np
import pytest

from emu.remote.training.roles import DELIVERED, REQUESTED, Row
from emu.training.message_times import MESSAGES, STEPS, calibration_job, times_of
from netcosim.results.training.job_summary import MessageTimes
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.sealing.message_times import with_message_times
from tests.sim.naive.plans import make_network, make_sending

TIMES = MessageTimes(asking_ns=50_000, parameter_ns=80_000, gradient_ns=60_000, spread=0.0)


def logged(times: MessageTimes, servers: int, delay_ns: int) -> list[Row]:
    """Rows of nodes whose messages take this, by the simulator; links take nothing."""
    job = calibration_job(servers)
    plan = with_message_times(job.plan, times)
    network = make_network(workers=1, servers=servers, delay_ns=delay_ns)
    engine = Engine(
        plan,
        network,
        make_sending(),
        job.draws,
        Control(keep_operations=True, in_parts=True),
        compiled=False,
    )
    engine.run()
    seen, begun = engine.operations(), engine.steps()
    rows: list[Row] = [
        (REQUESTED, 0, int(step), -1, round(float(at)))
        for step, at in zip(begun.step, begun.start_ns, strict=True)
    ]
    messages = np.flatnonzero(plan.place[seen.operation] < len(plan.channels))
    rows += [
        (DELIVERED, 0, int(seen.step[i]), int(seen.operation[i]), round(float(seen.end_ns[i])))
        for i in messages
    ]
    return rows


@pytest.mark.oracle
@pytest.mark.parametrize("servers", [1, 2, 3])
@pytest.mark.parametrize("delay_ns", [0, 10_000_000])
def test_times_that_the_simulator_is_told_come_back(servers: int, delay_ns: int) -> None:
    rows = logged(TIMES, servers, delay_ns)
    found = times_of(rows[::-1], servers, 2 * delay_ns, link_ns=1.0)
    assert found.parameter_ns == pytest.approx(TIMES.parameter_ns, rel=0.02)
    assert found.asking_ns == pytest.approx(TIMES.asking_ns, rel=0.05)
    assert found.gradient_ns == pytest.approx(TIMES.gradient_ns, rel=0.02)
    assert found.spread == 0.0


def test_where_the_link_may_be_waited_for_nothing_is_known_of_nodes() -> None:
    rows = logged(TIMES, 1, 0)
    found = times_of(rows, 1, 0, link_ns=TIMES.parameter_ns / 1.4)
    assert (found.asking_ns, found.parameter_ns, found.gradient_ns) == (0, 0, 0)
    found = times_of(rows, 1, 0, link_ns=TIMES.gradient_ns / 1.6)
    assert found.gradient_ns > 0


def test_packets_that_are_faster_than_their_path_are_no_failure() -> None:
    """A link with jitter: the round trip that is taken off may be longer than all."""
    rows = logged(TIMES, 1, 0)
    found = times_of(rows, 1, 10**9, link_ns=1.0)
    assert found.asking_ns == 0
    assert 0 <= found.spread <= 1


def test_the_job_has_as_many_messages_as_are_counted() -> None:
    for servers in (1, 4):
        job = calibration_job(servers)
        assert job.steps == STEPS
        assert int(job.plan.size_bytes.sum()) == servers * (2 * MESSAGES + 1)
