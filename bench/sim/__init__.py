"""`./dev bench sim`: speed of the simulator, its C++ twin and other simulators."""
