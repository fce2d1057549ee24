"""How the runs of a sweep are made: here in turn, by a Ray of its own, or by a cluster."""
