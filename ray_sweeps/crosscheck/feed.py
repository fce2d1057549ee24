"""Scenario to simulate of measured bursts, fed from what the run measured besides them.

Each burst becomes a workload of its own with the hand-over times that were logged in it; links
get the goodput that was measured before the run, connections the windows as configured. A burst
that was not the first on its connections is simulated as a later step: as many steps like it come
before it, so that the connections' disciplines are in the state that bursts leave behind.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from h2model import transports
from h2model.parameters import releases
from netcosim.errors import ScenarioError
from netcosim.job import Cell, Message
from netcosim.results.run_record import RunRecord, Validity
from netcosim.scenario import (
    ClusterSpec,
    LinkSpec,
    PolicySpec,
    Scenario,
    TensorSpec,
    TrainingSpec,
    TransportSpec,
    WorkloadSpec,
)
from netcosim.trace import StreamRow
from topo.spec import GOODPUT_SHARE

Place = tuple[str, str, str]
"""Source, destination and tensor: names a stream of a burst."""

MOST_STEPS: Final = 32
"""Most steps that are simulated for a burst: of those that come later it is the last of so many."""

_MOST_SHARE: Final = 10
_MOST_BUFFER: Final = 2**30
_READINGS: Final = ("rate_bps", "down_bps", "up_bps", "both_down_bps", "both_up_bps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Goodput of the links as measured before the run.

    `share` is over what the configured rate allows TCP in full frames; `both_busy` what is left of
    it, as a factor, while the other direction is busy.
    """

    share: float = 1.0
    both_busy: float = 1.0
    measured: bool = False


def measured_rates(links: Sequence[Mapping[str, Any]], exchange: str) -> Rates:
    """Rates in the direction of an exchange, medians over the measured paths.

    Those of the configuration where a record has none, or none that can be read.

    Raises
    ------
    ScenarioError
        They are far from what was configured: the record can't be of this scenario.
    """
    paths = [
        {name: float(link[name]) for name in _READINGS}
        for link in links
        if all(_is_rate(link.get(name)) for name in _READINGS)
    ]
    if not paths:
        return Rates()
    used = {"pull": ("down",), "both": ("down", "up")}.get(exchange, ("up",))
    share = statistics.median(
        statistics.mean(path[f"{way}_bps"] for way in used) / (path["rate_bps"] * GOODPUT_SHARE)
        for path in paths
    )
    if not 1 / _MOST_SHARE <= share <= _MOST_SHARE:
        allowed = f"must be within a factor of {_MOST_SHARE} of what the configured rates allow"
        raise ScenarioError.at("run.json: links: measured goodput", f"{share:.3g} times", allowed)
    if exchange != "both":
        return Rates(share=share, measured=True)
    both_busy = statistics.median(
        (path["both_down_bps"] + path["both_up_bps"]) / (path["down_bps"] + path["up_bps"])
        for path in paths
    )
    return Rates(share=share, both_busy=min(1.0, both_busy), measured=True)


def kernel_buffer(models: Mapping[str, Any], cell: str) -> int | None:
    """Most bytes that a connection of a cell could have in the kernel and beyond, in the record.

    It is what the emulator's own models take for it: measured before the run, or configured. None
    where a record has none, or none that can be read.
    """
    found = [
        model.get("past_bytes")
        for key, model in models.items()
        if key.startswith(f"{cell} connection ") and isinstance(model, Mapping)
    ]
    sizes = [size for size in found if isinstance(size, int) and 0 < size <= _MOST_BUFFER]
    return max(sizes) if sizes and len(sizes) == len(found) else None


def named_transport(cell: Cell, record: RunRecord) -> TransportSpec:
    """The cell's transport with its window as scaled and the gRPC release that was installed.

    Raises
    ------
    ScenarioError
        An end's kind is unknown.
    """
    transport = cell.transport
    changes: dict[str, Any] = {"window": cell.window_bytes}
    installed = record.versions.get("grpcio")
    if installed is not None and installed != releases("grpc")[-1]:
        changes |= dict.fromkeys(transports.releases_not_named(transport), installed)
    return transport.model_copy(update=changes)


