"""Runner of a sweep: in this process, on a Ray of its own, or on a cluster."""
