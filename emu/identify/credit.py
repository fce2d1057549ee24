"""Identification of a receiver's credit rule from its WINDOW_UPDATEs.

A WINDOW_UPDATE shows how much was granted; what the receiver had counted by then lies between what
it had received a little earlier and what has passed the capture by now, the rest of a frame whose
header has passed included: C-core counts a frame when its header comes, its reader only what was
read. A rule explains an update if some point between makes it grant exactly that, then.

A machine that takes the processor away lets updates come late. So where no rule explains nearly all
of them, what a receiver had not counted while it said nothing at all is not held against a rule
that explains most and far more than any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from emu.capture.arrays import Ints
from emu.capture.report import ConnectionReport, DirectionReport
from emu.capture.streams import StreamDirection
from emu.capture.windows import ALL_STREAMS
from h2model.credit import load, names
from h2model.observed import ObservedUpdate
from h2model.protocol import DEFAULT_WINDOW_BYTES, GRPC_PREFIX_BYTES
from netcosim.results.streams.identification import CreditVerdict

HANDLING_NS: Final = 10_000_000
"""Longest time of a receiver from a byte's arrival to the credit that it causes."""

EXPLAINED: Final = 0.9
"""Least share of the updates that a rule must explain."""

MOST: Final = 0.5
"""Least share to explain without allowing for silences; also twice that of any other rule."""

MOST_STREAMS: Final = 200


def judge_credit(connections: Sequence[tuple[ConnectionReport, bool]]) -> CreditVerdict:
    """Identify the rule by which the receiver of the data grants credit to streams.

    Parameters
    ----------
    connections
        Each with the direction of its data: True for data to the client.
    """
    read = [_Read.of(report, to_client=to_client) for report, to_client in connections]
    updates = [u for each in read for u in each.updates]
    probing = any(each.moves for each in read)
    evidence = tuple(line for each in read for line in each.lines())
    if not updates:
        return CreditVerdict(
            rule=None,
            alike=(),
            probing=probing,
            statement="cannot tell the credit rule with this capture, because " + _why(read),
            evidence=evidence,
        )
    shares = {name: sum(map(load(name).explains, updates)) / len(updates) for name in names()}
    fitting = [name for name, share in shares.items() if share >= EXPLAINED]
    late = None if fitting else _but_for_silences(updates, shares)
    if late is not None:
        fitting = [late]
    counts = ", ".join(
        f"{name} {round(share * len(updates))}" for name, share in sorted(shares.items())
    )
    evidence = (*evidence, f"of {len(updates)} updates explained by {counts}")
    if late is not None:
        evidence = (*evidence, "the others came late, after the receiver had said nothing")
    grows = "; its initial window moves meanwhile (bandwidth-delay probing)" if probing else ""
    if len(fitting) == 1:
        statement = f"{fitting[0]} ({load(fitting[0]).ABOUT}){grows}"
    elif fitting:
        statement = (
            f"cannot tell {' from '.join(fitting)} with this capture, because its messages and"
            " windows make them grant the same"
        )
    else:
        statement = "none of the known credit rules explains the updates" + grows
    return CreditVerdict(
        rule=fitting[0] if len(fitting) == 1 else None,
        alike=tuple(fitting) if len(fitting) > 1 else (),
        probing=probing,
        statement=statement,
        evidence=evidence,
    )


