"""Synchronisations: bounds on the steps that a worker may be ahead of the slowest one.

A file has ``staleness(gap) -> steps``: a worker may begin its step number s when s less the steps
that the slowest has ended is at most that; None is no bound. `gap` is `training.gap` of the
scenario. A file that says ``JOINS = True`` has servers join the workers' gradients.
"""
