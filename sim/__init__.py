"""The discrete-event world. Empty until the simulator is built; see docs/architecture.md."""
