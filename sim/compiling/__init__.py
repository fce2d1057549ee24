"""Kernels ahead of their use: which ones a simulation needs, and compiling them side by side."""

from sim.compiling.builds import compile_missing
from sim.compiling.kernel import Kernel
from sim.compiling.needed import kernels_of

__all__ = ["Kernel", "compile_missing", "kernels_of"]
