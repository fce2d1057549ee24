"""Reasons why a burst is not compared: what the simulator lacks, and what evidence lacks.

They are decided before anything is simulated, from the scenario and from what was measured.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from netcosim.results.run_record import Validity
from netcosim.scenario import LinkSpec, Scenario, WorkloadSpec
from netcosim.scoring.figures import link_stall_ns
from netcosim.trace import StreamRow
from netcosim.units import format_duration

STAGGER: Final = "stagger"
JITTER: Final = "jitter"
LOSS: Final = "loss"
REFUSED: Final = "refused"
STREAMS: Final = "streams"
INVALID: Final = "invalid"
NOT_JUDGED: Final = "not judged"
STALLS: Final = "stalls"
HAND_OVERS: Final = "hand-overs"

TOLERATED: Final = 0.01
"""Part of a burst's length up to which stalls for credit, or hand-overs that the step can't have,
leave the burst comparable. Chosen before any error was looked at."""

REASONS: Final[Mapping[str, str]] = {
    STAGGER: "workers start one after the other (stagger), which a step can't do",
    JITTER: "a link has jitter, which simulated links lack",
    LOSS: "a link loses packets, which simulated links do not",
    REFUSED: "the simulator refuses the scenario",
    STREAMS: "the trace lacks streams of the scenario, or has others",
    INVALID: "the emulator found the burst invalid: evidence was lost",
    NOT_JUDGED: "a pause delayed an input of the models: the emulator shows the burst and does not"
    " judge it",
    STALLS: "the link idled for lack of credit for more than 1 % of the burst, where simulated"
    " credit returns at once",
    HAND_OVERS: "connections handed over the same message at times more than 2 % of the burst"
    " apart, where a step has one time for all",
}

SIMULATED_ALL_THE_SAME: Final = frozenset({NOT_JUDGED, STALLS, HAND_OVERS})
"""Reasons with which a burst can be simulated: its errors are shown apart, and count nowhere."""

Finding = tuple[str, str]
"""A reason, and what more is to be said of it."""


def cell_finding(scenario: Scenario, workload: WorkloadSpec) -> Finding | None:
    """Reason why no burst of a cell can be simulated, as far as its scenario says so."""
    if workload.stagger and scenario.cluster.workers > 1:
        return STAGGER, format_duration(workload.stagger)
    links: dict[str, LinkSpec] = {"link": scenario.cluster.link, **scenario.cluster.links}
    for name, link in links.items():
        if link.jitter:
            return JITTER, f"{name}: {format_duration(link.jitter)}"
        if link.loss:
            return LOSS, f"{name}: {link.loss:g}"
    return None


def burst_finding(
    rows: Sequence[StreamRow],
    validity: Validity | None,
    expected: Mapping[tuple[str, str, str], int],
    tensor_of_apart: Mapping[str, int],
) -> Finding | None:
    """Reason why a burst is not compared; None if it is.

    Parameters
    ----------
    rows : measured, on the clock of link work
    validity : what the emulator found of the burst, if it recorded that
    expected : size in bytes of each stream that the scenario has, by source, destination, tensor
    tensor_of_apart : by tensor how far, in ns, a hand-over is from the one that is simulated
    """
    if validity is not None and not validity.valid:
        return INVALID, "; ".join(validity.reasons)
    found = {(row.source, row.destination, row.tensor): row.size_bytes for row in rows}
    if found != expected or len(found) != len(rows) or not all(row.services for row in rows):
        return STREAMS, f"{len(rows)} streams measured, {len(expected)} in the scenario"
    if (validity is not None and not validity.judged) or not all(row.valid for row in rows):
        return NOT_JUDGED, "" if validity is None else "; ".join(validity.delayed_inputs)
    length_ns = max(row.wire_end_ns for row in rows)
    stalled_ns = link_stall_ns(rows)
    if stalled_ns > TOLERATED * length_ns:
        return STALLS, f"{stalled_ns / 1e6:.1f} ms of {length_ns / 1e6:.1f} ms"
    apart_ns = max(tensor_of_apart.values(), default=0)
    if apart_ns > TOLERATED * length_ns:
        return HAND_OVERS, f"{apart_ns / 1e6:.1f} ms from their middle, of {length_ns / 1e6:.1f} ms"
    return None
