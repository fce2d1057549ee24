"""Share strategies of links, one file each; the folder is the registry.

A share is a module with

- `CLOCKED`: 1 if every connection of a link gets 1/n of it, so that the engines can keep a virtual
  clock instead of rates;
- `rates(step, net, run, direction)`, which sets `run.rate` where it is not;
- `USES_WORKER_PORTS`: whether it looks at the workers' ports; one that does not is refused where a
  worker's port is slower than a server's;
- `MAY_OVERFILL`: whether several servers together may send a worker more than its port carries.

It may have, too, `MOST_SERVERS`: the number of servers that it is for; without it, any number.
"""

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from netcosim.nearest import unknown
from sim.kernels.arrays import Net, Run, Step


class Share(Protocol):
    """Interface of a share's module."""

    CLOCKED: int
    USES_WORKER_PORTS: bool
    MAY_OVERFILL: bool

    @staticmethod
    def rates(step: Step, net: Net, run: Run, direction: int) -> None: ...


@cache
def share_names() -> tuple[str, ...]:
    """The names of all share strategies, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def load_share(name: str) -> Share:
    """The share strategy of this name.

    Raises
    ------
    ValueError
        There is none; the message lists those that exist.
    """
    if name not in share_names():
        raise ValueError(unknown(name, share_names(), f'unknown share "{name}"'))
    return cast("Share", importlib.import_module(f"{__name__}.{name}"))


def most_servers(name: str) -> int | None:
    """Number of servers that the share is for; None: any."""
    return cast("int | None", getattr(load_share(name), "MOST_SERVERS", None))
