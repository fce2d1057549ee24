"""Coordination of executors: when a step has ended, and who begins with what."""

from typing import Any

import pytest

from netcosim.scenario import build_scenario
from netcosim.training.coordination import Begun, JobCoordination
from netcosim.training.job import TrainingJob
from tests.sim.naive.plans import (
    Op,
    at_worker,
    down,
    make_plan,
    same_draws,
    up,
)

JOB: dict[str, Any] = {
    "name": "job",
    "cluster": {"topology": "star", "workers": 2, "link": {"rate": "1gbit"}},
    "workload": [{"name": "alexnet", "profile": "alexnet"}],
    "transport": [{"name": "h2", "sender": "h2", "receiver": "h2"}],
    "coordination": {"kind": "lb_bsp", "predictor": "memoryless"},
}


def coordination(servers: int) -> JobCoordination:
    ops = [Op(name="compute", at=at_worker(), duration_ns=100, after=("pull0",))]
    for server in range(servers):
        ops += [
            Op(name=f"pull{server}", at=down(server), size_bytes=10),
            Op(name=f"push{server}", at=up(server), size_bytes=10, after=("compute",)),
        ]
    job = TrainingJob(
        plan=make_plan(ops, servers=servers),
        draws=same_draws(workers=2, steps=3, factor=[1.0, 1.0]),
        staleness=None,
        join=None,
        speeds=(None, None),
    )
    return JobCoordination.of(build_scenario(JOB), 30, job)


def test_a_step_has_ended_with_the_last_of_its_parts() -> None:
    found = coordination(servers=2)
    assert found.begin() == [Begun(0, 0, 30, 1.0), Begun(1, 0, 30, 1.0)]
    # A worker and two servers: three parts each, in any order.
    for worker, at_ns in ((0, 1000.0), (1, 500.0), (0, 2000.0), (1, 900.0), (1, 1000.0)):
        assert found.over(worker, at_ns) == []
    begun = found.over(0, 1500.0)
    # The first took 2000 ns, the second 1000: 60 examples in proportion to their speeds.
    assert begun == [
        Begun(0, 1, 20, pytest.approx(2 / 3)),
        Begun(1, 1, 40, pytest.approx(4 / 3)),
    ]
    assert found.batches.tolist() == [[30, 20, 0], [30, 40, 0]]


def test_nobody_begins_behind_the_last_step() -> None:
    found = coordination(servers=1)
    begun = found.begin()
    for at_ns in (1e4, 2e4):
        for worker in (0, 0, 1, 1):
            begun = found.over(worker, at_ns)
        assert len(begun) == 2
    for worker in (0, 0, 1, 1):
        begun = found.over(worker, 3e4)
    assert begun == []
