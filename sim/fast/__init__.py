"""The fast path; see `docs/background/simulator.md`."""
