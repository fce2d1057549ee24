"""Sweep files: a base scenario, what varies, and in which ways; read and validated."""

from ray_sweeps.sweep_file.reading import parse_sweep, read_sweep
from ray_sweeps.sweep_file.sweep import Group, Price, Sweep, Varied

__all__ = ["Group", "Price", "Sweep", "Varied", "parse_sweep", "read_sweep"]
