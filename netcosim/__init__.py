"""Shared vocabulary of emulator and simulator: scenarios, traces, metrics, units, errors."""
