"""What a training scenario may not ask of the emulator: one line names field and value."""

from functools import partial
from pathlib import Path
from typing import Any

from emu.training.job_cells import job_cells, network_of
from netcosim.scenario import build_scenario
from tests.snapshots import assert_kept, refusals


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


def coordinated(**settings: Any) -> dict[str, Any]:
    return {"coordination": settings}


def straggling(**settings: Any) -> dict[str, Any]:
    return {"straggler": [settings]}


REFUSED: dict[str, dict[str, Any]] = {
    "joined tensors": {"training__synchronisation": "join", "training__join": "tensor"},
    "a coordinator of the simulator": coordinated(kind="redundant"),
    "the time of a decision": coordinated(kind="lb_bsp", decision="1ms"),
    "a coordinator beside a synchronisation": (
        coordinated(kind="bsp") | {"training__synchronisation": "ssp"}
    ),
    "a schedule of what is pulled": {"policy": {"schedule": "p3"}, "training__gradients": "pulled"},
    "cores of a server": {"training__server_cores": 2},
    "a worker that joins": straggling(kind="join", workers="all", options={"at": "1s"}),
    "two libraries": {"transport__0__receiver": "grpc"},
    "an unknown profile": {"workload__0__profile": "nothing"},
    "a worker that is not there": straggling(kind="slow", workers=[7], options={"factor": 2.0}),
}


def test_what_can_t_be_emulated_is_refused() -> None:
    calls = {name: partial(job_cells, scenario(**change)) for name, change in REFUSED.items()}
    assert_kept(Path(__file__).parent / "snapshots/training.txt", refusals(calls))


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
