"""TCP over links of one queue, packet by packet: windows, losses, and what each connection gets.

`network` has the ports and their events, `cubic` how a window grows, `connection` one way of a
connection, `frames` what a sender of frames knows of it. Such shares hang on microseconds; the
models are of what is typical, not of one run.
"""
