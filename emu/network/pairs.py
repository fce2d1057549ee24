"""Plan of a measurement: the pairs of hosts that cover all links, in rounds side by side.

Each server is measured with a worker. Workers that are left are measured with each other, where two
have links alike: that crosses their own links and no server's, so that many pairs can be measured
side by side. The others are measured with a server, one after the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from topo.paths import bottleneck_bps, path_between
from topo.spec import NetLink, NetSpec

ROUND_BPS: Final = 500_000_000
"""Rates of the pairs of one round, summed: what two processors fill both ways at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredPath:
    """Path that a pair's measurement stands for, from `server` to `worker` and back.

    `reversed` is set if the pair's up direction is down on that path.
    """

    server: str
    worker: str
    links: tuple[str, ...]
    reversed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two hosts between which data is sent: `near` serves, `far` asks."""

    near: str
    far: str
    path: tuple[NetLink, ...]
    stands_for: tuple[MeasuredPath, ...]

    @property
    def rate_bps(self) -> int:
        """The rate of the slowest link between them."""
        return bottleneck_bps(self.path)


def plan_pairs(spec: NetSpec) -> list[Pair]:
    """Choose pairs of hosts that together cover every link and every worker."""
    servers, workers = [s.name for s in spec.servers], [w.name for w in spec.workers]
    count = max(len(servers), len(workers))
    wanted = [(servers[i % len(servers)], workers[i % len(workers)]) for i in range(count)]
    pairs = [_with_server(spec, *each) for each in wanted[: len(servers)]]
    left = {worker: server for server, worker in wanted[len(servers) :]}
    while left:
        worker, server = next(iter(left.items()))
        del left[worker]
        other = next((w for w in left if _alike(spec, worker, w)), None)
        if other is None:
            pairs.append(_with_server(spec, server, worker))
        else:
            del left[other]
            pairs.append(_with_each_other(spec, worker, other))
    return pairs


def plan_rounds(pairs: Sequence[Pair], most_bps: int = ROUND_BPS) -> list[list[Pair]]:
    """Put each pair into the first round that shares no link with it and has room for its rate."""
    rounds: list[list[Pair]] = []
    for pair in pairs:
        fitting = (each for each in rounds if _fits(pair, each, most_bps))
        chosen = next(fitting, None)
        if chosen is None:
            rounds.append([pair])
        else:
            chosen.append(pair)
    return rounds


def _fits(pair: Pair, others: Iterable[Pair], most_bps: int) -> bool:
    links = {link.name for link in pair.path}
    total_bps = pair.rate_bps
    for other in others:
        total_bps += other.rate_bps
        if not links.isdisjoint(link.name for link in other.path):
            return False
    return total_bps <= most_bps


def _with_server(spec: NetSpec, server: str, worker: str) -> Pair:
    path = path_between(spec, server, worker)
    links = tuple(link.name for link in path)
    stretch = MeasuredPath(server=server, worker=worker, links=links)
    return Pair(near=server, far=worker, path=path, stands_for=(stretch,))


def _with_each_other(spec: NetSpec, near: str, far: str) -> Pair:
    """Pair two workers: the link of each is recorded as that of a worker towards a server."""
    path = path_between(spec, near, far)
    stands_for = (
        MeasuredPath(server=far, worker=near, links=(path[0].name,), reversed=True),
        MeasuredPath(server=near, worker=far, links=(path[-1].name,)),
    )
    return Pair(near=near, far=far, path=path, stands_for=stands_for)


def _alike(spec: NetSpec, one: str, other: str) -> bool:
    """True if two workers have equal links, and none but these two between them."""
    path = path_between(spec, one, other)
    return len(path) == 2 and path[0].link == path[1].link
