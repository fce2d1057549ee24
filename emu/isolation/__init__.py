"""Private namespaces around a run, which nothing outlives."""
