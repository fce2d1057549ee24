"""Private Linux namespaces around a run; no process in them outlives it."""
