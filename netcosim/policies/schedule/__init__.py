"""Schedules: when a sender hands which gradient to its connection, one file each.

A schedule is a module with `ABOUT` (a sentence), `OPTIONS` (names, defaults and order of its whole
parameters) and the functions `start`, `enqueued`, `select`, `ended` over
`netcosim.policies.gate.state.GateState`. Where it has the option `partition_bytes`, gradients are
cut into messages of at most so many bytes before they reach the gate; 0 leaves them whole. It may
say `ONE_AT_A_TIME` of itself: a message goes when the one before it has been acknowledged.
"""
