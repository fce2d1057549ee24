"""Baselines, one file each: ``predict(one, workers)``, steps per second of all workers together."""
