"""A training step without I/O: what was delivered and when goes in, what to hand over comes out.

A `Worker` and each `Server` are state machines. Whoever drives them carries what they hand over to
the other side, over a simulated link or a real one, and tells when it has been delivered.
Computations are arithmetic on a processor's own clock: they end when their durations say.

The protocol:

- A worker requests the parameters of its next step as soon as its own part of the last one is over:
  all computed, its last gradient handed over.
- A server answers a worker's request for a step by its own state: when it has all of this worker's
  gradients of the steps before, their updates made, and the bound on staleness allows it.
"""

from netcosim.training.executor.processors import Ended
from netcosim.training.executor.server import Answer, Server
from netcosim.training.executor.worker import Over, Push, Request, Worker

__all__ = ["Answer", "Ended", "Over", "Push", "Request", "Server", "Worker"]
