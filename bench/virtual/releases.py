"""Releases of gRPC in virtual time: whether their bursts come to an end, and two runs are equal."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.common.record import Figure, at_least
from bench.virtual.running import Json, Ran, run
from emu.endpoints import releases
from netcosim.results.folder import ResultsFolder
from netcosim.trace import StreamRow

ROLES: Final = ("sender", "receiver", "both")
TOTAL: Final = "2MB"
RUNS: Final = 2
REPETITIONS: Final = 3


def release_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Bursts that end, of every release that is set up, by role; whether two runs are equal."""
    every = [releases.newest(), *_set_up()]
    good = 0
    for release in every[:1] if quick else every:
        runs = [run(_scenario(release), f"release-{release}-{number}") for number in range(RUNS)]
        found = [_row(release, role, runs) for role in ROLES]
        rows += found
        good += sum(row["bursts"] == RUNS * REPETITIONS and row["equal"] for row in found)
        yield _figure(release, found, runs)
    wanted = len(ROLES) * (1 if quick else len(every))
    yield at_least(
        "releases: cells all of whose bursts end, the same in two runs", good, "", wanted
    )


def _set_up() -> list[str]:
    """Releases that have an environment here, from the oldest on."""
    found = (path.name for path in releases.folder().glob("[0-9]*") if path.is_dir())
    return sorted((each for each in found if releases.not_ready(each) is None), key=_number)


def _number(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def _trace(ran: Ran) -> list[StreamRow]:
    path = ran.folder / "trace.parquet"
    return list(ResultsFolder.open(ran.folder).read_trace()) if path.exists() else []


@dataclass(frozen=True, slots=True)
class Role:
    """Bursts of all runs of a role, whether runs are equal, the length of one run's bursts."""

    bursts: int
    equal: bool
    length_ns: int


def of_role(role: str, traces: Sequence[Sequence[StreamRow]]) -> Role:
    """Sum up what several runs measured of a role."""
    mine = [[row for row in trace if row.cell == _cell(role)] for trace in traces]
    ends: dict[tuple[int, int], int] = {}
    for number, trace in enumerate(mine):
        for row in trace:
            ends[number, row.burst] = max(ends.get((number, row.burst), 0), row.wire_end_ns)
    return Role(
        bursts=len(ends),
        equal=all(trace == mine[0] for trace in mine),
        length_ns=sum(ends.values()) // len(mine),
    )


def _row(release: str, role: str, runs: Sequence[Ran]) -> Json:
    found = of_role(role, [_trace(ran) for ran in runs])
    return {
        **{"part": "releases", "release": release, "python": _python(release), "role": role},
        **{"bursts": found.bursts, "equal": found.equal, "virtual_s": found.length_ns / 1e9},
        **{"wall_s": max(_seconds(ran, role) for ran in runs)},
    }


def _figure(release: str, found: Sequence[Json], runs: Sequence[Ran]) -> Figure:
    equal = ", ".join(row["role"] for row in found if not row["equal"])
    said = "; ".join(dict.fromkeys(ran.said for ran in runs if ran.code != 0))
    note = (
        f"of {RUNS * REPETITIONS * len(ROLES)}, Python {found[0]['python']}; "
        + (f"two runs differ: {equal}" if equal else "two runs equal")
        + f"; at most {max(row['wall_s'] for row in found):.1f} s a guest for "
        f"{max(row['virtual_s'] for row in found):.2f} s of bursts" + (f"; {said}" if said else "")
    )
    bursts = sum(row["bursts"] for row in found)
    return Figure(name=f"releases, {release}: bursts that end", value=bursts, unit="", note=note)


def _python(release: str) -> str:
    """Version of the Python that has the release."""
    stamp = releases.folder() / release / releases.STAMP
    if not stamp.exists():
        return "of the project"
    return str(json.loads(stamp.read_text(encoding="utf-8"))["python"])


def _seconds(ran: Ran, role: str) -> float:
    """The machine's seconds of a cell's guest; not a number where it was not run."""
    record = ResultsFolder.open(ran.folder).read_run()
    clock = {} if record is None or record.clock is None else record.clock
    return float(clock.get("guests_s", {}).get(_cell(role), "nan"))


def _cell(role: str) -> str:
    return f"mixed8/{role}"


def _scenario(release: str) -> Json:
    ends = {"sender": "grpc", "receiver": "grpc"}
    named = {
        "sender": {"sender_release": release},
        "receiver": {"receiver_release": release},
        "both": {"sender_release": release, "receiver_release": release},
    }
    return {
        "repetitions": REPETITIONS,
        "cluster": {"topology": "pair", "link": {"rate": "100mbit"}},
        "workload": [
            {"name": "mixed8", "set": "mixed8", "total": TOTAL, "scale_window": True},
        ],
        "transport": [{"name": role, **ends, **named[role]} for role in ROLES],
    }
