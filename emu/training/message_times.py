"""Time that our endpoints take for a message on this machine: a job of nothing but small messages.

By the machine's clock, nodes make, take and answer their calls one after the other, which takes
longer than a small message's way. One worker gets very many very small parameters, and returns as
many gradients.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from emu.network.live import LiveNetwork
from emu.remote.training.roles import DELIVERED, REQUESTED, Row
from emu.training.nodes import JobRun, run_job
from h2model.framing import SOME_PATH, call_bytes, wire_bytes
from netcosim.results.training.job_summary import MessageTimes
from netcosim.scenario import TransportSpec
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import dump_job
from netcosim.training.plan import DOWN, UP, WORKER, Channel, Draws, Floats, Processor, StepPlan
from topo.paths import path_between, round_trip_ns
from topo.spec import NetSpec

MESSAGES: Final = 150
"""In a step, from and to each server."""

STEPS: Final = 12
WARMUP: Final = 2
_PAUSE_NS: Final = 100e6
_CONNECTION: Final = "messages"
_BEYOND_LINKS: Final = 1.5
_TIMES_AGAIN: Final = 2
_ALIKE: Final = 0.15
"""Spread up to which steps are alike; on a quiet machine it is below."""


def measure_message_times(live: LiveNetwork, run: JobRun) -> MessageTimes:
    """Measure with a run's transport, before the run, over its network.

    Up to three times, until steps are alike: other work of the machine shows in single ones. What
    is told is of the time in which they were most alike.

    Raises
    ------
    EndpointError
        A node failed or died.
    """
    job = dump_job(calibration_job(len(live.spec.servers))).decode()
    first = replace(run.first, steps=0)
    small = replace(run, job=job, workers=1, coordination=None, pushed=False, first=first)
    found = _measured(live, small)
    for _ in range(_TIMES_AGAIN):
        if found.spread > _ALIKE:
            found = min(found, _measured(live, small), key=lambda times: times.spread)
    return found


def _measured(live: LiveNetwork, small: JobRun) -> MessageTimes:
    rows: list[Row] = []
    run_job(live, small, lambda _, told: rows.extend(told))
    return times_of(rows, len(live.spec.servers), *_of_links(live.spec, small.transport))


def _of_links(net: NetSpec, transport: TransportSpec) -> tuple[int, float]:
    """Longest round trip between the worker and a server; what the slowest link takes a message."""
    worker = net.workers[0].name
    paths = [path_between(net, server.name, worker) for server in net.servers]
    size_bytes = max(
        call_bytes(transport, SOME_PATH), wire_bytes(transport, 1, path=SOME_PATH, pushed=False)
    )
    rate_bps = min(link.link.rate for path in paths for link in path)
    return max(map(round_trip_ns, paths)), size_bytes * 8e9 / rate_bps


def times_of(rows: Sequence[Row], servers: int, round_trip_ns: int, link_ns: float) -> MessageTimes:
    """Medians over steps, of what nodes logged.

    Parameters come one after the other when their servers have asked for the gradients: a line
    through the last of them and the one behind the first quarter says how long either took.

    Parameters
    ----------
    link_ns : what the slowest link takes for a message; where it may be what all waited for, nodes
        are not known to take anything
    """
    many = servers * MESSAGES
    begun_ns = np.zeros(STEPS + 1)
    pulled_ns, pushed_ns = np.zeros((STEPS, many)), np.zeros((STEPS, many))
    for kind, _, step, op, at_ns in rows:
        if kind == REQUESTED:
            begun_ns[step] = at_ns
        elif kind == DELIVERED and op < many:
            pulled_ns[step, op] = at_ns
        elif kind == DELIVERED and op < 2 * many:
            pushed_ns[step, op - many] = at_ns
    begun_ns, pulled_ns = begun_ns[WARMUP:STEPS], np.sort(pulled_ns)[WARMUP:]
    quarter = many // 4
    all_ns = pulled_ns[:, -1] - begun_ns - round_trip_ns
    each_ns = (pulled_ns[:, -1] - pulled_ns[:, quarter]) / (many - 1 - quarter) * servers
    returned_ns = pushed_ns.max(axis=1)[WARMUP:] - pulled_ns[:, -1] - round_trip_ns / 2
    return MessageTimes(
        asking_ns=_beyond(all_ns / MESSAGES - each_ns, servers * link_ns),
        parameter_ns=_beyond(each_ns, servers * link_ns),
        gradient_ns=_beyond(returned_ns / many, link_ns),
        spread=round(min(1.0, float(all_ns.std(ddof=1)) / max(float(all_ns.mean()), 1.0)), 4),
    )


def _beyond(values: Floats, link_ns: float) -> int:
    """Time of a message in the middle; none where the link may have been what all waited for."""
    found = _middle(values)
    return found if found > _BEYOND_LINKS * link_ns else 0


def _middle(values: Floats) -> int:
    return round(float(np.median(values)))


def calibration_job(servers: int) -> TrainingJob:
    """Job of one worker; the last gradients wait until all others have arrived."""
    many, channels = servers * MESSAGES, 2 * servers
    server, last = np.arange(many) // MESSAGES, np.arange(servers)
    first, pause = 2 * many, 2 * many + 1
    place = np.concatenate([server, servers + server, [channels, channels], servers + last])
    operations = len(place)
    return TrainingJob(
        plan=StepPlan(
            servers=servers,
            names=tuple(f"operation {n}" for n in range(operations)),
            channels=tuple(
                Channel(server=number, direction=direction, connection=_CONNECTION)
                for direction in (DOWN, UP)
                for number in range(servers)
            ),
            processors=(Processor(node=WORKER, server=0, resource="worker", capacity=1),),
            place=place,
            size_bytes=(place < channels).astype(np.int64),
            priority=np.zeros(operations, dtype=np.int64),
            duration_ns=(np.arange(operations) == pause)[np.newaxis] * _PAUSE_NS,
            waits=np.repeat([0, 1, many, 1, 1], [many, many, 1, 1, servers]),
            after=np.concatenate(
                [np.full(many, first), many + np.arange(many), [pause], pause + 1 + last]
            ),
            after_start=np.cumsum(
                [0, *np.repeat([1, 0, many + 1, servers, 0], [many, many, 1, 1, servers])]
            ),
            sources=np.arange(many)[np.newaxis],
            members=tuple((n,) for n in range(operations)),
        ),
        draws=Draws(step=np.zeros((1, STEPS), dtype=np.int32), factor=np.ones((1, 1))),
        staleness=None,
        join=None,
        speeds=(None,),
    )
