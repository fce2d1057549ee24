"""Share strategies of links, one file each; the folder is the registry.

A share has `CLOCKED`: 1 if every connection of a link gets 1/n of it, so that the engine can keep a
virtual clock; and `rates(step, net, run, direction)`, which sets `run.rate` where it is not.
"""
