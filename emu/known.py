"""What models may know of a cell, from the rows that a run leaves of it.

A run and a later recomputation come here with the same rows, so both predict the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emu.plan import Plan, PlannedConnection
from h2model.connection import LinkModel
from netcosim.job import Cell
from netcosim.trace import StreamRow


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """A message as the sending application handed it over, on the burst's clock."""

    stream: int
    tensor: str
    size_bytes: int
    ready_ns: int
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What the capture says of a burst: nothing here is known at PREDICT.

    `appearance` has the streams in the order of their first DATA byte.
    """

    appearance: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBurst:
    """One burst of one connection: its messages in the order of release, and its wire."""

    burst: int
    messages: tuple[HandOver, ...]
    wire: Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownConnection:
    """One connection of a round, its path as calibrated before the run, its bursts in order."""

    index: int
    source: str
    destination: str
    link: LinkModel
    bursts: tuple[KnownBurst, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRound:
    """Connections that were opened and closed together; each has the same bursts."""

    connections: tuple[KnownConnection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCell:
    """A cell with all its rounds; every round began with new connections."""

    cell: Cell
    rounds: tuple[KnownRound, ...]


def known_cell(
    plan: Plan,
    cell: Cell,
    links: Mapping[int, LinkModel],
    attempts: Mapping[int, int],
    measured: Sequence[StreamRow],
) -> KnownCell:
    """Collect what models may know of a cell.

    Parameters
    ----------
    plan, cell
        The resolved scenario; it has the messages' priorities and their order of release.
    links
        The path of each connection, by its number.
    attempts
        The round that each burst belongs to.
    measured
        The cell's rows, those of invalid bursts too: a connection's state outlives them.
    """
    groups: dict[tuple[int, int], dict[str, StreamRow]] = {}
    for row in measured:
        groups.setdefault((row.connection, row.burst), {})[row.tensor] = row
    rounds: dict[int, list[int]] = {}
    for burst in sorted({burst for _, burst in groups}):
        rounds.setdefault(attempts[burst], []).append(burst)
    return KnownCell(
        cell=cell,
        rounds=tuple(
            KnownRound(
                connections=tuple(
                    KnownConnection(
                        index=planned.index,
                        source=planned.source,
                        destination=planned.destination,
                        link=links[planned.index],
                        bursts=tuple(
                            _burst(planned, burst, groups[planned.index, burst]) for burst in bursts
                        ),
                    )
                    for planned in plan.connections(cell)
                )
            )
            for _, bursts in sorted(rounds.items())
        ),
    )


def _burst(planned: PlannedConnection, burst: int, rows: Mapping[str, StreamRow]) -> KnownBurst:
    served = sorted(rows.values(), key=lambda row: row.services[0].position)
    return KnownBurst(
        burst=burst,
        messages=tuple(
            HandOver(
                stream=rows[m.tensor].stream,
                tensor=m.tensor,
                size_bytes=m.size_bytes,
                ready_ns=max(0, rows[m.tensor].ready_ns),
                priority=m.priority,
            )
            for m in planned.messages
        ),
        wire=Wire(appearance=tuple(row.stream for row in served)),
    )
