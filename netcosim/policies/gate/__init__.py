"""Gates: what a sender hands to a connection, and when; state of the schedules and how to run one.

A discipline divides a connection among the streams that are on it. A gate stands in front of it and
holds messages back. Both are state machines without I/O.
"""
