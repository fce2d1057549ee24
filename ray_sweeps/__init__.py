"""Sweeps over scenarios on Ray. Empty until the simulator is built; see docs/architecture.md."""
