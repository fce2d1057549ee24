"""The virtual clock: the links and every cell are measured in a guest of their own.

A guest is a kernel whose time passes only while all its processes wait (`emu.guest`): neither the
machine's speed nor its load shows in what is measured. Each cell has its own guest, so that what is
measured of it does not depend on what was measured before; as many run side by side as the machine
has processors.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import TypeAdapter

from emu.calibration.links import guests_pace
from emu.calibration.overhead import Calibration
from emu.clocks import guest_program
from emu.clocks.guest_program import PROGRESS, TASK
from emu.clocks.guest_progress import GuestsProgress
from emu.clocks.measurements import Measurements, Task
from emu.endpoints import releases
from emu.guest.boot import MEMORY_MIB, START_NS, Guest
from emu.guest.kernel import Kernel
from emu.guest.places import order_for
from emu.guest.side_by_side import SideBySide, Wanted, record_of
from emu.measurement.cell_digest import CellDigest, CellOutcome
from emu.measurement.round_record import load_failure, load_round
from emu.network.measured_paths import Measured
from emu.pauses.pauses import Pauses
from emu.plan import distinct_receivers
from h2model.overhead import Linear, Overhead
from netcosim.cli import finishing
from netcosim.cli.session import timed_phase
from netcosim.errors import NetcosimError
from netcosim.job import Cell
from netcosim.results.json_files import as_stored
from netcosim.scenario import MessageCostSpec, dump_scenario

NAME: Final = "virtual"

_LINKS: Final = "links"
_ENDPOINT_MIB: Final = 96
_RESOLUTION: Final = 0.005
"""Of a reading of a link's rate, relative to the rate."""

_MEASURED: Final = TypeAdapter(Measured)
_NO_PAUSES: Final = Pauses(by_processor=MappingProxyType({}))

Json = dict[str, Any]


def measure(task: Task, found: Measurements) -> None:
    """Measure the network and every cell in guests.

    Raises
    ------
    EnvironmentRefusedError
        No kernel was built for guests.
    GuestError
        A guest died.
    """
    kernel = Kernel.find()
    kernel.say_if_outdated(task.progress.say)
    found.clock = {"name": NAME, "kernel": kernel.record(), "start_ns": START_NS}
    guests = SideBySide(scratch=task.scratch, say=task.progress.say)
    found.clock |= record_of(guests)
    found.pace = guests_pace(task.plan.net)
    overhead = _overhead(task.plan.scenario.cluster.processor.received)
    found.overheads = dict.fromkeys(distinct_receivers(task.plan.cells), overhead)
    progress = GuestsProgress(
        reporter=task.progress, links_known=lambda: guests.has_answered(_LINKS)
    )
    digest = found.digest(task)
    with _running(task, kernel, guests, progress):
        try:
            with timed_phase(found.phases_s, "links measured"):
                answer, interruption = guests.answer_of_interrupted(_LINKS)
                _know_links(found, answer)
            if interruption is not None:
                raise interruption
            with task.progress.cells(task.plan):
                for cell in task.plan.cells:
                    with timed_phase(found.phases_s, cell.name):
                        outcome = _outcome(task, guests, digest, cell)
                        if guests.has_answered(cell.name):  # else its own thread still reports
                            progress.report(cell.name)
                    found.finish(task, outcome)
        except (NetcosimError, KeyboardInterrupt) as failure:
            _keep_others(task, guests, digest, found, isinstance(failure, KeyboardInterrupt))
            raise


def _know_links(found: Measurements, answer: Json) -> None:
    """Keep what the guest of the links has measured; raises what ended it early."""
    if "failure" in answer:
        raise load_failure(answer["failure"])
    found.network = answer["network"]
    found.measured = as_configured(_MEASURED.validate_python(answer["measured"]))


def _keep_others(
    task: Task, guests: SideBySide, digest: CellDigest, found: Measurements, interrupted: bool
) -> None:
    """Keep what guests have finished of the cells that are not kept yet, wherever it ended.

    Nothing without the links: no burst could be judged, and none was told to be done.
    """
    if found.measured is None and guests.has_answered(_LINKS):
        with contextlib.suppress(NetcosimError):
            _know_links(found, guests.answer(_LINKS))
    if found.measured is None:
        return
    kept = {outcome.cell.name for outcome in found.outcomes}
    others = [cell for cell in task.plan.cells if cell.name not in kept]
    names = guests.end_early([cell.name for cell in others], interrupted)
    found.outcomes += [
        _outcome(task, guests, digest, cell) for cell in others if cell.name in names
    ]


