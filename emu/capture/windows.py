"""Flow control as seen on the wire (RFC 9113, section 6.9): grants, and the credit that is left.

The capture is taken at the data's receiver. A grant's time is therefore its departure, and the
credit shown is the receiver's view: the sender learns of a grant a round trip before the data
that it allows can arrive.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from emu.capture.arrays import Ints, Mask, ints
from emu.capture.control import INITIAL_WINDOW_SIZE, Control
from emu.capture.frames import END_STREAM, Frames, Kind
from h2model.protocol import DEFAULT_WINDOW_BYTES

CONNECTION = 0
ALL_STREAMS = -1
_BEFORE = -1  # the place of what came before the first frame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grants:
    """Credit given by the receiver of the data, in order.

    `stream` is 0 for the connection and -1 where SETTINGS_INITIAL_WINDOW_SIZE moved the window
    of all streams, present and future; only then `amount` can be negative.
    """

    record: Ints
    time_ns: Ints
    stream: Ints
    amount: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CreditHistory:
    """Credit left after each DATA frame and each grant, as seen at the capture point.

    `stream` is the stream the row is about, 0 where only the connection's credit moved.
    `stream_left` is its credit (the connection's in rows of stream 0).
    """

    time_ns: Ints
    stream: Ints
    stream_left: Ints
    connection_left: Ints


NO_CREDIT: Final = CreditHistory(
    time_ns=ints(), stream=ints(), stream_left=ints(), connection_left=ints()
)
"""Credit history of a connection whose beginning, and so its windows, are not known."""


MOST_MOVED: Final = 1_000_000
"""Most rows of the history that SETTINGS may cause: each moves every open stream's window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceeded:
    """The first time that more was sent than had been granted."""

    time_ns: int
    text: str


@dataclass(slots=True)
class _Account:
    """One stream's credit less the initial window: granted, sent, and the grants over time."""

    granted: int
    sent: int
    levels: list[tuple[int, int]]  # time of a grant, granted in all from then on


def read_grants(
    frames: Frames,
    control: Control,
    tail_record: Ints,
    time_ns: Ints,
    upgrade: tuple[int, int] | None = None,
) -> Grants:
    """Collect one side's WINDOW_UPDATEs and its moves of the initial window.

    `upgrade` has the record of the request that asked for HTTP/2, and the initial window in it.
    """
    rows = [
        (place, int(frames.stream[place]), amount)
        for place, amount in zip(control.updates.tolist(), control.increments.tolist(), strict=True)
    ]
    initial = DEFAULT_WINDOW_BYTES
    if upgrade is not None and upgrade[1] != initial:
        rows.append((_BEFORE, ALL_STREAMS, upgrade[1] - initial))
        initial = upgrade[1]
    # Of several values in one frame the last one counts: nothing happens between.
    announced = {s.frame: s.value for s in control.settings if s.number == INITIAL_WINDOW_SIZE}
    for frame, value in announced.items():
        rows.append((frame, ALL_STREAMS, value - initial))
        initial = value
    place, stream, amount = ints(sorted(rows)).reshape(-1, 3).T
    record = tail_record[np.maximum(place, 0)] if tail_record.size else place
    if upgrade is not None:
        record = np.where(place == _BEFORE, upgrade[0], record)
    return Grants(record=record, time_ns=time_ns[record], stream=stream, amount=amount)


def credit_history(
    frames: Frames, head_record: Ints, time_ns: Ints, grants: Grants, known_after_ns: int
) -> tuple[CreditHistory, Mask, Exceeded | None]:
    """Follow the credit of the data in `frames` under the other side's `grants`.

    Parameters
    ----------
    frames, head_record
        The data's direction; the records with which the headers were available.
    time_ns
        Each record's time.
    grants
        What the other side gave.
    known_after_ns
        How long a grant may take to show in the data: the sender's way there, the data's way
        back, and the bytes that the sender had committed already.

    Returns
    -------
    history
        What was left.
    stopped
        For each frame: DATA with which the stream used up the credit that its sender knew of
        when the visit began, or since: a sender may have framed the whole visit at its begin.
    exceeded
        Set if more was sent than granted, which says that this reading is wrong.
    """
    ledger = _Ledger(known_after_ns)
    stopped = np.zeros(frames.at.size, dtype=np.bool_)
    # Events are DATA and HEADERS, whose END_STREAM flag is the same bit.
    is_data = (frames.kind == Kind.DATA).tolist()
    is_end = (frames.flags & END_STREAM != 0).tolist()
    for now_ns, place, stream, amount in _events(frames, head_record, time_ns, grants):
        if place < 0:
            ledger.grant(stream, amount, now_ns)
            continue
        ledger.open(stream, now_ns)
        if is_data[place]:
            stopped[place] = ledger.send(stream, amount, now_ns)
        if is_end[place]:
            ledger.close(stream)
    columns = ints(ledger.rows).reshape(-1, 4).T
    names = ("time_ns", "stream", "stream_left", "connection_left")
    history = CreditHistory(**dict(zip(names, columns, strict=True)))
    return history, stopped, ledger.exceeded


class _Ledger:
    """Credit accounts of one direction of a connection."""

    def __init__(self, known_after_ns: int) -> None:
        self._known_after_ns = known_after_ns
        self._initial = DEFAULT_WINDOW_BYTES
        self._initials: list[tuple[int, int]] = [(0, DEFAULT_WINDOW_BYTES)]
        self._accounts: dict[int, _Account] = {}
        self._closed: set[int] = set()
        self._connection = DEFAULT_WINDOW_BYTES
        self._shrunk = False
        self._moved = 0
        self._visitor = CONNECTION
        self._visit_ns = 0
        self.rows: list[tuple[int, int, int, int]] = []
        self.exceeded: Exceeded | None = None

    def open(self, stream: int, now_ns: int) -> None:
        if stream not in self._accounts and stream not in self._closed:
            self._accounts[stream] = _Account(0, 0, [(now_ns, 0)])
            self._note(stream, now_ns)

    def close(self, stream: int) -> None:
        self._accounts.pop(stream, None)
        self._closed.add(stream)

    def grant(self, stream: int, amount: int, now_ns: int) -> None:
        if stream == CONNECTION:
            self._connection += amount
            self._note(stream, now_ns)
        elif stream == ALL_STREAMS:
            self._initial += amount
            self._initials.append((now_ns, self._initial))
            self._shrunk |= amount < 0 and bool(self._accounts)
            self._moved += len(self._accounts)
            if self._moved <= MOST_MOVED:
                for each in self._accounts:
                    self._note(each, now_ns)
        elif stream not in self._closed:
            self.open(stream, now_ns)  # the receiver may grant before the sender's first frame
            account = self._accounts[stream]
            account.granted += amount
            account.levels.append((now_ns, account.granted))
            self._note(stream, now_ns)

    def send(self, stream: int, amount: int, now_ns: int) -> bool:
        if stream != self._visitor:
            self._visitor, self._visit_ns = stream, now_ns
        account = self._accounts[stream]
        account.sent += amount
        self._connection -= amount
        self._note(stream, now_ns)
        left = min(self._left(account), self._connection)
        if left < 0 and not self._shrunk and self.exceeded is None:
            text = f"stream {stream} sent {-left} bytes more than was granted"
            self.exceeded = Exceeded(time_ns=now_ns, text=text)
        return self._exhausted(account, self._visit_ns - self._known_after_ns)

    def _left(self, account: _Account) -> int:
        return self._initial + account.granted - account.sent

    def _exhausted(self, account: _Account, known_ns: int) -> bool:
        """True if exactly all was sent that had been granted at some time since `known_ns`."""
        own, initials = len(account.levels) - 1, len(self._initials) - 1
        while True:
            since, granted = account.levels[own]
            moved, initial = self._initials[initials]
            if granted + initial == account.sent:
                return True
            if max(since, moved) < known_ns:
                return False
            if moved > since:
                initials -= 1
            elif own:
                own -= 1
            else:
                return False  # that was when the stream was opened

    def _note(self, stream: int, now_ns: int) -> None:
        left = self._connection if stream == CONNECTION else self._left(self._accounts[stream])
        self.rows.append((now_ns, stream, left, self._connection))


def _events(
    frames: Frames, head_record: Ints, time_ns: Ints, grants: Grants
) -> Iterator[tuple[int, int, int, int]]:
    """Merge frames and grants by capture record: time, frame or -1, stream, bytes."""
    places = frames.of(Kind.DATA, Kind.HEADERS)
    record = np.concatenate([head_record[places], grants.record])
    place = np.concatenate([places, np.full(grants.record.size, -1)])
    stream = np.concatenate([frames.stream[places], grants.stream])
    amount = np.concatenate([frames.length[places], grants.amount])
    order = np.argsort(record, kind="stable")
    columns = (time_ns[record[order]], place[order], stream[order], amount[order])
    return zip(*(column.tolist() for column in columns), strict=True)
