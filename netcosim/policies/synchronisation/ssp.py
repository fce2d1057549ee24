"""Stale synchronous parallel: a worker may be so many steps ahead of the slowest one.

Source: Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server"
(NIPS 2013). With a gap of 0 it is bulk synchronous.
"""


def staleness(gap: int) -> int | None:
    """The gap, in steps."""
    return gap
