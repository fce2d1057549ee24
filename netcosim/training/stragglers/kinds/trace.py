"""Straggler from a trace file: a machine's speed over time, and its use.

The file is a table of columns, as JSON or as CSV; docs/reference/scenario.md has its format.
"""

from pathlib import Path

from netcosim.scenario.fields import FilePath, Record
from netcosim.training.stragglers.effect import Bound, Effect
from netcosim.training.stragglers.trace_file import read_trace

CHANGING = True


class Options(Record):
    """Path of the trace file, in a scenario file relative to that."""

    file: FilePath


def bind(options: Options) -> Bound:
    """Read the trace, the same for each worker; after the last row the speed stays."""
    speeds, use = read_trace(Path(options.file))
    effect = Effect(speeds=speeds, use=use)
    return lambda run: effect
