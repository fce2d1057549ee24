"""Program of a run's guest: brings up the network, measures its links or runs one cell.

``python guest_program.py`` finds the task in ``task.json`` of the folder that guest and machine
share, and leaves ``answer.json`` and captures there; ``progress`` has a line for each step.
"""

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":  # by its file, like emu.run
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from typing import Any

from emu.endpoints.pairing import EndpointTiming
from emu.guest.boot import EXCHANGE, hide_bytecode
from emu.guest.side_by_side import ANSWER
from emu.isolation import isolate
from emu.measurement.round_record import dump_failure, dump_round
from emu.network.live import LiveNetwork, open_network
from emu.network.punctuality import VIRTUAL, poll_ns
from emu.plan import Plan, make_plan
from netcosim.errors import NetcosimError
from netcosim.scenario import TcpSpec, parse_scenario

Json = dict[str, Any]

FOLDER = Path(EXCHANGE)
TASK, PROGRESS = "task.json", "progress"


def main() -> None:
    """Carry out the task; a failure that was to be expected is in the answer."""
    isolate.ensure_isolated([sys.executable, "-P", os.path.abspath(__file__)])  # noqa: PTH100
    hide_bytecode()
    task = json.loads((FOLDER / TASK).read_text())
    plan = make_plan(parse_scenario(task["scenario"]), task["newest"])
    tcp = TcpSpec.model_validate(task["tcp"])
    with (FOLDER / PROGRESS).open("w", buffering=1) as progress:

        def say(kind: str, what: object) -> None:
            progress.write(json.dumps({kind: what}) + "\n")

        punctuality = replace(VIRTUAL, begins_full=task["cell"] is None)
        try:
            with open_network(
                plan.net, tcp=tcp, punctuality=punctuality, log=lambda text: say("say", text)
            ) as live:
                answer = _measure(plan, task["cell"], live, tcp, say)
        except (NetcosimError, KeyboardInterrupt) as failure:
            answer = {"failure": dump_failure(failure)}
    (FOLDER / ANSWER).write_text(json.dumps(answer))


def _measure(plan: Plan, cell: str | None, live: LiveNetwork, tcp: TcpSpec, say: Any) -> Json:
    network = live.record()
    if cell is None:
        from emu.network.verify import measure_and_verify

        measured, _ = measure_and_verify(live, tcp, log=lambda text: say("say", text))
        return {"network": network, "measured": measured.record()}
    return {"network": network, "round": _round(plan, cell, live, tcp, say)}


def _round(plan: Plan, name: str, live: LiveNetwork, tcp: TcpSpec, say: Any) -> Json:
    from emu.measurement.round import run_round

    cell = next(cell for cell in plan.cells if cell.name == name)
    done = run_round(
        live,
        cell,
        plan.connections(cell),
        tcp,
        isolate.scratch_dir(),
        bursts=range(plan.scenario.repetitions),
        expected_s=plan.burst_seconds(cell),
        on_burst=lambda burst: say("burst", burst),
        timing=EndpointTiming(
            poll_ns=poll_ns(plan.net),
            processor=plan.scenario.cluster.processor,
            logs_probe=True,
        ),
    )
    for host, path in done.captures.items():
        shutil.copyfile(path, FOLDER / f"{host}.pcap")
    return dump_round(done)


if __name__ == "__main__":
    main()
