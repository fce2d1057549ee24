"""HEADERS that our own sender writes ahead of the DATA of what is handed over with them."""

from collections.abc import Sequence

from h2model.link import Queue
from h2model.records import StreamPlan


class OwnHeads:
    """HEADERS of a burst's messages; none where they are not known.

    Parameters
    ----------
    plans
        The burst's messages.
    """

    def __init__(self, plans: Sequence[StreamPlan]) -> None:
        self._left = {plan.stream: (plan.head_bytes, plan.is_answer) for plan in plans}
        self._due_bytes = 0
        self._answers = False

    def handed_over(self, stream: int) -> None:
        """Note that a message was handed over, whose HEADERS go with the next write."""
        head_bytes, is_answer = self._left.pop(stream)
        self._due_bytes += head_bytes
        self._answers |= is_answer and head_bytes > 0

    def are(self, stream: int, head_bytes: int) -> None:
        """Learn the length of HEADERS that was not planned."""
        self._left[stream] = (head_bytes, self._left[stream][1])

    def write(self, queue: Queue, now: float) -> None:
        """Write the HEADERS that are due, behind the acknowledgement of the requests."""
        if not self._due_bytes:
            return
        if self._answers:
            queue.charge(now)
        queue.put_control(self._due_bytes, now)
        self._due_bytes, self._answers = 0, False
