"""Files that the points of a sweep may name: read where the sweep is started, sent along."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netcosim.errors import ScenarioError
from netcosim.formatting import printable
from netcosim.user_files import PROFILE, SPEED_TRACE, FileContent, FileKind, read_content
from ray_sweeps.sweep_file import Sweep


def files_of(sweep: Sweep) -> dict[str, FileContent]:
    """Contents of all profiles and speed traces that points of a sweep name, by path.

    Raises
    ------
    ScenarioError
        One can't be read.
    """
    found: dict[str, FileContent] = {}
    for path, kind in dict.fromkeys(_named(sweep)):
        try:
            found[path] = read_content(Path(path), kind)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise ScenarioError(
                printable(f"{sweep.file}: {path}: can't be read: {reason}")
            ) from None
    return found


def _named(sweep: Sweep) -> Iterator[tuple[str, FileKind]]:
    yield from _in(sweep.base.model_dump(mode="json", exclude_none=True))
    yield from _in([ensemble.model_dump(mode="json") for ensemble in sweep.ensembles.values()])
    for group in sweep.groups:
        for factor in group.factors:
            last = factor.path.rpartition(".")[2]
            yield from _in([{last: value} for value in factor.values or ()])


def _in(data: Any) -> Iterator[tuple[str, FileKind]]:
    """Files that the tables of a scenario name: profiles, and speed traces of stragglers."""
    if isinstance(data, list):
        for each in data:
            yield from _in(each)
    elif isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, dict | list):
                yield from _in(value)
            elif isinstance(value, str) and key == "profile" and any(c in value for c in "./"):
                yield value, PROFILE
            elif isinstance(value, str) and key == "file":
                yield value, SPEED_TRACE
