"""Differences between two runs: what changed, by how much, and whether chance explains it."""
