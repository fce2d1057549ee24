"""A training step without I/O: what was delivered and when goes in, what to hand over comes out.

A `Worker` and each `Server` are state machines. Whoever drives them carries what they hand over to
the other side, over a simulated link or a real one, and tells when it has been delivered.
Computations are arithmetic on a processor's own clock: they end when their durations say.

The protocol:

- A worker requests the parameters of its next step as soon as its own part of the last one is over:
  all computed, its last gradient handed over.
- A server answers a worker's request for a step by its own state: when it has all of this worker's
  gradients of the steps before, their updates made, and the bound on staleness allows it.
- Where gradients are pushed, a server acknowledges each one when it has arrived, and a schedule at
  the worker may hold others back until then.
- Where gradients are joined, a server makes its updates once for all workers, when it has the
  gradients of enough of them, and answers when there are newer parameters than a worker has.
"""

from netcosim.training.executor.processors import Ended
from netcosim.training.executor.server import Acknowledgement, Answer, Server
from netcosim.training.executor.worker import Done, Over, Push, Request, Worker

__all__ = [
    "Acknowledgement",
    "Answer",
    "Done",
    "Ended",
    "Over",
    "Push",
    "Request",
    "Server",
    "Worker",
]
