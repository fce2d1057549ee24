"""A discipline as a state machine without I/O, driven by predictions and by the real sender.

Time is an argument; nothing here reads a clock or a socket.
"""

from collections.abc import Mapping

from h2model.disciplines import load, resolve_options
from h2model.grpc_write import EMITTED, HEADED, PLANNED, UNSENT
from h2model.state import (
    CONNECTION_CREDIT,
    CONTROL,
    CURRENT,
    NONE,
    OUT,
    READY,
    empty_state,
    enter,
    extend_state,
    number_arrival,
    unlink,
    widen,
)

BLOCKED = NONE
_FIRST_SLOTS = 1024


class Machine:
    """One connection's scheduler: which stream sends next, and how much.

    A stream is finished when the kernel has everything handed over of it, or when it was cancelled.
    Its number is not expected again (RFC 9113, section 5.1.1); should it come, it is a new stream
    with a fresh window.

    Parameters
    ----------
    discipline
        A name from `h2model.disciplines.names()`.
    options
        The discipline's parameters by name; see its `OPTIONS`.
    initial_window, connection_window
        Credit that each stream and the connection start with, bytes.
    capacity
        How many streams may be unfinished at once; None: as many as there are.

    Raises
    ------
    ValueError
        An unknown discipline or option.
    """

    def __init__(
        self,
        discipline: str,
        *,
        options: Mapping[str, int | bool | str] | None = None,
        initial_window: int,
        connection_window: int,
        capacity: int | None = None,
    ) -> None:
        self.name = discipline
        self._may_grow = capacity is None
        capacity = capacity or _FIRST_SLOTS
        self._rule = load(discipline)
        self._prepare = getattr(self._rule, "prepare", None)
        self._gathers = self._rule.TRAITS.gathers
        self._headed = 0
        self._partial = False
        self._window = initial_window
        self._slot_of: dict[int, int] = {}
        self._stream_of = [0] * capacity
        self._free = list(range(capacity - 1, -1, -1))
        self._unsent = [0] * capacity
        self._decided = [0] * capacity
        self._cancelled: set[int] = set()
        self._early: dict[int, int] = {}
        self._finished = _Finished()
        self.state = empty_state(capacity, resolve_options(discipline, options or {}))
        self.state.shared[CONNECTION_CREDIT] = connection_window
        self._rule.start(self.state)

    def enqueue(
        self, stream: int, size_bytes: int, now_ns: int, *, priority: int = 0, head_bytes: int = 0
    ) -> None:
        """Hand over `size_bytes` of flow-controlled data of a stream.

        Rules that gather writes count `head_bytes` before it, in place of their options, if given.

        Raises
        ------
        ValueError
            The size is not positive, the stream was cancelled, or too many are unfinished.
        """
        if size_bytes <= 0:
            raise ValueError(f"stream {stream}: size must be > 0, is {size_bytes}")
        if stream in self._cancelled:
            raise ValueError(f"stream {stream}: was cancelled")
        slot = self._slot_of.get(stream)
        if slot is None:
            slot = self._open(stream, priority)
            if self._gathers:
                self.state.tag[slot] = head_bytes
        s = self.state
        s.left[slot] += size_bytes
        self._unsent[slot] += size_bytes
        if s.place[slot] == OUT and s.shared[CURRENT] != slot:
            number_arrival(s, slot)
            self._rule.enqueued(s, slot, now_ns)

    def credit(self, stream: int, size_bytes: int, now_ns: int) -> None:
        """Add credit: WINDOW_UPDATE, or a change of SETTINGS (which may be negative).

        Stream 0 is the connection. Credit for a stream not yet handed over is kept for it, credit
        for a finished one is not.
        """
        s = self.state
        if stream == 0:
            s.shared[CONNECTION_CREDIT] += size_bytes
            return
        slot = self._slot_of.get(stream)
        if slot is None:
            if stream not in self._finished:
                self._early[stream] = self._early.get(stream, 0) + size_bytes
            return
        if widen(s, slot, size_bytes):
            self._rule.credited(s, slot, now_ns)

    def widen(self, more_bytes: int, now_ns: int) -> None:
        """Widen the streams' windows: SETTINGS_INITIAL_WINDOW_SIZE grew by so much."""
        self.resize_windows(self._window + more_bytes, now_ns)

    def resize_windows(self, initial_window: int, now_ns: int) -> None:
        """Change SETTINGS_INITIAL_WINDOW_SIZE: all streams' credit moves by the difference.

        Source: RFC 9113, section 6.9.2.
        """
        difference = initial_window - self._window
        self._window = initial_window
        for stream in self._slot_of:
            self.credit(stream, difference, now_ns)

    def ping(self) -> None:
        """Take a PING of the receiver, whose answer goes out with the next write."""
        self.state.shared[CONTROL] += 1

    @property
    def control(self) -> int:
        """Control frames that the discipline has not yet written."""
        return self.state.shared[CONTROL]

    def prepare(self, now_ns: int) -> None:
        """Let a rule that gathers writes gather the next one if the kernel has the last."""
        if self._prepare is not None:
            self._prepare(self.state, now_ns)

    def next(self, budget_bytes: int, now_ns: int) -> tuple[int, int]:
        """Decide what to send: (stream, bytes), at most `budget_bytes`; (BLOCKED, 0) if none may.

        Raises
        ------
        ValueError
            The budget is not positive.
        """
        if budget_bytes <= 0:
            raise ValueError(f"budget must be > 0, is {budget_bytes}")
        slot, size = self._rule.select(self.state, budget_bytes, now_ns)
        if slot == NONE:
            return BLOCKED, 0
        self._decided[slot] += size
        self._partial = size == budget_bytes
        return self._stream_of[slot], size

    def rest_of_frame_bytes(self, stream: int) -> int:
        """Bytes of the same turn that a rule which gathers writes has decided beyond the last ones.

        They belong to the same frame, as far as a frame is that large.
        """
        s = self.state
        k = s.shared[EMITTED]
        going_on = self._gathers and self._partial and k < s.shared[PLANNED]
        return s.plan_bytes[k] if going_on and s.plan_slot[k] == self._slot_of.get(stream) else 0

    @property
    def emitting(self) -> bool:
        """True if a gathered write has bytes that are still to be emitted."""
        return self._gathers and self.state.shared[EMITTED] < self.state.shared[PLANNED]

    @property
    def write_bytes(self) -> int:
        """Bytes of a gathered write that the kernel has not taken."""
        return self.state.shared[UNSENT] if self._gathers else 0

    @property
    def emits(self) -> int:
        """Stream whose DATA a gathered write emits next; `BLOCKED` if all is emitted."""
        s = self.state
        return self._stream_of[s.plan_slot[s.shared[EMITTED]]] if self.emitting else BLOCKED

    @property
    def heads(self) -> int:
        """Number of streams of the connection whose HEADERS a rule that gathers writes has sent."""
        return self.state.shared[HEADED] if self._gathers else 0

    def has_headed(self, stream: int) -> bool:
        """True if the HEADERS of an unfinished stream were in a gathered write."""
        slot = self._slot_of.get(stream)
        return slot is not None and self.state.visits[slot] > 0

    def headed(self) -> list[int]:
        """Of a rule that gathers writes, the unfinished streams whose HEADERS were in one.

        In the order of hand-over; none where no new ones came since this was asked last.
        """
        s = self.state
        if not self._gathers or s.shared[HEADED] == self._headed:
            return []
        self._headed = s.shared[HEADED]
        return [stream for stream, slot in self._slot_of.items() if s.visits[slot] > 0]

    def planned(self, stream: int) -> bool:
        """True if the last gathered write has DATA of the stream that is still to be emitted."""
        s = self.state
        slots = s.plan_slot[s.shared[EMITTED] : s.shared[PLANNED]]
        return self._slot_of.get(stream) in slots

    def sent(self, stream: int, size_bytes: int, now_ns: int) -> None:
        """Note that the kernel took `size_bytes` that `next` had decided."""
        slot = self._slot_of[stream]
        self._decided[slot] -= size_bytes
        self._unsent[slot] -= size_bytes
        self._rule.sent(self.state, slot, size_bytes, now_ns)
        if self._unsent[slot] == 0:
            self._close(stream)

    def cancel(self, stream: int, now_ns: int) -> None:
        """Drop what is left of a stream; unknown streams are ignored.

        What `next` had already decided is on its way: it still goes to `sent`.
        """
        self._early.pop(stream, None)
        slot = self._slot_of.get(stream)
        if slot is None or stream in self._cancelled:
            return
        self._rule.cancelled(self.state, slot, now_ns)
        if self.state.place[slot] == READY:
            unlink(self.state, slot, OUT)
        self.state.place[slot] = OUT
        self.state.left[slot] = 0
        self._unsent[slot] = self._decided[slot]
        if self._unsent[slot] == 0:
            self._close(stream)
        else:
            self._cancelled.add(stream)

    def done(self, stream: int) -> bool:
        """True if everything handed over of this stream has been taken by the kernel."""
        return stream not in self._slot_of

    def forget_credit(self) -> None:
        """Drop credit kept for streams that never came."""
        self._early.clear()

    @property
    def idle(self) -> bool:
        """True if the kernel has everything that was handed over."""
        return not self._slot_of

    @property
    def unfinished(self) -> tuple[int, ...]:
        """The streams with bytes that the kernel has not taken."""
        return tuple(self._slot_of)

    def _open(self, stream: int, priority: int) -> int:
        if not self._free and self._may_grow:
            self._grow()
        if not self._free:
            raise ValueError(
                f"stream {stream}: more than {len(self._stream_of)} unfinished streams"
            )
        slot = self._free.pop()
        enter(self.state, slot, self._window + self._early.pop(stream, 0), priority)
        self._unsent[slot] = self._decided[slot] = 0
        self._slot_of[stream] = slot
        self._stream_of[slot] = stream
        return slot

    def _grow(self) -> None:
        """Make room for as many streams again."""
        slots = len(self._stream_of)
        extend_state(self.state, slots)
        for values in (self._stream_of, self._unsent, self._decided):
            values.extend([0] * slots)
        self._free = list(range(2 * slots - 1, slots - 1, -1))

    def _close(self, stream: int) -> None:
        self._cancelled.discard(stream)
        self._free.append(self._slot_of.pop(stream))
        self._finished.add(stream)


class _Finished:
    """Set of the finished stream numbers, in a size that does not grow with their count.

    Either end numbers its streams upwards by two (RFC 9113, section 5.1.1); per parity one bound
    stands for all below it.
    """

    def __init__(self) -> None:
        self._bound = [2, 1]
        self._above: set[int] = set()

    def add(self, stream: int) -> None:
        self._above.add(stream)
        parity = stream & 1
        while self._bound[parity] in self._above:
            self._above.remove(self._bound[parity])
            self._bound[parity] += 2

    def __contains__(self, stream: int) -> bool:
        return stream < self._bound[stream & 1] or stream in self._above
