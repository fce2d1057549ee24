"""Benchmark of the virtual clock: equal runs, errors of the models without noise, shares, speed."""
