"""What a training scenario may not ask of the emulator: one line names field and value."""

from typing import Any

import pytest

from emu.training.job_cells import job_cells, network_of
from netcosim.errors import ScenarioError
from netcosim.scenario import build_scenario


def scenario(**changes: Any) -> Any:
    data: dict[str, Any] = {
        "name": "x",
        "clock": "virtual",
        "cluster": {"topology": "star", "workers": 2, "link": {"rate": "100mbit"}},
        "workload": [{"name": "job", "profile": "alexnet", "total": "1MB"}],
        "transport": [{"name": "h2", "sender": "h2", "receiver": "h2", "discipline": "fifo"}],
        "training": {"steps": 3, "warmup": 1},
    }
    for path, value in changes.items():
        at: Any = data
        *folders, last = path.split("__")
        for folder in folders:
            at = at[int(folder) if folder.isdigit() else folder]
        at[last] = value
    return build_scenario(data)


def test_a_cell_has_the_job_of_the_most_workers() -> None:
    (cell,) = job_cells(scenario(training__workers=[1, 3]))
    assert (cell.name, cell.job.workers, cell.job.steps, cell.batch) == ("job/h2", 3, 3, 8)
    assert cell.job.plan.size_bytes.sum() == 2_000_000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"training__synchronisation": "join", "training__join": "tensor"},
            'training.join: "tensor": is for the simulator; real servers join by "step"',
        ),
        (
            {"coordination": {"kind": "redundant"}},
            'coordination.kind: "redundant": is for the simulator; here: asp, bsp, lb_bsp',
        ),
        (
            {"coordination": {"kind": "lb_bsp", "decision": "1ms"}},
            'coordination.decision: "1ms": is for the simulator',
        ),
        (
            {"coordination": {"kind": "bsp"}, "training__synchronisation": "ssp"},
            'training.synchronisation: "ssp": does not go with .coordination.',
        ),
        (
            {"policy": {"schedule": "p3"}, "training__gradients": "pulled"},
            'training.gradients: "pulled": must be "pushed" with a schedule',
        ),
        ({"training__server_cores": 2}, "training.server_cores: 2: is for the simulator"),
        (
            {"straggler": [{"kind": "join", "workers": "all", "options": {"at": "1s"}}]},
            r'straggler\[0\].kind: "join": is for the simulator; here: slow',
        ),
        (
            {"transport__0__receiver": "grpc"},
            r"transport\[h2\].receiver: \"grpc\": must be the same",
        ),
        ({"workload__0__profile": "nothing"}, r"workload\[job\].profile: \"nothing\": unknown"),
        (
            {"straggler": [{"kind": "slow", "workers": [7], "options": {"factor": 2.0}}]},
            r"straggler\[0\].workers: 7: no such worker",
        ),
    ],
)
def test_what_can_t_be_emulated_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{said}"):
        job_cells(scenario(**change))


def test_slow_links_are_those_of_the_job_and_of_the_network() -> None:
    slow = {"kind": "link", "workers": [1], "options": {"rate": "30mbit"}}
    far = {"kind": "delay", "workers": [0], "options": {"delay": "2ms"}}
    made = scenario(straggler=[slow, far], policy={"schedule": "p3"})
    (cell,) = job_cells(made)
    job = cell.job
    assert (job.link_bps, job.more_delay_ns) == ((100_000_000, 30_000_000), (2_000_000, 0))
    assert (job.pushed, job.schedule, job.schedule_options) == (True, "p3", (4_000_000,))
    assert [round(rates[0] / 1e6, 1) for rates in job.gate_bps] == [95.6, 28.7]
    found = {
        link.name: (link.link.rate, link.link.delay) for link in network_of(made, job, 2).links
    }
    assert found["w0"] == (100_000_000, 2_000_000)
    assert found["w1"] == (30_000_000, 0)
    assert found["s0"] == (100_000_000, 0)
