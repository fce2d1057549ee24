"""Validity of a burst: valid or not, judged or only shown; decided before any model runs.

Invalid is a burst whose evidence is lost: packets that the capture or a queue dropped, bytes that
do not match, a link that is not as configured. Only such bursts are repeated. What the machine did
(steal, late waits, throttling, segments sent again) is recorded, and shows in the time that the
link lost. Where a pause delayed an input of the models, the burst is shown and not judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emu.measurement.delayed_inputs import DelayedInput
from netcosim.results.run_record import Validity
from netcosim.units import format_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of a valid burst.

    link_share : least rate of frames that came back to back, over the configured one
    attempts : most rounds in which a cell may get its valid bursts
    """

    link_share: float = 0.97
    attempts: int = 3


BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSeen:
    """A bottleneck in a burst: its configured rate, and that of frames back to back.

    `seen_bps` is None where too few frames came for it.
    """

    name: str
    rate_bps: int
    seen_bps: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of one burst, from machine, network, logs and capture.

    `lost_ns` is the time that its bottleneck lost though data could be sent, `cut_ns` the part that
    recorded pauses explain; of several bottlenecks the one that lost most.
    """

    steal: float
    throttled_ns: int
    retransmissions: int
    drops: int
    capture_drops: int
    late_ns: int
    length_ns: int
    lost_ns: int = 0
    cut_ns: int = 0
    zero_ns: int | None = None
    links: tuple[LinkSeen, ...] = ()
    moved: tuple[DelayedInput, ...] = ()
    past_scheduler_bytes: int | None = None
    loss_probes: int = 0
    timeouts: int = 0
    reorderings: int = 0
    problems: tuple[str, ...] = ()


def judge(
    facts: Facts, *, cell: str, burst: int, attempt: int, lossy: bool, bounds: Bounds = BOUNDS
) -> Validity:
    """Decide whether a burst is valid, and whether it is judged.

    `lossy` is set for links that drop or reorder by design, in a bounded queue or because loss or
    jitter was asked for: there, drops are part of what is measured.
    """
    reasons = list(facts.problems)
    if facts.capture_drops > 0:
        reasons.append(f"the capture lost {facts.capture_drops} packets")
    if not lossy and facts.drops > 0:
        reasons.append(f"{facts.drops} packets dropped on a link without loss")
    if not lossy:
        reasons += _slow_links(facts.links, bounds)
    return Validity(
        cell=cell,
        burst=burst,
        attempt=attempt,
        valid=not reasons,
        reasons=tuple(reasons),
        judged=not reasons and not facts.moved,
        delayed_inputs=tuple(_described(each) for each in facts.moved),
        steal=facts.steal,
        throttled_ns=facts.throttled_ns,
        retransmissions=facts.retransmissions,
        loss_probes=facts.loss_probes,
        timeouts=facts.timeouts,
        reorderings=facts.reorderings,
        drops=facts.drops,
        capture_drops=facts.capture_drops,
        zero_ns=facts.zero_ns,
        length_ns=facts.length_ns,
        lost_ns=facts.lost_ns,
        cut_ns=facts.cut_ns,
        late_ns=facts.late_ns,
        past_scheduler_bytes=facts.past_scheduler_bytes,
    )


def unreadable(problem: str, *, cell: str, burst: int, attempt: int) -> Validity:
    """Verdict on a burst whose capture does not show what the applications exchanged: invalid."""
    facts = Facts(
        steal=0.0,
        throttled_ns=0,
        retransmissions=0,
        drops=0,
        capture_drops=0,
        late_ns=0,
        length_ns=0,
        problems=(problem,),
    )
    return judge(facts, cell=cell, burst=burst, attempt=attempt, lossy=False)


def _slow_links(links: Sequence[LinkSeen], bounds: Bounds) -> list[str]:
    return [
        f"link {link.name} carried frames back to back at {format_rate(round(link.seen_bps))}"
        f" of {format_rate(link.rate_bps)}"
        for link in links
        if link.seen_bps is not None and link.seen_bps < bounds.link_share * link.rate_bps
    ]


def _described(moved: DelayedInput) -> str:
    return f"{moved.what} came {moved.late_ns / 1e6:.1f} ms of link work late"
