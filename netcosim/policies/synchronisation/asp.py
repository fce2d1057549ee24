"""Asynchronous parallel: no worker waits for another.

Source: Dean et al., "Large scale distributed deep networks" (NIPS 2012), Downpour SGD; Li et al.
(ICPE 2020).
"""


def staleness(gap: int) -> int | None:
    """No bound; the gap is not used."""
    return None