def _but_for_silences(updates: Sequence[ObservedUpdate], shares: Mapping[str, float]) -> str | None:
    """The rule that explains nearly all updates, if those after a silence may be late.

    It must explain most without, and twice as many as any other rule.
    """
    best = max(shares, key=lambda name: shares[name])
    rivals = [share for name, share in shares.items() if name != best]
    if shares[best] < max(MOST, 2 * max(rivals)):
        return None
    explains = load(best).explains
    explained = sum(
        explains(u) or explains(replace(u, least_bytes=u.least_silent_bytes)) for u in updates
    )
    return best if explained >= EXPLAINED * len(updates) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Credit evidence of one connection: stream updates, windows, and counts."""

    updates: tuple[ObservedUpdate, ...]
    windows: tuple[int, ...]
    needing: int
    streams: int
    moves: int
    pings: int

    @classmethod
    def of(cls, report: ConnectionReport, *, to_client: bool) -> "_Read":
        data, peer = report.to_client, report.to_server
        if not to_client:
            data, peer = peer, data
        halves = [
            (s.stream, half)
            for s in report.streams
            if (half := s.server if to_client else s.client).data_bytes
        ]
        moved = peer.grants.stream == ALL_STREAMS
        levels = DEFAULT_WINDOW_BYTES + np.cumsum(peer.grants.amount[moved])
        frames = data.frames.time_ns
        late = frames.size and (peer.grants.time_ns[moved] > frames[0]).sum()
        needing = [(s, h) for s, h in halves if data.credit_known and h.ended_ns is not None]
        needing = [
            (s, h) for s, h in needing if h.flow_bytes > _window_at(peer, h.first_data_ns or 0)
        ]
        return cls(
            updates=tuple(
                update
                for stream, half in needing[:MOST_STREAMS]
                for update in _updates(data, peer, stream, half)
            ),
            windows=tuple(dict.fromkeys(levels.tolist()))
            or (DEFAULT_WINDOW_BYTES,) * data.credit_known,
            needing=len(needing),
            streams=len(halves),
            moves=int(late),
            pings=int(peer.pings_ns.size),
        )

    def lines(self) -> Iterator[str]:
        """Describe the evidence in words, line by line."""
        if not self.windows:
            yield "the receiver's windows were not captured"
            return
        shown = ", ".join(str(window) for window in self.windows[:6])
        more = f" and {len(self.windows) - 6} more" if len(self.windows) > 6 else ""
        yield (
            f"initial windows announced: {shown}{more}; {self.needing} of {self.streams} streams"
            " were larger than their window"
        )
        if self.updates:
            amounts = [u.amount_bytes for u in self.updates]
            used = sum(u.exhausted for u in self.updates)
            yield (
                f"{len(amounts)} WINDOW_UPDATEs to these, {min(amounts)} to {max(amounts)} bytes;"
                f" {used} came when all credit was used up"
            )
        if self.pings:
            yield f"{self.pings} PINGs of the receiver"


def _why(read: Sequence[_Read]) -> str:
    if not any(each.streams for each in read):
        return "there is no data"
    if not any(each.windows for each in read):
        return "the receiver's windows were not captured"
    if not any(each.needing for each in read):
        return "no whole stream was larger than the window that it started with"
    return "no stream got a WINDOW_UPDATE of its own"


def _window_at(peer: DirectionReport, time_ns: int) -> int:
    grants = peer.grants
    moved = (grants.stream == ALL_STREAMS) & (grants.time_ns <= time_ns)
    return DEFAULT_WINDOW_BYTES + int(grants.amount[moved].sum())


def _updates(
    data: DirectionReport, peer: DirectionReport, stream: int, half: StreamDirection
) -> Iterator[ObservedUpdate]:
    grants = peer.grants
    mine = np.flatnonzero(np.isin(grants.stream, (stream, ALL_STREAMS)))
    chunks = np.flatnonzero(data.chunks.stream == stream)
    arrived = data.chunks.time_ns[chunks]
    total = np.concatenate([[0], np.cumsum(data.chunks.size_bytes[chunks])])
    patience_ns = peer.round_trip_ns + HANDLING_NS
    spoke = np.sort(np.concatenate([grants.time_ns, peer.pings_ns]))
    window = granted = DEFAULT_WINDOW_BYTES
    frame = int(data.frames.size_bytes.max(initial=0))
    first = True
    for place in mine.tolist():
        amount, now_ns = int(grants.amount[place]), int(grants.time_ns[place])
        if int(grants.stream[place]) == ALL_STREAMS:
            window += amount
            granted += amount
            continue
        if granted == window and amount == GRPC_PREFIX_BYTES:
            granted += amount  # what a gRPC reader needs to learn a message's length
            continue
        if granted >= half.flow_bytes:
            break  # nothing is needed any more; what C-core adds then only follows its counting
        yield ObservedUpdate(
            window_bytes=window,
            granted_bytes=granted,
            amount_bytes=amount,
            least_bytes=int(total[np.searchsorted(arrived, now_ns - patience_ns, side="right")]),
            least_silent_bytes=int(
                total[np.searchsorted(arrived, _counted_ns(spoke, now_ns, patience_ns), "right")]
            ),
            received_bytes=int(total[np.searchsorted(arrived, now_ns, side="right")]),
            message_bytes=half.flow_bytes,
            frame_bytes=frame,
            first=first,
        )
        granted += amount
        first = False


def _counted_ns(spoke: Ints, now_ns: int, patience_ns: int) -> int:
    """The latest arrival that a receiver must have counted, its longest silence allowed for.

    Of the time from the arrival to now its patience may pass, and one silence that began or went on
    meanwhile.

    Parameters
    ----------
    spoke
        When it sent anything that a frame shows, rising.
    """
    found = now_ns - patience_ns
    silent_ns, until_ns = 0, now_ns
    for since_ns in reversed(spoke[: np.searchsorted(spoke, now_ns)].tolist()):
        reached = since_ns
        if now_ns - until_ns > patience_ns:  # not all of this silence is needed
            reached = max(since_ns, now_ns - patience_ns - silent_ns)
        if reached > until_ns:
            break
        found = min(found, reached)
        if reached > since_ns:
            break
        silent_ns, until_ns = max(silent_ns, until_ns - since_ns), since_ns
    return found
