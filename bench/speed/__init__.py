"""How fast the simulator is, beside the same by hand in C++ and other people's simulators."""
