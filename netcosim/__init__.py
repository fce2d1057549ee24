"""Shared vocabulary of emulator and simulator: scenarios, traces, metrics, units, errors."""

__version__ = "0.1.0"
