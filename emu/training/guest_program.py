"""Program of a training job's guest: brings up the network and runs the job.

``python guest_program.py`` finds ``task.json`` and ``job.json`` in the folder that guest and
machine share, and leaves ``answer.json`` there.
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":  # by its file, like emu.run
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from typing import Any

from emu.endpoints.pairing import EndpointTiming
from emu.guest.boot import EXCHANGE
from emu.isolation import isolate
from emu.measurement.round_record import dump_failure
from emu.network.live import open_network
from emu.network.punctuality import VIRTUAL, poll_ns
from emu.training.nodes import JobRun, run_job
from netcosim.errors import NetcosimError
from netcosim.scenario import TcpSpec, parse_scenario
from topo.catalogue import build_spec
from topo.worker_links import with_worker_links

FOLDER = Path(EXCHANGE)
TASK, JOB, ANSWER = "task.json", "job.json", "answer.json"
_MOST_S = 1e6
"""Seconds of virtual time after which a job is given up: it does not go on any more."""


def main() -> None:
    """Carry out the task; a failure that was to be expected is in the answer."""
    isolate.ensure_isolated([sys.executable, "-P", os.path.abspath(__file__)])  # noqa: PTH100
    task = json.loads((FOLDER / TASK).read_text())
    answer: dict[str, Any]
    try:
        answer = {"rows": _run(task)}
    except (NetcosimError, KeyboardInterrupt) as failure:
        answer = {"failure": dump_failure(failure)}
    (FOLDER / ANSWER).write_text(json.dumps(answer))


def _run(task: dict[str, Any]) -> Any:
    scenario = parse_scenario(task["scenario"])
    workers: int = task["workers"]
    net = with_worker_links(
        build_spec(scenario.cluster.model_copy(update={"workers": workers})),
        task["link_bps"],
        task["more_delay_ns"],
    )
    tcp = TcpSpec.model_validate(task["tcp"])
    transport = next(t for t in scenario.transport if t.name == task["transport"])
    punctuality = replace(VIRTUAL, begins_full=False)
    with open_network(net, tcp=tcp, punctuality=punctuality) as live:
        run = JobRun(
            job=(FOLDER / JOB).read_text(),
            workers=workers,
            transport=transport,
            pushed=task["pushed"],
            tcp=tcp,
            timeout_s=_MOST_S,
            timing=EndpointTiming(poll_ns=poll_ns(net)),
        )
        return run_job(live, run)


if __name__ == "__main__":
    main()
