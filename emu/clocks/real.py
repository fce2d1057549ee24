"""The machine's own clock: the network is in its kernel, its processors take their time."""

import contextlib
import sys
from typing import Final

from emu.calibration.call_acceptance import is_needed, measure_acceptance
from emu.calibration.overhead import calibrate
from emu.calibration.trial_bursts import Stage
from emu.clocks.measurements import Measurements, Task
from emu.measurement.cell_runner import CellRunner
from emu.network.live import LiveNetwork, open_network
from emu.network.verify import measure_and_verify
from emu.pauses.pauses import PERIOD_NS, PauseRecorders, recording
from emu.pauses.recorder import LATE_NS, PAUSES
from emu.plan import distinct_receivers
from netcosim.cli.session import deciding, timed_phase
from netcosim.results.json_files import as_stored

NAME: Final = "real"


def measure(task: Task, found: Measurements) -> None:
    """Measure the network and every cell on this machine."""
    found.clock = {"name": NAME}
    with contextlib.ExitStack() as stack:
        recorders = stack.enter_context(recording(task.scratch))
        found.recorder = {
            "period_ns": PERIOD_NS,
            "late_ns": LATE_NS[PAUSES],
            "scheduling": {str(p): kind for p, kind in recorders.scheduling.items()},
        }
        _measure_on_network(task, found, recorders)


def _measure_on_network(task: Task, found: Measurements, recorders: PauseRecorders) -> None:
    with timed_phase(found.phases_s, "network up"):
        context = open_network(task.plan.net, tcp=task.tcp, log=task.progress.say)
        live = context.__enter__()
    try:
        with timed_phase(found.phases_s, "links measured"):
            found.network = live.record()
            found.measured, _ = measure_and_verify(live, task.tcp, log=task.progress.say)
        with timed_phase(found.phases_s, "receivers calibrated"):
            _calibrate(task, found, live)
        _cells(task, found, live, recorders)
    except Exception:
        live.check_alive()  # a host whose shell died is why whatever else failed
        raise
    finally:
        with timed_phase(found.phases_s, "network down"), deciding(sys.exception()):
            context.__exit__(None, None, None)


def _calibrate(task: Task, found: Measurements, live: LiveNetwork) -> None:
    plan = task.plan
    receivers = distinct_receivers(plan.cells)
    listening = distinct_receivers(filter(is_needed, plan.cells))
    task.progress.say(f"calibrating {len(receivers)} receivers")
    # As with links, predictions use the values as stored.
    for key, cell in receivers.items():
        stage = Stage(live=live, plan=plan, cell=cell, tcp=task.tcp, scratch=task.scratch)
        with found.as_problem("delivered ends are not predicted"):
            found.overheads[key] = as_stored(calibrate(stage).record())
    for key, cell in listening.items():
        stage = Stage(live=live, plan=plan, cell=cell, tcp=task.tcp, scratch=task.scratch)
        with found.as_problem("its pushed calls count as read at once"):
            found.acceptances[key] = as_stored(measure_acceptance(stage).record())


def _cells(task: Task, found: Measurements, live: LiveNetwork, recorders: PauseRecorders) -> None:
    runner = CellRunner(
        live=live,
        digest=found.digest(task),
        scratch=task.scratch,
        recorders=recorders,
        on_burst=task.progress.burst_done,
    )
    with task.progress.cells(task.plan):
        for cell in task.plan.cells:
            with timed_phase(found.phases_s, cell.name):
                outcome = runner.run(cell)
            found.finish(task, outcome)
    recorders.check_alive()  # one may have died after the last burst
