"""Epoch time of a configuration, by the performance model of Yan et al. (KDD 2015, section 4).

Most equations' bodies are lost in the copy that this was written from; `Reading` names the ways to
read them. Layers, stripes, copies and workers are numbered from 0. Times are seconds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final, Literal, get_args, get_type_hints

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from sim.analytic.yan.network import (
    Counts,
    Layer,
    Links,
    Network,
    Numbers,
    links,
    neurons,
    stored,
)

Binding = Literal["compute", "worker_link", "server_link", "server_update"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Ways to read the damaged equations; the first of each is the default.

    Attributes
    ----------
    reads : Eq. 12, reads in an epoch: each replica's own samples count, or all replicas' together
    copies : Eqs. 10, 11: each copy of a layer reads its weights, or one does for all
    stored : Eqs. 10, 11: a stripe reads the whole kernel that it shares, or W(l, p) weights
    worst : Eq. 10: all replicas are at one server after the other, or spread over all servers
    update : Eq. 8 counts W(l, p), none for pooling; W'(l, p), as of the layer above; 2 W(l, p)
    latency : Eq. 6: C_ncost once if anything is remote; always; for each bit
    acts : Eq. 6: A and E count distinct neurons, or each connection
    slowest : a layer takes its slowest segment term by term, or by the sum of its terms
    read_latency : Eqs. 10, 11: without C_ncost, or with it
    """

    reads: Literal["per_replica", "total"] = "per_replica"
    copies: Literal["R", "once"] = "R"
    stored: Literal["kernel", "connections"] = "kernel"
    worst: Literal["same_server", "all_servers"] = "same_server"
    update: Literal["W", "above", "twice"] = "W"
    latency: Literal["if_remote", "always", "per_bit"] = "if_remote"
    acts: Literal["distinct", "connections"] = "distinct"
    slowest: Literal["term", "segment"] = "term"
    read_latency: Literal["no", "yes"] = "no"


OPTIONS: Final = {name: get_args(kind) for name, kind in get_type_hints(Reading).items()}
"""Values of each option of a `Reading`."""


