"""Straggler by a speed process: a machine whose speed changes every second, with its use."""

import importlib
import pkgutil
from functools import cache
from typing import Annotated, Final

import numpy as np
from pydantic import Field

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario.fields import Fraction, Name, Record
from netcosim.training import speed_processes
from netcosim.training.plan import Floats
from netcosim.training.speed_series import Series
from netcosim.training.stragglers.effect import Bound, Effect, Run, Use
from netcosim.training.stragglers.speeds import Speeds

CHANGING = True
MEMORY_BYTES: Final = 64e9
"""Memory of a machine, of which the processes know a part only."""

_ROW_NS: Final = 1e9
_BLOCK: Final = 4096
_MOST_ROWS: Final = 2_000_000


class Options(Record):
    """Name of the process, and by how much longer its seconds are (`slower`)."""

    name: Name
    slower: Annotated[Fraction, Field(ge=1e-3, le=1e6)] = 1.0


def process_names() -> tuple[str, ...]:
    """The names of all processes, sorted."""
    return _names()


def bind(options: Options) -> Bound:
    """Bind a process drawn for each worker up to the run's horizon."""
    if options.name not in _names():
        raise ScenarioError.at("options.name", options.name, unknown(options.name, _names()))
    draw = importlib.import_module(f"{speed_processes.__name__}.{options.name}").draw

    def effect(run: Run) -> Effect:
        row_ns = _ROW_NS * options.slower
        # Whole blocks of one length: a later horizon leaves what was drawn before as it was.
        blocks = int(np.ceil(run.horizon_ns / row_ns / _BLOCK)) or 1
        if blocks * _BLOCK > _MOST_ROWS:
            allowed = f"comes to {run.horizon_ns / row_ns:.0f} rows; must be at most {_MOST_ROWS}"
            raise ScenarioError.at("options.slower", options.slower, allowed)
        drawn: list[Series] = [
            draw(_BLOCK, np.random.default_rng([*run.seed.generate_state(2), block]))
            for block in range(blocks)
        ]
        speed, processor, memory = (
            np.concatenate([getattr(each, name) for each in drawn])
            for name in ("speed", "processor", "memory")
        )
        time_ns: Floats = row_ns * np.arange(len(speed), dtype=np.float64)
        use = Use(
            time_ns=time_ns,
            cpu=processor,
            memory_bytes=memory * MEMORY_BYTES,
            machine_bytes=MEMORY_BYTES,
        )
        return Effect(
            speeds=Speeds(time_ns=time_ns, speed=speed),
            use=use,
            drawn_until_ns=float(row_ns * len(speed)),
        )

    return effect


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(m.name for m in pkgutil.iter_modules(speed_processes.__path__)))
