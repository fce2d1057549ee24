"""Scripts that run inside Mininet hosts; each process is one end of one connection."""
