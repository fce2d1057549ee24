"""The report of a simulation: how training scales, and why."""
