"""Joined gradients: an update is done once for all, when those of enough workers have arrived.

Source: Chen et al., "Revisiting distributed synchronous SGD" (arXiv 1604.00981): with fewer workers
than there are, the others are backups. What happens in detail is in
docs/background/simulator.md#joined-gradients.
"""

JOINS = True


def staleness(gap: int) -> int | None:
    """No bound; workers wait for updates, not for each other."""
    return None
