"""The fast path: a few events a step instead of thousands, for DAGs of the usual shape.

Where a worker pulls everything at once, computes in one chain, and pushes only when all has been
pulled, what a worker does meanwhile concerns nobody else. Others notice only when its connections
begin and end to use a link; the rest is worked out when a link's whole history is known
(`docs/background/simulator.md`).
"""
