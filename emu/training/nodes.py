"""Nodes of a training job in Mininet hosts: start them, run the job, collect what they logged."""

import json
import selectors
import sys
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.endpoints.going_on import GoingOn
from emu.endpoints.pairing import THE_MACHINES, EndPlan, EndpointTiming, end_environment, tcp_of
from emu.endpoints.process import EndpointProcess
from emu.endpoints.transports import load
from emu.endpoints.watch import failure_of
from emu.network.live import LiveNetwork
from emu.remote import training
from emu.remote.endpoint_common import wait_for_tick
from emu.remote.training.roles import BATCH, Row
from emu.training.first_steps import Captured, FirstSteps
from netcosim.cli.session import deciding
from netcosim.errors import EndpointError
from netcosim.scenario import Scenario, TcpSpec, TransportSpec
from netcosim.training.coordination import Begun, JobCoordination
from netcosim.training.job_file import load_job

LEAD_NS: Final = 100_000_000
"""Lead time to the job's start, so that all nodes have each other's settings by then."""

_FIRST_PORT: Final = 20_000
_SERVER, _WORKER = "server", "worker"
_ANSWER_S: Final = 60.0
_SCRIPTS: Final = Path(training.__file__).parent

Json = dict[str, Any]

Keep = Callable[[str, Sequence[Row]], None]
"""Takes what a host's node logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """A job to run: its file, its workers, their transport and clock.

    Attributes
    ----------
    job : text of the job's file
    workers : how many of the job's workers take part
    coordination : who begins each step when, with which batch; None: each by itself
    pushed : whether workers push gradients; else servers ask for them
    first : which of its first steps are captured; gets the counts of these captures
    quiet_s : seconds, by the nodes' clock, without news after which a job is given up
    """

    job: str
    workers: int
    coordination: JobCoordination | None = None
    transport: TransportSpec
    pushed: bool
    tcp: TcpSpec
    quiet_s: float
    first: Captured
    timing: EndpointTiming = THE_MACHINES


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A job that has ended.

    Attributes
    ----------
    start_ns, end_ns : of the job, on the wall clock
    processor_ns : time that each node's process has run on processors, by host
    """

    start_ns: int
    end_ns: int
    processor_ns: dict[str, int]

    @property
    def busy_share(self) -> float:
        """Part of the job's time in which the busiest node's process ran."""
        return max(self.processor_ns.values()) / (self.end_ns - self.start_ns)


def coordination_of(
    scenario: Scenario, batch: int | None, job: str, workers: int
) -> JobCoordination | None:
    """Coordination of a job's run; None if it has none, or no batch is told, as of a record."""
    if scenario.coordination is None or batch is None:
        return None
    return JobCoordination.of(scenario, batch, load_job(job.encode(), "job").first(workers))


def run_job(live: LiveNetwork, run: JobRun, keep: Keep) -> Ran:
    """Run a job to its end; `keep` is given what a host's node logged, as steps end.

    Raises
    ------
    EndpointError
        A node failed or died, or nothing was heard of the job for too long.
    CaptureError
        A capture did not start or end.
    """
    with FirstSteps.of(live, run.workers, run.first) as first:

        def take(host: str, rows: Sequence[Row]) -> None:
            keep(host, rows)
            first.take(rows)

        with _running(live, run, take) as nodes:
            start_ns, end_ns = _run(nodes, run)
    return Ran(
        start_ns=start_ns,
        end_ns=end_ns,
        processor_ns=nodes.processor_ns,
    )


def _run(nodes: "_Nodes", run: JobRun) -> tuple[int, int]:
    """Run the job on its nodes; when it began and ended."""
    wait_for_tick()
    nodes.tell("job", "loaded", job=run.job)
    wait_for_tick()
    nodes.tell("listen", "listening")
    wait_for_tick()
    nodes.tell("connect", "connected")
    nodes.coordinate(run.coordination)
    start_ns = time.time_ns() + LEAD_NS
    for node in nodes.processes:
        node.command("start", start_ns=start_ns)
    servers = {node for node in nodes.processes if node.plan.name == _SERVER}
    nodes.wait_for(servers, "over", run.quiet_s)
    end_ns = time.time_ns()
    nodes.tell("stop", "stopped")
    return start_ns, end_ns


