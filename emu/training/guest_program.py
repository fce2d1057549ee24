"""Program of a training job's guest: brings up the network and runs the job.

``python guest_program.py`` finds ``task.json`` and ``job.json`` in the folder that guest and
machine share, and leaves ``answer.json`` there; ``rows.jsonl`` has what nodes logged, as
steps end, and captures of the first steps are there by host.
"""

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

if __name__ == "__main__":  # by its file, like emu.run
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from collections.abc import Sequence
from typing import Any, TextIO

from emu.endpoints.pairing import EndpointTiming
from emu.guest.boot import EXCHANGE, hide_bytecode
from emu.guest.side_by_side import ANSWER
from emu.isolation import isolate
from emu.measurement.round_record import dump_failure
from emu.network.live import open_network
from emu.network.punctuality import VIRTUAL, poll_ns
from emu.remote.training.roles import Row
from emu.training.first_steps import Captured
from emu.training.nodes import JobRun, Keep, coordination_of, run_job
from netcosim.errors import NetcosimError
from netcosim.scenario import TcpSpec, parse_scenario
from topo.catalogue import build_spec
from topo.worker_links import with_worker_links

FOLDER = Path(EXCHANGE)
TASK, JOB, ROWS = "task.json", "job.json", "rows.jsonl"
_MOST_S = 1e6
"""Seconds of virtual time without news after which a job is given up."""


def main() -> None:
    """Carry out the task; a failure that was to be expected is in the answer."""
    isolate.ensure_isolated([sys.executable, "-P", os.path.abspath(__file__)])  # noqa: PTH100
    hide_bytecode()
    task = json.loads((FOLDER / TASK).read_text())
    first = Captured(steps=parse_scenario(task["scenario"]).training.captured, folder=FOLDER)
    answer: dict[str, Any] = {}
    try:
        with (FOLDER / ROWS).open("w", buffering=1) as file:
            _run(task, first, lambda host, rows: _write(file, host, rows))
    except (NetcosimError, KeyboardInterrupt) as failure:
        answer["failure"] = dump_failure(failure)
    answer["captures"] = {host: asdict(counts) for host, counts in first.counts.items()}
    (FOLDER / ANSWER).write_text(json.dumps(answer))


def _write(file: TextIO, host: str, rows: Sequence[Row]) -> None:
    file.write(json.dumps({"host": host, "rows": rows}, separators=(",", ":")) + "\n")


def _run(task: dict[str, Any], first: Captured, keep: Keep) -> None:
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
        job = (FOLDER / JOB).read_text()
        run = JobRun(
            job=job,
            workers=workers,
            coordination=coordination_of(scenario, task["batch"], job, workers),
            transport=transport,
            pushed=task["pushed"],
            tcp=tcp,
            quiet_s=_MOST_S,
            timing=EndpointTiming(poll_ns=poll_ns(net)),
            first=first,
        )
        run_job(live, run, keep)


if __name__ == "__main__":
    main()
