"""Processors that a process may use, which in a container are fewer than the machine has."""

import os


def usable_processors() -> int:
    """Count the processors that this process may run on; at least one."""
    return len(os.sched_getaffinity(0))
