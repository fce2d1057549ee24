"""From a scenario to throughput by number of workers: cells, runs, estimates, traces."""
