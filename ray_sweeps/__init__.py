"""Sweeps over scenarios on Ray. Empty so far; see docs/architecture.md."""
