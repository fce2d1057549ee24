"""The generic engine, and the interface that it shares with the fast path."""