def as_configured(measured: Measured) -> Measured:
    """Rates as configured, where what was measured confirms them.

    A link that is never late has no other; a reading has a resolution of some tenths of a percent.
    """
    return replace(
        measured,
        paths=tuple(
            replace(
                path,
                down_bps=_confirmed(path.down_bps, path.expected_bps),
                up_bps=_confirmed(path.up_bps, path.expected_bps),
            )
            for path in measured.paths
        ),
    )


def _confirmed(measured_bps: int, expected_bps: int) -> int:
    off = abs(measured_bps / expected_bps - 1)
    return expected_bps if off <= _RESOLUTION else measured_bps


def _overhead(cost: MessageCostSpec) -> Any:
    """Overhead of a receiver whose processor takes what the scenario says, as a record."""
    line = Linear(
        alpha_ns_per_byte=float(cost.ns_per_byte), beta_ns=float(cost.message), occupies=True
    )
    nothing = Calibration(
        overhead=Overhead(first=line, later=line),
        samples=(),
        residual_median_ns=0,
        residual_p95_ns=0,
        residual_max_ns=0,
        attempts=0,
    )
    return as_stored(nothing.record())


def _outcome(task: Task, guests: SideBySide, digest: CellDigest, cell: Cell) -> CellOutcome:
    """Outcome of a cell from its guest's answer; a failure is kept in it."""
    outcome = CellOutcome(cell=cell)
    try:
        answer, interruption = guests.answer_of_interrupted(cell.name)
        if "failure" in answer:
            raise load_failure(answer["failure"])
    except (NetcosimError, KeyboardInterrupt) as failure:
        outcome.failure = failure
        return outcome
    folder = guests.exchange(cell.name)
    captures = {host: folder / f"{host}.pcap" for host in answer["round"]["captures"]}
    done = load_round(answer["round"], task.plan.connections(cell), captures)
    with finishing(done.failure) as late:
        digest.take(outcome, done, 0, lambda: _NO_PAUSES)
    outcome.failure = interruption or outcome.failure or late.interruption
    return outcome


@contextlib.contextmanager
def _running(
    task: Task, kernel: Kernel, guests: SideBySide, progress: GuestsProgress
) -> Iterator[None]:
    """Run the guests of the links, and of every cell, in this order."""
    cells = [None, *task.plan.cells]
    with guests.running([_wanted(task, kernel, cell, progress) for cell in cells]):
        yield


def _wanted(task: Task, kernel: Kernel, cell: Cell | None, progress: GuestsProgress) -> Wanted:
    def build(folder: Path) -> Guest:
        return Guest(
            kernel,
            folder,
            [order_for(guest_program.__file__, {releases.VARIABLE: str(releases.folder())})],
            seed=_seed(task, cell),
            files={TASK: json.dumps(_task_of(task, cell)).encode()},
            memory_mib=_memory_mib(task, cell),
        )

    return Wanted(
        name=_name(cell),
        build=build,
        watch=lambda exchange: progress.watch(_name(cell), cell, exchange / PROGRESS),
        about=_releases(cell),
    )


def _seed(task: Task, cell: Cell | None) -> bytes:
    """Seed of a guest's chance: the scenario's, and the cell's name."""
    return hashlib.sha256(f"{task.plan.scenario.seed} {_name(cell)}".encode()).digest()


def _task_of(task: Task, cell: Cell | None) -> Json:
    return {
        "scenario": dump_scenario(task.plan.scenario),
        "newest": releases.newest(),
        "tcp": task.tcp.model_dump(mode="json"),
        "cell": None if cell is None else cell.name,
    }


def _memory_mib(task: Task, cell: Cell | None) -> int:
    """Memory of a guest, by what its scenario holds: it is part of what makes runs equal."""
    hosts = len(task.plan.net.hosts)
    if cell is None:
        return MEMORY_MIB + _ENDPOINT_MIB * hosts
    connections = task.plan.connections(cell)
    held = sum(m.size_bytes for each in connections for m in each.messages)
    ends = 2 * len(connections)
    captured = held * task.plan.scenario.repetitions
    return MEMORY_MIB + _ENDPOINT_MIB * (hosts + ends) + (8 * held + 3 * captured) // 2**20


def _name(cell: Cell | None) -> str:
    return _LINKS if cell is None else cell.name


def _releases(cell: Cell | None) -> str:
    """The releases of gRPC that a cell's transport names, in brackets."""
    if cell is None:
        return ""
    spec = cell.transport
    named = {"sender": spec.sender_release, "receiver": spec.receiver_release}
    told = ", ".join(f"{end}: grpcio {release}" for end, release in named.items() if release)
    return f" ({told})" if told else ""
