"""Clocks that a run can be measured by: the machine's own, or a guest's virtual one; a file each.

Each has ``measure(run, found)``: it brings the network up, measures it, runs every cell, and adds
to `Measurements` what it has found as soon as it has it, so that what is finished is never lost.
"""
