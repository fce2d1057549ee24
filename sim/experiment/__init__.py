"""Throughput of a scenario by number of workers: cells, runs, estimates, traces."""
