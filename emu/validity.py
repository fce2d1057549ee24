"""Whether a burst may be scored: bounds fixed before any model sees it.

A hypervisor that takes the processor away for a few milliseconds leaves a hole that no shaper fills
again; such a burst says nothing about a discipline. Invalid bursts are repeated up to a cap,
counted and published.
"""

from dataclasses import dataclass
from typing import Final

from netcosim.results.run_record import Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a valid burst may show at most.

    steal : share of all processor time taken by the hypervisor
    gap_ns : one idle time of the link that no missing credit explains
    late_ns : how late a timed wait of an endpoint ended
    resent : retransmissions per sent segment on a link without loss; they are spurious there (an
        acknowledgement came late), and this many lengthen a burst by no more than this share
    attempts : tries for each wanted burst
    """

    steal: float = 0.01
    resent: float = 0.0005
    gap_ns: int = 5_000_000
    late_ns: int = 5_000_000
    attempts: int = 3


BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was seen during one burst."""

    steal: float
    throttled_ns: int
    segments: int
    retransmissions: int
    drops: int
    capture_drops: int
    largest_gap_ns: int
    late_ns: int
    past_scheduler_bytes: int | None
    problems: tuple[str, ...] = ()


def judge(
    facts: Facts, *, cell: str, burst: int, attempt: int, lossy: bool, bounds: Bounds = BOUNDS
) -> Validity:
    """Hold a burst's facts against the bounds.

    `lossy` is set for links that drop or reorder by design, in a bounded queue or because loss or
    jitter was asked for: there, drops and retransmissions are part of what is measured.
    """
    reasons = list(facts.problems)
    if facts.steal > bounds.steal:
        reasons.append(f"steal {facts.steal:.1%} > {bounds.steal:.1%}")
    if facts.throttled_ns > 0:
        reasons.append(f"throttled for {facts.throttled_ns / 1e6:.1f} ms")
    if facts.capture_drops > 0:
        reasons.append(f"the capture lost {facts.capture_drops} packets")
    if facts.largest_gap_ns > bounds.gap_ns:
        reasons.append(
            f"the link idled {facts.largest_gap_ns / 1e6:.1f} ms for no lack of credit"
            f" (> {bounds.gap_ns / 1e6:.0f} ms)"
        )
    if facts.late_ns > bounds.late_ns:
        reasons.append(f"a wait ended {facts.late_ns / 1e6:.1f} ms late")
    if not lossy and facts.retransmissions > bounds.resent * facts.segments:
        reasons.append(
            f"{facts.retransmissions} of {facts.segments} segments were sent again on a link"
            " without loss"
        )
    if not lossy and facts.drops > 0:
        reasons.append(f"{facts.drops} packets dropped on a link without loss")
    return Validity(
        cell=cell,
        burst=burst,
        attempt=attempt,
        valid=not reasons,
        reasons=tuple(reasons),
        steal=facts.steal,
        throttled_ns=facts.throttled_ns,
        retransmissions=facts.retransmissions,
        drops=facts.drops,
        capture_drops=facts.capture_drops,
        largest_gap_ns=facts.largest_gap_ns,
        late_ns=facts.late_ns,
        past_scheduler_bytes=facts.past_scheduler_bytes,
    )
