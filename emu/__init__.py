"""The real world: Mininet networks, real endpoints, captures."""