def read_as(options: Sequence[str]) -> Reading:
    """The reading that options such as ``reads=total`` ask for.

    Raises
    ------
    ScenarioError
        An unknown option or value, or two that contradict each other.
    """
    chosen: dict[str, str] = {}
    for option in options:
        name, _, value = option.partition("=")
        if name not in OPTIONS:
            raise ScenarioError.at("reading", option, unknown(name, list(OPTIONS)))
        if value not in OPTIONS[name]:
            raise ScenarioError.at(f"reading: {name}", value, unknown(value, OPTIONS[name]))
        if chosen.setdefault(name, value) != value:
            raise ScenarioError.at("reading", option, f"contradicts {name}={chosen[name]}")
    return Reading(**chosen)  # type: ignore[arg-type]  # the values were looked up


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Constants of the machines, which are all alike.

    Attributes
    ----------
    count : machines that there are, for servers and workers together
    muladd_s, act_s, err_s : C_muladd, C_act and C_err of one thread
    value_bits : C_bits, of a weight, an activation or an error term
    rate_bps : C_nbw
    latency_s : C_ncost by threads, from 1; as many as `interference`
    interference : C_interf by threads, from 1 to the number of cores
    update_s : a server's time for one weight; only for what a server could bear at most
    cache : assumed: by how much C_muladd falls when a layer's stripes are halved; 1: not at all
    """

    count: int
    muladd_s: float
    act_s: float
    err_s: float
    value_bits: int
    rate_bps: float
    latency_s: tuple[float, ...]
    interference: tuple[float, ...]
    update_s: float = 0.0
    cache: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Samples of an epoch, N_read and N_write, and which bound of the reads counts in an epoch."""

    samples: int
    read_every: int
    write_every: int
    read: Literal["best", "worst"] = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A network to be trained on machines, as the equations are read."""

    network: Network
    machine: Machine
    job: Job
    reading: Reading = Reading()
    most_parts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """P(l), H(l), R(l): stripes, threads and copies of a layer."""

    parts: int
    threads: int
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """N_ps, N_mr, N_wr, the split of each layer, and the workers of its cells.

    ``maps[l][r parts + p]`` is the worker of stripe p of copy r.
    """

    servers: int
    replicas: int
    workers: int
    splits: tuple[Split, ...]
    maps: tuple[tuple[int, ...], ...]

    @property
    def resources(self) -> str:
        """Workers of a replica, replicas and servers, as the paper writes them: ``<2, 9, 2>``."""
        return f"<{self.workers}, {self.replicas}, {self.servers}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTerms:
    """A layer's times for one sample, its concurrency, and what its segments have at most."""

    name: str
    forward_s: float
    forward_messages_s: float
    backward_s: float
    backward_messages_s: float
    update_s: float
    total_s: float
    concurrency: int
    activations: float
    errors: float
    connections: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Parts of an epoch, in seconds.

    Attributes
    ----------
    compute_s, update_s, messages_s, reads_s : of the epoch, whose sum is `epoch_s`
    read_bits : that a replica reads at a time
    read_best_s, read_worst_s : one read by Eqs. 11 and 10
    epoch_best_s, epoch_worst_s : the epoch by either
    server_link_s, server_update_s, worker_link_s : an extension, not the paper's: what an epoch
        takes at least, by the servers' links, the servers' updates, and the workers' links
    bounded_s : the epoch, or the largest of these
    binding : what takes most of the epoch, or the bound that it can't meet
    """

    compute_s: float
    update_s: float
    messages_s: float
    reads_s: float
    epoch_s: float
    layers: tuple[LayerTerms, ...]
    read_bits: float
    read_best_s: float
    read_worst_s: float
    epoch_best_s: float
    epoch_worst_s: float
    server_link_s: float
    server_update_s: float
    worker_link_s: float
    bounded_s: float
    binding: Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class Computing:
    """A layer's computing by stripe, of one thread for one sample: (parts,) seconds, Eqs. 5, 7, 8.

    `read_bits` is what one copy reads of its weights.
    """

    forward_s: Numbers
    backward_s: Numbers
    update_s: Numbers
    connections: Numbers
    read_bits: float


@lru_cache(maxsize=20_000)
def computing(problem: Problem, number: int, parts: int) -> Computing:
    """Computing of a layer in so many stripes.

    U_f = C_muladd W + C_act N (Eq. 5), U_b = C_muladd W' + C_err N (Eq. 7),
    U_w = C_muladd W, and 0 for pooling (Eq. 8, as it is read).
    """
    network, machine, reading = problem.network, problem.machine, problem.reading
    layer = network.layers[number]
    own = links(network.below(number), layer, 1, parts).connections.sum(axis=1)
    above = np.zeros(parts)
    if number + 1 < len(network.layers):
        above = links(layer, network.layers[number + 1], parts, 1).connections.sum(axis=0)
    size = neurons(layer, parts)
    muladd_s = machine.muladd_s / machine.cache ** math.log2(parts)
    updated = {"W": own, "above": above, "twice": 2 * own}[reading.update]
    if layer.weights == 0 and reading.update != "above":
        updated = np.zeros(parts)
    weights = float(own.sum()) if reading.stored == "connections" else stored(layer, own)
    return Computing(
        forward_s=muladd_s * own + machine.act_s * size,
        backward_s=muladd_s * above + machine.err_s * size,
        update_s=muladd_s * updated,
        connections=own,
        read_bits=machine.value_bits * weights,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Messages between the cells of a layer and of the one below.

    Sample i is at copy ``i mod R`` of a layer: values are averages over the samples of a cell.

    Attributes
    ----------
    activations : (cells,) A that a cell receives if no cell below is at its worker
    errors : (cells below,) E that a cell below receives if no cell above is at its worker
    activations_spared, errors_spared : (cells, cells below) less if the two share a worker
    connections_spared : (cells, cells below) connections that are not remote then
    """

    activations: Numbers
    errors: Numbers
    activations_spared: Numbers
    errors_spared: Numbers
    connections_spared: Numbers


def cells(problem: Problem, upper: int, below: Split, split: Split) -> Cells:
    """Activations and error terms between a layer and the one below it."""
    network = problem.network
    found = links(network.layers[upper - 1], network.layers[upper], below.parts, split.parts)
    distinct = problem.reading.acts == "distinct"
    return _cells(found, below.copies, split.copies, distinct=distinct)


def _cells(found: Links, copies_below: int, copies: int, *, distinct: bool) -> Cells:
    received = found.activations if distinct else found.connections
    returned = found.errors if distinct else found.connections
    common = math.gcd(copies_below, copies)
    meet = np.subtract.outer(np.arange(copies), np.arange(copies_below)) % common == 0
    up, down = meet * (common / copies_below), meet * (common / copies)
    return Cells(
        activations=np.tile(received.sum(axis=1), copies),
        errors=np.tile(returned.sum(axis=0), copies_below),
        activations_spared=np.kron(up, received),
        errors_spared=np.kron(down, returned),
        connections_spared=np.kron(up, found.connections),
    )


def received(between: Cells, workers: Sequence[int], below: Sequence[int]) -> tuple[Numbers, ...]:
    """A of each cell and E of each cell below, by the workers that they are at."""
    together = np.equal.outer(np.asarray(workers), np.asarray(below))
    return (
        left(between.activations, (between.activations_spared * together).sum(axis=1)),
        left(between.errors, (between.errors_spared * together).sum(axis=0)),
    )


