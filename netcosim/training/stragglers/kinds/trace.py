"""Straggler from a trace file: a machine's speed over time, and its use.

The file is a table of columns, as JSON or as CSV; docs/reference/scenario.md has its format.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from netcosim.errors import ScenarioError
from netcosim.scenario.fields import FilePath, Record, SizeBytes
from netcosim.training.stragglers.effect import Bound, Effect
from netcosim.training.stragglers.trace_file import read_trace
from netcosim.units import format_size

CHANGING = True


class Options(Record):
    """Path of the trace file, in a scenario file relative to that, and the machine's memory."""

    file: FilePath
    memory: Annotated[SizeBytes, Field(ge=1)] | None = None


def bind(options: Options) -> Bound:
    """Read the trace, the same for each worker; after the last row the speed stays."""
    speeds, use = read_trace(Path(options.file))
    if options.memory is not None:
        if use is None or use.memory_bytes is None:
            allowed = "has no effect without the column memory_bytes in the file"
            raise ScenarioError.at("options.memory", format_size(options.memory), allowed)
        most = int(use.memory_bytes.max())
        if options.memory < most:
            allowed = f"must be at least the {most} B that the file has in use"
            raise ScenarioError.at("options.memory", format_size(options.memory), allowed)
        use = replace(use, machine_bytes=float(options.memory))
    effect = Effect(speeds=speeds, use=use)
    return lambda run: effect
