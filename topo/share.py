"""Max-min fair rates of flows that share links."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from netcosim.errors import NetworkError
from topo.paths import path_between
from topo.spec import NetLink, NetSpec

LinkDirection = tuple[str, bool]
"""One direction of a link: its name, and whether from its end `a` to its end `b`."""

Offers = dict[tuple[int, LinkDirection], float]
"""Rate that one direction of a link offers a flow, in bits per second."""

_CLOSE = 1e-9


def max_min_bps(flows: Mapping[str, Sequence[NetLink]]) -> dict[str, int]:
    """Return each flow's max-min fair rate over the links of its path, in bits per second.

    Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates grow
    alike until a link is full; the flows through it stay, the rest grow on.
    """
    rates: dict[str, Fraction] = {}
    left = {link.name: Fraction(link.link.rate) for path in flows.values() for link in path}
    while len(rates) < len(flows):
        growing = {name: path for name, path in flows.items() if name not in rates}
        crossing = {
            name: [flow for flow, path in growing.items() if any(k.name == name for k in path)]
            for name in left
        }
        level, tightest = min(
            (left[name] / len(through), name) for name, through in crossing.items() if through
        )
        for flow in crossing[tightest]:
            rates[flow] = level
            for link in flows[flow]:
                left[link.name] -= level
    return {name: int(rate) for name, rate in rates.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """Capacity of one direction of a link, in bits per second.

    `one_way_bps` while the other direction rests, `two_way_bps` while it carries data, whose
    acknowledgements come this way. `by_worker`: each worker has a class of its own, and a
    worker's flows share what its class gets; else each flow counts for itself.
    """

    one_way_bps: float
    two_way_bps: float
    by_worker: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One flow: the worker whose class it is in, and the directions of links that it crosses."""

    worker: str
    ways: tuple[LinkDirection, ...]


def route_between(net: NetSpec, source: str, destination: str, worker: str) -> Route:
    """The route of data from one host to another, one of which is the worker."""
    ways: list[LinkDirection] = []
    node = source
    for link in path_between(net, source, destination):
        ways.append((link.name, node == link.a))
        node = link.other(node)
    return Route(worker=worker, ways=tuple(ways))


class SharedLinks:
    """Model of links that flows share: maps the busy flows to the rate of each.

    Every direction of a link deals its capacity out by max-min fairness, first to workers where
    each has a class, then to flows: none gets less than another but for what it can't use
    because of some other link. That is what HTB's classes do with equal rates and full
    borrowing. Flows in one queue get what TCP makes of it; equal shares are the model.

    Parameters
    ----------
    capacities
        Of every direction that a route crosses.
    routes
        The flows, by position.
    """

    def __init__(
        self, capacities: Mapping[LinkDirection, Capacity], routes: Sequence[Route]
    ) -> None:
        self._capacities = capacities
        self._routes = routes

    def __call__(self, busy: frozenset[int]) -> dict[int, float]:
        """The rate of each busy flow in bits per second, while these and no others are busy.

        Raises
        ------
        NetworkError
            The max-min rates do not converge.
        """
        crossing: dict[LinkDirection, list[int]] = {}
        for flow in sorted(busy):
            for way in self._routes[flow].ways:
                crossing.setdefault(way, []).append(flow)
        carried = {way: self._carried(way, crossing) for way in crossing}
        offers: Offers = {}
        for number in range(_MOST_ROUNDS):
            fresh = {
                (flow, way): offer
                for way, flows in crossing.items()
                for flow, offer in self._offers(way, carried[way], flows, offers)
            }
            if _are_close(fresh, offers):
                return {
                    flow: min(fresh[flow, way] for way in self._routes[flow].ways)
                    for flow in sorted(busy)
                }
            offers = fresh if number < _WHOLE_ROUNDS else _halfway(offers, fresh)
        raise NetworkError(f"the max-min rates of {len(busy)} flows did not converge")

    def _carried(self, way: LinkDirection, crossing: Iterable[LinkDirection]) -> float:
        capacity = self._capacities[way]
        name, forward = way
        return capacity.two_way_bps if (name, not forward) in crossing else capacity.one_way_bps

    def _offers(
        self,
        way: LinkDirection,
        carried_bps: float,
        flows: Sequence[int],
        offers: Offers,
    ) -> list[tuple[int, float]]:
        """Rate that this direction offers each flow, given what the others can use elsewhere."""
        wanted = {flow: self._wanted(flow, way, offers) for flow in flows}
        classes: dict[str, list[int]] = {}
        for flow in flows:
            fair = self._capacities[way].by_worker
            classes.setdefault(self._routes[flow].worker if fair else str(flow), []).append(flow)
        level = _level(carried_bps, [sum(wanted[f] for f in each) for each in classes.values()])
        return [
            (flow, within)
            for each in classes.values()
            for within in [_level(level, [wanted[f] for f in each])]
            for flow in each
        ]

    def _wanted(self, flow: int, way: LinkDirection, offers: Offers) -> float:
        elsewhere = (offers.get((flow, w), _ANY) for w in self._routes[flow].ways if w != way)
        return min(elsewhere, default=_ANY)


_ANY = float("inf")
_MOST_ROUNDS = 1000
_WHOLE_ROUNDS = 4
"""Rounds whose offers are taken as they are. Where several ways to share fill all links, such
rounds go back and forth between two of them; half a step each ends at one in between."""


def _are_close(fresh: Offers, offers: Offers) -> bool:
    return fresh.keys() == offers.keys() and all(
        abs(fresh[key] - offers[key]) <= _CLOSE * fresh[key] for key in fresh
    )


def _halfway(offers: Offers, fresh: Offers) -> Offers:
    return {key: (offers[key] + offer) / 2 for key, offer in fresh.items()}


def _level(capacity: float, wanted: Sequence[float]) -> float:
    """The level at which each gets what it wants up to the level, and all the capacity is used.

    Where all get what they want, the level is what the one that wants most could have.
    """
    left = capacity
    for count, each in zip(range(len(wanted), 0, -1), sorted(wanted), strict=True):
        if each * count > left:
            return left / count
        left -= each
    return left + max(wanted)