@dataclass(slots=True, kw_only=True)
class _Nodes:
    """Running nodes of a job."""

    keep: Keep
    coordination: JobCoordination | None = None
    processes: list[EndpointProcess] = field(default_factory=list)
    processor_ns: dict[str, int] = field(default_factory=dict)

    def coordinate(self, coordination: JobCoordination | None) -> None:
        """Have workers begin their steps as a coordinator says, from the first one on."""
        self.coordination = coordination
        if coordination is not None:
            self._let_begin(coordination.begin())

    def _let_begin(self, begins: Sequence[Begun]) -> None:
        workers = [node for node in self.processes if node.plan.name == _WORKER]
        for worker, step, batch, factor in begins:
            node = workers[worker]
            self.keep(node.plan.host, [(BATCH, worker, step, -1, batch)])
            node.command("begin", step=step, factor=factor)

    def tell(self, command: str, event: str, **fields: object) -> None:
        """Send all nodes a command, and wait for the event that answers it."""
        for node in self.processes:
            node.command(command, **fields)
        self.wait_for(set(self.processes), event, _ANSWER_S)

    def wait_for(self, telling: Set[EndpointProcess], event: str, quiet_s: float) -> None:
        """Wait until some nodes have told of an event; any node that fails ends it.

        So does the silence of all of them for so long in which nothing goes on either.
        """
        told: set[EndpointProcess] = set()
        going_on = GoingOn((node.pid for node in self.processes), quiet_s)
        with selectors.DefaultSelector() as selector:
            for node in self.processes:
                selector.register(node.stdout, selectors.EVENT_READ, node)
            while missing := telling - told:
                heard = selector.select(quiet_s)
                if not heard and not going_on():
                    late = ", ".join(sorted(str(node) for node in missing))
                    raise EndpointError(f"{late}: not {event} after {quiet_s:g} s without news")
                for key, _ in heard:
                    self._collect(key.data, event, told)
                    if key.data.failure is not None:  # its end would be readable for ever
                        selector.unregister(key.fileobj)

    def _collect(self, node: EndpointProcess, event: str, told: set[EndpointProcess]) -> None:
        """Take in what a node has written; its end is a failure but behind the event."""
        for found in self._kept(node):
            if found["event"] == "ended":
                assert self.coordination is not None
                self._let_begin(self.coordination.over(found["worker"], found["at_ns"]))
            if found["event"] == event:
                told.add(node)
        if node.failure is not None and node not in told:
            raise EndpointError(failure_of(self.processes))

    def keep_all(self) -> None:
        """Keep what nodes have written by now; no step begins any more."""
        for node in self.processes:
            for _ in self._kept(node):
                pass

    def _kept(self, node: EndpointProcess) -> Iterator[Json]:
        """Events that a node has written; rows in them are kept."""
        node.collect()
        while node.events:
            found = node.events.popleft()
            if "rows" in found:
                self.keep(node.plan.host, [tuple(row) for row in found["rows"]])
            if "processor_ns" in found:
                self.processor_ns[node.plan.host] = found["processor_ns"]
            yield found


@contextmanager
def _running(live: LiveNetwork, run: JobRun, keep: Keep) -> Iterator[_Nodes]:
    nodes = _Nodes(keep=keep)
    try:
        for plan in _plans(live, run):
            nodes.processes.append(EndpointProcess(live.popen, plan))
        yield nodes
    except BaseException as failure:
        with deciding(failure):
            nodes.keep_all()
        raise
    finally:
        for node in nodes.processes:
            node.kill()


def _plans(live: LiveNetwork, run: JobRun) -> list[EndPlan]:
    """All nodes, servers first."""
    workers = [host.name for host in live.spec.workers][: run.workers]
    servers = [host.name for host in live.spec.servers]
    return [
        *(_plan(live, run, _SERVER, n, host, workers) for n, host in enumerate(servers)),
        *(_plan(live, run, _WORKER, n, host, servers) for n, host in enumerate(workers)),
    ]


def _plan(
    live: LiveNetwork, run: JobRun, role: str, number: int, host: str, peers: Sequence[str]
) -> EndPlan:
    """A node with its connections to all peers; gradients are asked for, or pushed."""
    ends: dict[str, list[Json]] = {}
    calls = _WORKER if run.pushed else _SERVER
    for offset, (kind, calling, sending) in enumerate(
        (("pulls", _WORKER, _SERVER), ("gradients", calls, _WORKER))
    ):
        client = role == calling
        ends[kind] = [
            {
                "peer": peer,
                "client": client,
                "sends": role == sending,
                "address": live.address(other if client else host),
                "port": _port(live, role, number, peer) + offset,
                "settings": _settings(run.transport, sends=role == sending),
                "tcp": {**tcp_of(run.transport, run.tcp), **run.timing.tcp()},
            }
            for peer, other in enumerate(peers)
        ]
    kind = run.transport.sender
    variables: dict[str, str] = {}
    for sends in (True, False):
        variables |= load(kind).environment(run.transport, sends=sends)
    coordinated = run.coordination is not None
    config = {"role": role, "number": number, "workers": run.workers, **ends}
    config["coordinated"] = coordinated
    return EndPlan(
        name=role,
        host=host,
        argv=(sys.executable, str(_SCRIPTS / f"{kind}_node.py"), json.dumps(config)),
        environment=end_environment() | variables,
        capabilities=load(kind).CAPABILITIES,
    )


def _port(live: LiveNetwork, role: str, number: int, peer: int) -> int:
    """First of the two ports of a worker and a server."""
    worker, server = (peer, number) if role == _SERVER else (number, peer)
    return _FIRST_PORT + 2 * (worker * len(live.spec.servers) + server)


def _settings(spec: TransportSpec, *, sends: bool) -> Json:
    return load(spec.sender if sends else spec.receiver).settings(spec, sends=sends)