def simulated_scenario(
    scenario: Scenario,
    cell: Cell,
    transport: TransportSpec,
    rates: Rates,
    ready_ns: Mapping[int, Mapping[str, int]],
    steps: int,
    buffer_bytes: int | None,
) -> Scenario:
    """The scenario of which each workload is one measured burst of a cell, as its last step.

    Parameters
    ----------
    scenario : of the run
    cell : of the scenario
    transport : as `named_transport` has it
    rates : of the links
    ready_ns : by burst and tensor when it is handed over
    steps : of each worker; all workers begin a step together
    buffer_bytes : of each connection; None: none
    """
    messages = [(server, m) for server, each in enumerate(cell.messages) for m in each]
    return scenario.model_copy(
        update={
            "repetitions": 1,
            "cluster": _at_rates(scenario.cluster, rates.share),
            "policy": PolicySpec(
                placement="given", servers={tensor_name(m): server for server, m in messages}
            ),
            "training": TrainingSpec(
                steps=steps,
                warmup=0,
                trace_steps=steps,
                synchronisation="bsp",
                both_busy=rates.both_busy,
            ).model_copy(update={"socket_buffer": buffer_bytes}),
            "straggler": (),
            "workload": tuple(
                WorkloadSpec(
                    name=workload_name(burst),
                    direction=cell.workload.direction,
                    tensors=tuple(_tensor(m, ready) for _, m in messages),
                )
                for burst, ready in ready_ns.items()
            ),
            "transport": (transport,),
        }
    )


def places_on_connection(measured: Iterable[int], validity: Iterable[Validity]) -> dict[int, int]:
    """Number of earlier bursts on the connections of each; repeated attempts begin anew."""
    attempts = {v.burst: v.attempt for v in validity}
    rounds: dict[int, list[int]] = {}
    for burst in sorted({*measured, *attempts}):
        rounds.setdefault(attempts.get(burst, 0), []).append(burst)
    return {burst: place for each in rounds.values() for place, burst in enumerate(each)}


def hand_overs(rows: Sequence[StreamRow]) -> tuple[dict[str, int], dict[str, int]]:
    """When each tensor is handed over in ns, and how far connections are from that at most.

    Where several connections carry a tensor of one name, it is the middle of their times.
    """
    times: dict[str, list[int]] = {}
    for row in rows:
        times.setdefault(row.tensor, []).append(max(0, row.ready_ns))
    middle = {tensor: (min(each) + max(each)) // 2 for tensor, each in times.items()}
    return middle, {tensor: max(each) - middle[tensor] for tensor, each in times.items()}


def expected_streams(cell: Cell, cluster: ClusterSpec) -> dict[Place, int]:
    """Size in bytes of each stream of a burst, as the scenario has it."""
    return {
        place: m.size_bytes
        for server, each in enumerate(cell.messages)
        for m in each
        for worker in range(cluster.workers)
        for place in _places(cell.workload.direction, f"s{server}", f"w{worker}", m.tensor)
    }


def workload_name(burst: int) -> str:
    """Name of the workload that stands for a burst."""
    return f"burst{burst}"


def tensor_name(message: Message) -> str:
    """A tensor's name in the simulated scenario: any name of a set is not one of a list."""
    return f"m{message.index}"


def _places(exchange: str, server: str, worker: str, tensor: str) -> Iterator[Place]:
    if exchange in ("pull", "both"):
        yield server, worker, tensor
    if exchange != "pull":
        yield worker, server, tensor


def _tensor(message: Message, ready_ns: Mapping[str, int]) -> TensorSpec:
    return TensorSpec.model_construct(  # quantities are numbers here, in a file they are text
        name=tensor_name(message),
        size=message.size_bytes,
        ready=ready_ns[message.tensor],
        priority=message.priority,
    )


def _at_rates(cluster: ClusterSpec, share: float) -> ClusterSpec:
    def scaled(link: LinkSpec) -> LinkSpec:
        return link.model_copy(update={"rate": round(link.rate * share)})

    links = {name: scaled(link) for name, link in cluster.links.items()}
    return cluster.model_copy(update={"link": scaled(cluster.link), "links": links})


def _is_rate(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
