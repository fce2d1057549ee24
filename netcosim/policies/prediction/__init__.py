"""Predictors of a worker's speed in its next step from those of steps before; one file each."""
