"""The engine that can do everything, and what can be asked of it."""
