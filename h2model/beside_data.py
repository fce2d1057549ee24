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
        What each message takes; `first` is for the first of these.
    messages
        Each stream's bytes.
    """

    def __init__(self, machine: Machine, heads: Heads, messages: Mapping[int, int]) -> None:
        self.heads = heads
        self.answers = False
        self._machine = machine
        self._headless = list(messages)
        self._heads_seen = machine.heads
        self._ahead_bytes = 0
        self._to_decide = dict(messages)
        self._requests_came = False

    @property
    def ahead_bytes(self) -> int:
        """Most bytes before the next DATA of a new frame."""
        return self._ahead_bytes + self.heads.first

    def requests_came(self) -> None:
        """Give what requests have used of the sender's own window back, with the next write."""
        self._requests_came = True

    def write_begins(self, heads_before: int) -> None:
        """Begin a gathered write; so many HEADERS had been sent before it.

        It gives credit to the connection: for requests that came, and in pushes for the replies to
        its new messages.
        """
        begins = self.heads.updates and self._machine.heads > heads_before
        if self._requests_came or begins:
            self._requests_came = False
            self._ahead_bytes += WINDOW_UPDATE_BYTES

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
        self._see_heads(stream)
        if stream in self._headless:
            self._send_head(stream)
        before, self._ahead_bytes = self._ahead_bytes, 0
        return before, 0 if left > size else self.heads.tail

    def _see_heads(self, stream: int) -> None:
        """Take HEADERS that left in a gathered write without DATA, as credit was lacking."""
        if self._machine.heads == self._heads_seen:
            return
        self._heads_seen = self._machine.heads
        for other in list(self._headless):
            alone = other != stream and self._machine.has_headed(other)
            if alone and not self._machine.planned(other):
                self._send_head(other)

    def _send_head(self, stream: int) -> None:
        self._headless.remove(stream)
        self._ahead_bytes += self.heads.first
        if self.heads.first != self.heads.each:
            self.heads = replace(self.heads, first=self.heads.each)
