"""Benchmarks: `./dev bench NAME` prints a table and writes bench/results/NAME.json."""
