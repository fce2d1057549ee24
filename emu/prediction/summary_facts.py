"""Facts of a cell for its summary: transport, windows, link capacity, validity."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from emu.plan import link_key
from h2model import disciplines, transports
from h2model.candidates import not_studied, parameter_digests
from netcosim.job import Cell
from netcosim.results.run_record import Validity, first_bursts
from netcosim.results.streams.grants import INITIAL_WINDOW, GrantRow
from netcosim.scoring.facts import CellFacts


def parameters_used(cells: Iterable[Cell]) -> dict[str, str]:
    """Digests of the parameter files behind the predictions of these cells, by release."""
    return {
        release: digest
        for cell in cells
        for release, digest in parameter_digests(cell.transport).items()
    }


def cell_facts(
    cell: Cell,
    models: Mapping[str, Any],
    validity: Sequence[Validity],
    grants: Sequence[GrantRow],
) -> CellFacts:
    """Collect the facts of a cell for its summary.

    Parameters
    ----------
    cell
        The cell.
    models
        The links of all connections by `link_key`; their rates together are the cell's capacity.
    validity
        The judgements of the cell's bursts.
    grants
        The rows of its receivers' credit.
    """
    transport = cell.transport
    keeps_windows = transports.load(transport.receiver).KEEPS_WINDOWS
    links = _links_of(cell, models)
    return CellFacts(
        workload=cell.workload.name,
        transport=transport.name,
        sender=transport.sender,
        receiver=transport.receiver,
        sender_release=transport.sender_release,
        receiver_release=transport.receiver_release,
        direction=cell.workload.direction,
        flow_control=transport.flow_control,
        windowed=transport.flow_control and (cell.window_bytes is not None or keeps_windows),
        window_bytes=cell.window_bytes,
        configured_discipline=transport.discipline,
        without_windows={name: disciplines.without_windows(name) for name in disciplines.names()},
        not_studied=not_studied(transport),
        capacity_bps=sum(link["rate_bps"] for link in links),
        invalid_bursts=sum(not v.valid for v in validity),
        shown_bursts=frozenset(v.burst for v in validity if v.valid and not v.judged),
        first_bursts=first_bursts(validity),
        lost_share=_share(validity, lambda v: v.lost_ns or 0),
        unexplained_share=_share(validity, lambda v: (v.lost_ns or 0) - v.cut_ns),
        seen_window_bytes=_seen_window_bytes(grants),
        past_bytes=max((link["past_bytes"] for link in links), default=None),
        bdp_bytes=max((_bdp_bytes(link) for link in links), default=None),
    )


def _links_of(cell: Cell, models: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Links of a cell's connections, which are numbered from 0, out of those of all cells."""
    keys = {link_key(cell.name, number) for number in range(len(models))}
    return [link for key, link in models.items() if key in keys]


def _share(validity: Sequence[Validity], part_ns: Callable[[Validity], int]) -> float | None:
    """A part of the judged bursts' time, over their length; None where nothing was recorded."""
    judged = [v for v in validity if v.judged and v.lost_ns is not None and v.length_ns > 0]
    if not judged:
        return None
    return sum(part_ns(v) for v in judged) / sum(v.length_ns for v in judged)


def _bdp_bytes(link: Mapping[str, Any]) -> float:
    return float(link["rate_bps"] / 8e9 * 2 * link["delay_ns"])


def _seen_window_bytes(grants: Sequence[GrantRow]) -> int | None:
    """Last initial window of streams announced before a burst of the cell; None if none was.

    Receivers announce it once, or move it (by SETTINGS) as they learn the path.
    """
    said = [row.size_bytes for row in grants if row.kind == INITIAL_WINDOW and row.time_ns <= 0]
    return said[-1] if said else None
