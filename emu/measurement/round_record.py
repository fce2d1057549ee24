"""A finished round as plain values, for another process to judge; captures are files beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from emu.endpoints import BurstLog
from emu.measurement.round import BurstFacts, Round
from emu.plan import PlannedConnection
from netcosim import errors
from netcosim.failure import add_later, later_lines

Json = dict[str, Any]

_LOGS = TypeAdapter(list[dict[int, BurstLog]])
_FACTS = TypeAdapter(dict[int, BurstFacts])
_LOST = TypeAdapter(dict[int, int])
_INTERRUPTED = "interrupted"


def dump_round(done: Round) -> Json:
    """Plain values of a round, ready for JSON; of captures the hosts alone."""
    return {
        "logs": _LOGS.dump_python(done.logs, mode="json"),
        "opened": [{name: dict(end) for name, end in each.items()} for each in done.opened],
        "facts": _FACTS.dump_python(done.facts, mode="json"),
        "lost": _LOST.dump_python(done.lost, mode="json"),
        "captures": sorted(done.captures),
        "failure": None if done.failure is None else dump_failure(done.failure),
    }


def load_round(
    values: Json, planned: Sequence[PlannedConnection], captures: Mapping[str, Path]
) -> Round:
    """The round of plain values; `captures` are the files by host."""
    failure = values["failure"]
    return Round(
        planned=planned,
        logs=_LOGS.validate_python(values["logs"]),
        opened=values["opened"],
        facts=_FACTS.validate_python(values["facts"]),
        captures={host: captures[host] for host in values["captures"]},
        lost=_LOST.validate_python(values["lost"]),
        failure=None if failure is None else load_failure(failure),
    )


def dump_failure(failure: BaseException) -> Json:
    """Plain values of an expected failure or of an interruption; anything else is raised."""
    if isinstance(failure, KeyboardInterrupt):
        return {"kind": _INTERRUPTED, "message": ""}
    if isinstance(failure, errors.NetcosimError):
        known = (kind.__name__ for kind in type(failure).__mro__)
        kind = next(name for name in known if hasattr(errors, name))
        return {"kind": kind, "message": str(failure), "later": later_lines(failure)}
    raise failure


def load_failure(values: Json) -> BaseException:
    """The failure of plain values."""
    if values["kind"] == _INTERRUPTED:
        return KeyboardInterrupt()
    kind: type[errors.NetcosimError] = getattr(errors, values["kind"])
    failure = kind(values["message"])
    for line in values["later"]:
        add_later(failure, line)
    return failure
