"""Source of the generic engine, which numba compiles: one event at a time, over flat arrays.

`compiled` binds a discipline and a share to it; compiled code is cached.
"""
