"""The speed of a machine over time, from a file, with what it was used for meanwhile.

The file is a table of columns, as JSON or as CSV; docs/reference/scenario.md has its format.
"""

from pathlib import Path

from netcosim.scenario.fields import FilePath, Record
from sim.stragglers.effect import Bound, Effect
from sim.stragglers.trace_file import read_trace

CHANGING = True


class Options(Record):
    """In a scenario file the path counts from there."""

    file: FilePath


def bind(options: Options) -> Bound:
    """The same for each worker; behind the last row its speed stays."""
    speeds, use = read_trace(Path(options.file))
    effect = Effect(speeds=speeds, use=use)
    return lambda run: effect
