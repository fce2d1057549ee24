"""The engine that can do everything: one event at a time, over flat arrays.

Its source keeps to what numba can compile; `sim.kernels.compiled` binds a discipline and a share
to it.
"""
