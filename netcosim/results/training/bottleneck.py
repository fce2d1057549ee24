"""Bottleneck of training with a number of workers, as a name and as a clause."""

from dataclasses import dataclass
from typing import Final

from netcosim.results.training.summary import LinkUse, Point

FULL: Final = 0.95
"""Utilisation from which on a link is called full."""

BUSY: Final = 0.9
"""Share of computing from which on the workers are the bottleneck."""

MUCH: Final = 0.25
"""Share of a worker's time from which on the network or waiting is the bottleneck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """A bottleneck: its name, its share, and a clause on it.

    Attributes
    ----------
    name : in few characters: ``server 0 down``, ``all servers up``, ``workers``; ``network`` where
        workers only send or receive and yet no link is full, ``waiting`` for other workers;
        ``none`` where nothing holds up
    share : the utilisation of what is named, or the share of a worker's time that it takes; for
        ``none`` the utilisation of the fullest link
    text : the same as a clause for a person
    """

    name: str
    share: float
    text: str


def bottleneck(point: Point) -> Bottleneck:
    """Find the bottleneck: a `FULL` link, `BUSY` workers, what takes `MUCH` of the time, none."""
    links = point.link_utilisation
    most = max(links, key=lambda link: link.utilisation, default=None)
    used = 0.0 if most is None else most.utilisation
    if most is not None and used >= FULL:
        return _link(most, links)
    if point.worker_utilisation >= BUSY:
        share = point.worker_utilisation
        text = f"the workers compute nearly all the time ({_percent(share)})"
        return Bottleneck(name="workers", share=share, text=text)
    return _held_up(point, used)


def _held_up(point: Point, used: float) -> Bottleneck:
    """The network or the other workers, if a worker spends much of its time on them."""
    time = point.time
    network = time.receiving + time.sending + time.receiving_sending
    if max(network, time.waiting) < MUCH:
        busy = _percent(point.worker_utilisation)
        text = (
            f"nothing is used up: workers compute for {busy} of the time, the fullest link of a"
            f" server is used to {_percent(used)}"
        )
        return Bottleneck(name="none", share=used, text=text)
    if time.waiting > network:
        text = f"workers wait for one another ({_percent(time.waiting)} of their time)"
        return Bottleneck(name="waiting", share=time.waiting, text=text)
    text = (
        f"workers only send or receive for {_percent(network)} of their time, though even the"
        f" fullest link of a server is used to no more than {_percent(used)}"
    )
    return Bottleneck(name="network", share=network, text=text)


def _link(most: LinkUse, links: tuple[LinkUse, ...]) -> Bottleneck:
    share = most.utilisation
    ways = [link for link in links if link.direction == most.direction]
    if len(ways) > 1 and all(link.utilisation >= FULL for link in ways):
        text = f"the {most.direction}links of all servers are full ({_percent(share)})"
        return Bottleneck(name=f"all servers {most.direction}", share=share, text=text)
    text = f"the {most.direction}link of server {most.server} is full ({_percent(share)})"
    return Bottleneck(name=f"server {most.server} {most.direction}", share=share, text=text)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
