"""Bulk synchronous parallel: a step begins when all workers have ended the one before.

Source: Valiant, "A bridging model for parallel computation" (CACM 33(8), 1990). There are no backup
workers: the slowest worker of a step is waited for.
"""


def staleness(gap: int) -> int | None:
    """No step; the gap is not used."""
    return 0
