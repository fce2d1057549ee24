"""Training jobs by the machine's own clock: one after the other, on its own kernel."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.network.live import open_network
from emu.network.verify import measure_and_verify
from emu.pauses.pauses import PERIOD_NS, PauseRecorders, recording
from emu.pauses.recorder import LATE_NS, PAUSES
from emu.remote.training.roles import Row
from emu.training.first_steps import Captured
from emu.training.job_cells import network_of
from emu.training.message_times import measure_message_times
from emu.training.nodes import JobRun, Keep, coordination_of, run_job
from emu.training.runs import Outcome, Run
from netcosim.errors import NetcosimError, NetworkError
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
    network: dict[str, Any] = field(default_factory=dict)
    recorder: dict[str, Any] = field(default_factory=dict)
    _recorders: PauseRecorders | None = None

    @contextmanager
    def running(self, runs: Sequence[Run]) -> Iterator[None]:
        """Record the machine's pauses; runs begin when they are asked for."""
        with recording(self.scratch) as self._recorders:
            self.recorder |= {
                "period_ns": PERIOD_NS,
                "late_ns": LATE_NS[PAUSES],
                "scheduling": {str(p): kind for p, kind in self._recorders.scheduling.items()},
            }
            yield

    def outcome(self, run: Run) -> Outcome:
        """Bring up a run's network, verify it, and run the job."""
        found = Outcome()
        try:
            self._run(run, found)
        except (NetcosimError, KeyboardInterrupt) as failure:
            found.failure = failure
        except OSError as problem:
            where = f"{problem.filename}: " if problem.filename else ""
            found.failure = NetworkError(f"{run.name}: {where}{problem.strerror or problem}")
        return found

    def so_far(self, run: Run, ended: BaseException) -> Outcome | None:
        """Nothing: no run begins before it is waited for."""
        return None

    def forget(self, run: Run) -> None:
        """Nothing is left of a run."""

    def _run(self, run: Run, found: Outcome) -> None:
        net = network_of(run.cell.scenario, run.cell.job, run.workers)
        with open_network(net, tcp=self.tcp, log=self.say) as live:
            measured, _ = measure_and_verify(live, self.tcp, log=self.say)
            self.network[run.name] = {**live.record(), "measured": measured.record()}
            job = self._job(run)
            if run.profiling and not job.pushed:
                found.messages = measure_message_times(live, job)
            try:
                ran = run_job(live, job, self._keep(run, found))
            finally:
                for host, counts in job.first.counts.items():
                    found.captures[host] = self.scratch / f"{host}.pcap", counts
        found.busy_share = ran.busy_share
        assert self._recorders is not None
        away = self._recorders.read().between(ran.start_ns, ran.end_ns).anywhere
        found.lost_share = total_ns(away) / (ran.end_ns - ran.start_ns)

    def _keep(self, run: Run, found: Outcome) -> Keep:
        progress = run.progress(self.say)

        def keep(host: str, rows: Sequence[Row]) -> None:
            found.keep(host, rows)
            progress.take(rows)

        return keep

    def _job(self, run: Run) -> JobRun:
        job = run.data.decode()
        batch = None if run.profiling else run.cell.batch
        return JobRun(
            job=job,
            workers=run.workers,
            coordination=coordination_of(run.cell.scenario, batch, job, run.workers),
            transport=run.cell.transport,
            pushed=run.job.pushed,
            tcp=self.tcp,
            first=Captured(steps=run.cell.scenario.training.captured, folder=self.scratch),
            quiet_s=_QUIET_S + _QUIET_STEPS * _step_s(run),
        )


def _step_s(run: Run) -> float:
    """Longest time of a step: nothing overlaps, the slowest link, the largest factor."""
    job = run.job
    rate_bps = min(job.link_bps, default=run.cell.scenario.cluster.link.rate)
    sent_s = float(job.plan.size_bytes.sum()) * 8 * run.workers / rate_bps
    computed_s = float(job.plan.duration_ns.sum(axis=1).max() * job.draws.factor.max()) / 1e9
    return sent_s + computed_s
