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
        self._left = {plan.stream: plan for plan in plans if plan.head_bytes}
        self._due_bytes = 0
        self._answers = False

    def handed_over(self, stream: int) -> None:
        """Note that a message was handed over, whose HEADERS go with the next write."""
        plan = self._left.pop(stream, None)
        if plan is not None:
            self._due_bytes += plan.head_bytes
            self._answers |= plan.is_answer

    def write(self, queue: Queue, now: float) -> None:
        """Write the HEADERS that are due, behind the acknowledgement of the requests."""
        if not self._due_bytes:
            return
        if self._answers:
            queue.charge(now)
        queue.put_control(self._due_bytes, now)
        self._due_bytes, self._answers = 0, False
