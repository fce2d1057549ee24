"""Processors of workers and servers, as recorded or with a number of cores."""

from dataclasses import dataclass
from typing import Final

from netcosim.training.plan import SERVER, WORKER, Processor
from netcosim.workload import Resource

CORES: Final = "cores"
"""Name of a processor that stands for all of a machine's cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """What computes at workers and servers.

    Attributes
    ----------
    server_cores : of each server, for the work of all workers; None: every worker has its own part
        of a server's resources
    worker_cores : of each worker, for all of its resources together; None: as recorded
    joined : whether an update is done once for all workers, when their gradients have arrived
    gated : whether gradients wait at a gate before they are sent
    send_ns, send_ns_per_byte : what a gradient costs its sender before it is sent, one at a time
    """

    server_cores: int | None = None
    worker_cores: int | None = None
    joined: bool = False
    gated: bool = False
    send_ns: int = 0
    send_ns_per_byte: float = 0.0

    def processor(self, resource: Resource, server: int, *, once: bool = False) -> Processor:
        """The resource at the worker, or at this server; `once` of what is done once for all."""
        at_worker = resource.node == "worker"
        cores = self.worker_cores if at_worker else self.server_cores
        return Processor(
            node=WORKER if at_worker else SERVER,
            server=0 if at_worker else server,
            resource=resource.name if cores is None else CORES,
            capacity=resource.capacity if cores is None else cores,
            shared=not at_worker and (once or cores is not None),
        )


AS_RECORDED: Final = Machines()
"""Every resource as recorded, a server's once for every worker."""