def left(received: Numbers, spared: Numbers) -> Numbers:
    """Remote rest of what is needed; 0 where it is rounding, as shares of copies are fractions."""
    rest = received - spared
    return np.where(rest > 1e-9 * received, rest, 0.0)


def message_s(problem: Problem, amount: Numbers, threads: Counts | int) -> Numbers:
    """M_f, M_b (Eq. 6): C_ncost(H) + amount C_bits H / C_nbw if anything is remote."""
    machine, latency = problem.machine, problem.reading.latency
    wait = np.asarray(machine.latency_s)[np.asarray(threads, dtype=np.int64) - 1]
    bits = amount * machine.value_bits
    if latency == "per_bit":
        return np.asarray(bits * (wait + threads / machine.rate_bps))
    waits = (amount > 0) | (latency == "always")
    return np.asarray(bits * threads / machine.rate_bps + wait * waits)


def read_s(
    problem: Problem, bits: float, servers: int, replicas: int, workers: int
) -> tuple[float, float]:
    """M_w at best (Eq. 11) and at worst (Eq. 10); 0 without servers.

    At best bits / (C_nbw min(N_wr, N_ps)), at worst N_mr bits / C_nbw.
    """
    if servers == 0:
        return 0.0, 0.0
    machine, reading = problem.machine, problem.reading
    wait = machine.latency_s[0] if reading.read_latency == "yes" else 0.0
    spread = servers if reading.worst == "all_servers" else 1
    return (
        bits / (machine.rate_bps * min(workers, servers)) + wait,
        replicas * bits / (machine.rate_bps * spread) + wait,
    )


def reads(problem: Problem, servers: int, replicas: int) -> float:
    """Reads of an epoch that training waits for (Eq. 12, as it is read)."""
    if servers == 0:
        return 0.0
    each = problem.job.samples / problem.job.read_every
    return each if problem.reading.reads == "total" else each / replicas


def terms(problem: Problem, configuration: Configuration) -> Terms:
    """The epoch of a configuration (Eq. 12): N_sample sum_l T(l) / Q(l) + reads M_w.

    Raises
    ------
    ScenarioError
        The configuration is none of this network on these machines: constraints C1 to C3.
    """
    check(problem, configuration)
    shown = _layers(problem, configuration)
    samples = problem.job.samples
    compute_s = samples * math.fsum((t.forward_s + t.backward_s) / t.concurrency for t in shown)
    update_s = samples * math.fsum(t.update_s / t.concurrency for t in shown)
    messages_s = samples * math.fsum(
        (t.forward_messages_s + t.backward_messages_s) / t.concurrency for t in shown
    )
    bits = math.fsum(
        computing(problem, number, split.parts).read_bits
        * (split.copies if problem.reading.copies == "R" else 1)
        for number, split in enumerate(configuration.splits)
    )
    servers, replicas = configuration.servers, configuration.replicas
    best_s, worst_s = read_s(problem, bits, servers, replicas, configuration.workers)
    count = reads(problem, servers, replicas)
    reads_s = count * (best_s if problem.job.read == "best" else worst_s)
    alone_s = math.fsum((compute_s, update_s, messages_s))
    floors = _floors(problem, configuration, bits)
    parts: dict[Binding, float] = {"compute": compute_s + update_s, "worker_link": messages_s}
    link: Binding = "server_link" if servers <= configuration.workers else "worker_link"
    if reads_s > max(parts.values()):
        parts = {link: reads_s}
    largest = max(floors.values())
    over = largest > alone_s + reads_s
    chosen = floors if over else parts
    return Terms(
        compute_s=compute_s,
        update_s=update_s,
        messages_s=messages_s,
        reads_s=reads_s,
        epoch_s=alone_s + reads_s,
        layers=shown,
        read_bits=bits,
        read_best_s=best_s,
        read_worst_s=worst_s,
        epoch_best_s=alone_s + count * best_s,
        epoch_worst_s=alone_s + count * worst_s,
        server_link_s=floors["server_link"],
        server_update_s=floors["server_update"],
        worker_link_s=floors["worker_link"],
        bounded_s=max(largest, alone_s + reads_s),
        binding=max(chosen, key=lambda name: chosen[name]),
    )


