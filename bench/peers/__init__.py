"""Peers of our simulator on the same job: SimPy, SimGrid and a twin in C++."""
