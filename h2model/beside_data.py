"""Frames beside DATA that a sender writes with it: HEADERS, answers to PINGs, credit."""

from collections.abc import Mapping
from dataclasses import replace

from h2model.machine import Machine
from h2model.protocol import PING_FRAME_BYTES, WINDOW_UPDATE_BYTES
from h2model.records import Heads


class BesideData:
    """Counts the bytes that leave before a stream's next DATA and behind it.

    Parameters
    ----------
    machine
        The connection's machine, which knows whose HEADERS were gathered.
    heads
        What each message takes; `first` and `first_tail` are for the first of these.
    messages
        Each stream's bytes.
    head_bytes
        What a stream's HEADERS take, in place of `heads`, where that is known.
    """

    def __init__(
        self,
        machine: Machine,
        heads: Heads,
        messages: Mapping[int, int],
        head_bytes: Mapping[int, int],
    ) -> None:
        self.heads = heads
        self.answers = False
        self._machine = machine
        self._head_bytes = head_bytes
        self._headless = list(messages)
        self._heads_seen = machine.heads
        self._ahead_bytes = 0
        self._to_decide = dict(messages)
        self._requests_came = False
        self._cut = 0
        self._behind_write_bytes = 0

    @property
    def ahead_bytes(self) -> int:
        """Bytes before the next DATA of a new frame."""
        stream = self._machine.emits
        return self._ahead_bytes + (self._head(stream) if stream in self._headless else 0)

    def requests_came(self, *, cut: int) -> None:
        """Give what requests have used of the sender's own window back, with the next write.

        Those that were `cut` get credit of their own, ahead of it.
        """
        self._requests_came = True
        self._cut += cut

    def write_begins(self, heads_before: int) -> None:
        """Begin a gathered write; so many HEADERS had been sent before it.

        Its last frame gives credit to the connection: for requests that came, and in pushes for
        the replies to its new messages.
        """
        begins = self.heads.updates and self._machine.heads > heads_before
        if self._requests_came or begins:
            self._requests_came = False
            self._ahead_bytes += self._cut * WINDOW_UPDATE_BYTES
            self._cut = 0
            self._behind_write_bytes += WINDOW_UPDATE_BYTES

    def answer(self) -> None:
        """Answer a PING ahead of the next DATA."""
        self.answers = True
        self._ahead_bytes += PING_FRAME_BYTES

    def take_answers(self) -> bool:
        """True if a PING's answer is ahead of the DATA that leaves now."""
        answers, self.answers = self.answers, False
        return answers

    def take(self, stream: int, size: int) -> tuple[int, int]:
        """Bytes that leave before these of a stream, and behind them."""
        left = self._to_decide[stream]
        self._to_decide[stream] = left - size
        before, self._ahead_bytes = self._ahead_bytes, 0
        if stream in self._headless:
            before += self._send_head(stream)
        self._see_heads()
        behind = 0 if left > size else self._send_tail()
        if not self._machine.emitting:
            behind += self._behind_write_bytes
            self._behind_write_bytes = 0
        return before, behind

    def _see_heads(self) -> None:
        """Take HEADERS in a gathered write without DATA: there is no credit behind them."""
        if self._machine.heads == self._heads_seen:
            return
        self._heads_seen = self._machine.heads
        for other in list(self._headless):
            if self._machine.has_headed(other) and not self._machine.planned(other):
                self._behind_write_bytes += self._send_head(other)

    def _send_head(self, stream: int) -> int:
        self._headless.remove(stream)
        size_bytes = self._head(stream)
        if self.heads.first != self.heads.each:
            self.heads = replace(self.heads, first=self.heads.each)
        return size_bytes

    def _send_tail(self) -> int:
        size_bytes = self.heads.first_tail
        if size_bytes != self.heads.tail:
            self.heads = replace(self.heads, first_tail=self.heads.tail)
        return size_bytes

    def _head(self, stream: int) -> int:
        return self._head_bytes.get(stream, self.heads.first)
