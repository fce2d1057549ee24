"""Discrete-event simulator of training on parameter servers, from the profile of one worker.

import sim
result = sim.simulate("scenario.toml", {"cluster.link.rate": "10gbit"})
result.points  # a pyarrow.Table; also result.to_pandas(), result.to_polars()
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.api import Result, simulate
    from sim.simulation import Nobody

__all__ = ["Nobody", "Result", "simulate"]


def __getattr__(name: str) -> Any:
    """Load the interface when it is first used: other parts of `sim` don't need it."""
    if name in __all__:
        from sim import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