def _floors(problem: Problem, shape: Configuration, bits: float) -> dict[Binding, float]:
    """Least time of an epoch by what servers and links can bear: an extension."""
    if shape.servers == 0:
        return {"server_link": 0.0, "server_update": 0.0, "worker_link": 0.0}
    machine, job = problem.machine, problem.job
    writes = job.samples / job.write_every
    most = max(job.samples / job.read_every, writes)
    links_bps = shape.workers * shape.replicas * machine.rate_bps
    weights = bits / machine.value_bits
    return {
        "server_link": most * bits / (shape.servers * machine.rate_bps),
        "server_update": writes * weights * machine.update_s / shape.servers,
        "worker_link": writes * bits / links_bps,
    }


def _layers(problem: Problem, configuration: Configuration) -> tuple[LayerTerms, ...]:
    """Each layer's terms; T(l) is that of its slowest segment, as that is read."""
    splits, maps = configuration.splits, configuration.maps
    last = len(splits) - 1
    activations = [np.zeros(len(cells_of)) for cells_of in maps]
    errors = [np.zeros(len(cells_of)) for cells_of in maps]
    for upper in range(1, last + 1):
        between = cells(problem, upper, splits[upper - 1], splits[upper])
        activations[upper], errors[upper - 1] = received(between, maps[upper], maps[upper - 1])
    found = []
    for number, split in enumerate(splits):
        own = computing(problem, number, split.parts)
        slower = problem.machine.interference[split.threads - 1]
        sent_s = message_s(problem, activations[number], split.threads) * (number > 0)
        returned_s = message_s(problem, errors[number], split.threads) * (number < last)
        computed = (own.forward_s, own.backward_s, own.update_s)
        forward_s, backward_s, update_s = (
            np.tile(each, split.copies) * slower for each in computed
        )
        each = np.stack([forward_s, sent_s, backward_s, returned_s, update_s])
        if problem.reading.slowest == "segment":
            each = each[:, [int(np.argmax(each.sum(axis=0)))]]
        times = [float(value) for value in each.max(axis=1)]
        found.append(
            LayerTerms(
                name=problem.network.layers[number].name,
                forward_s=times[0],
                forward_messages_s=times[1],
                backward_s=times[2],
                backward_messages_s=times[3],
                update_s=times[4],
                total_s=math.fsum(times),
                concurrency=split.threads * split.copies * configuration.replicas,
                activations=float(activations[number].max()),
                errors=float(errors[number].max()),
                connections=float(own.connections.max()),
            )
        )
    return tuple(found)


def check(problem: Problem, shape: Configuration) -> None:
    """Refuse a configuration that these machines can't have; says which field is wrong.

    Raises
    ------
    ScenarioError
        One line: constraint C1, C2 or C3, more stripes than rows, or no server for replicas.
    """
    for name in ("servers", "replicas", "workers"):
        least = int(name != "servers")
        if getattr(shape, name) < least:
            raise ScenarioError.at(name, getattr(shape, name), f"at least {least}")
    if shape.servers == 0 and shape.replicas > 1:
        raise ScenarioError.at("servers", 0, f"at least 1, as {shape.replicas} replicas share them")
    needed = shape.servers + shape.replicas * shape.workers
    if needed > problem.machine.count:
        wanted = f"{shape.servers} + {shape.replicas} x {shape.workers} machines"
        raise ScenarioError.at(
            "configuration", wanted, f"at most {problem.machine.count}, as there are no more"
        )
    layers = problem.network.layers
    if not len(layers) == len(shape.splits) == len(shape.maps):
        raise ScenarioError.at(
            "configuration: layers", len(shape.splits), f"one for each of {len(layers)} layers"
        )
    for layer, split, placed in zip(layers, shape.splits, shape.maps, strict=True):
        _check_layer(problem, layer, split, placed, shape.workers)


def _check_layer(
    problem: Problem, layer: Layer, split: Split, placed: Sequence[int], workers: int
) -> None:
    where = f"layer {layer.name}"
    cores = len(problem.machine.interference)
    most = {"parts": layer.rows, "threads": cores, "copies": workers}
    why = {"parts": "its rows", "threads": "a machine's cores", "copies": "a replica's workers"}
    for field in fields(split):
        value = getattr(split, field.name)
        if not 1 <= value <= most[field.name]:
            allowed = f"1 to {most[field.name]}, {why[field.name]}"
            raise ScenarioError.at(f"{where}: {field.name}", value, allowed)
    needed = split.parts * split.copies
    if needed > workers:
        wanted = f"{split.parts} x {split.copies} segments"
        raise ScenarioError.at(where, wanted, f"at most {workers}, a replica's workers")
    if len(placed) != needed or len(set(placed)) < needed:
        raise ScenarioError.at(f"{where}: map", list(placed), f"{needed} workers, each once")
    if not all(0 <= worker < workers for worker in placed):
        raise ScenarioError.at(f"{where}: map", list(placed), f"workers from 0 to {workers - 1}")
