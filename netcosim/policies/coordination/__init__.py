"""Coordinators: who begins its next step when, with which batch; one file each.

A coordinator is a state machine without I/O. In goes what it has observed: that a worker has ended
a step, how long the worker was at it, and how much of its machine is in use now. Out come
decisions. It knows nothing of what drives it, a simulator or real workers, and nothing of the
future.
"""
