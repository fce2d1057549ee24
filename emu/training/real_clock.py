"""Training jobs by the machine's own clock: one after the other, on its own kernel."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.network.live import open_network
from emu.network.punctuality import MACHINE, Punctuality
from emu.network.verify import measure_and_verify
from emu.pauses.pauses import PERIOD_NS, PauseRecorders, recording
from emu.pauses.recorder import LATE_NS, PAUSES
from emu.remote.training.roles import Row
from emu.training.first_steps import Wanted
from emu.training.job_cells import network_of
from emu.training.nodes import JobRun, Keep, run_job
from emu.training.runs import Outcome, Run
from netcosim.errors import NetcosimError
from netcosim.scenario import TcpSpec
from netcosim.spans import total_ns

_QUIET_S: Final = 60.0
_QUIET_STEPS: Final = 10.0
"""A job is given up when this many seconds and this many of its steps' times bring no news."""


@dataclass(slots=True, kw_only=True)
class RealClock:
    """Clock of the machine, whose processors take their time, and whose pauses are recorded."""

    tcp: TcpSpec
    scratch: Path
    say: Callable[[str], None]
    record: dict[str, Any] = field(default_factory=lambda: {"name": "real"})
    punctuality: Punctuality = MACHINE
    _recorders: PauseRecorders | None = None

    @contextmanager
    def running(self, runs: Sequence[Run]) -> Iterator[None]:
        """Record the machine's pauses; runs begin when they are asked for."""
        with recording(self.scratch) as self._recorders:
            self.record["recorder"] = {
                "period_ns": PERIOD_NS,
                "late_ns": LATE_NS[PAUSES],
                "scheduling": {str(p): kind for p, kind in self._recorders.scheduling.items()},
            }
            yield

    def outcome(self, run: Run) -> Outcome:
        """Bring up a run's network, verify it, and run the job."""
        found = Outcome()
        began_ns = time.time_ns()
        try:
            net = network_of(run.cell.scenario, run.cell.job, run.workers)
            with open_network(net, tcp=self.tcp, log=self.say) as live:
                measure_and_verify(live, self.tcp, log=self.say)
                began_ns = time.time_ns()
                counts = run_job(live, self._job(run), self._keep(run, found))
            for host, counted in counts.items():
                found.captures[host] = self.scratch / f"{host}.pcap", counted
        except (NetcosimError, KeyboardInterrupt) as failure:
            found.failure = failure
        found.lost_share = self._lost_share(began_ns, time.time_ns())
        return found

    def so_far(self, run: Run) -> Outcome | None:
        """Nothing: no run begins before it is waited for."""
        return None

    def _keep(self, run: Run, found: Outcome) -> Keep:
        progress = run.progress(self.say)

        def keep(host: str, rows: Sequence[Row]) -> None:
            found.keep(host, rows)
            progress.take(rows)

        return keep

    def _job(self, run: Run) -> JobRun:
        return JobRun(
            job=run.data.decode(),
            workers=run.workers,
            transport=run.cell.transport,
            pushed=run.job.pushed,
            tcp=self.tcp,
            first=Wanted(steps=run.cell.scenario.training.captured, folder=self.scratch),
            quiet_s=_QUIET_S + _QUIET_STEPS * _step_s(run),
        )

    def _lost_share(self, began_ns: int, ended_ns: int) -> float:
        assert self._recorders is not None
        away = self._recorders.read().between(began_ns, ended_ns).anywhere
        return total_ns(away) / (ended_ns - began_ns)


def _step_s(run: Run) -> float:
    """What a step takes where nothing overlaps."""
    plan = run.job.plan
    sent_s = float(plan.size_bytes.sum()) * 8 * run.workers / run.cell.scenario.cluster.link.rate
    return sent_s + float(plan.duration_ns.sum(axis=1).max()) / 1e9
