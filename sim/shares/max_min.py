"""Max-min fair rates over the ports of servers and workers, by progressive filling.

Source: Bertsekas and Gallager, Data Networks, section 6.5.2. Rates of all connections grow
together until a port is full; its connections keep theirs, the others go on.
"""

import math

from sim.kernels.arrays import NONE, C, K, Net, Run, Step, W

CLOCKED = 0
USES_WORKER_PORTS = True
MAY_OVERFILL = False


def rates(step: Step, net: Net, run: Run, direction: int) -> None:
    """Set the rate of every connection of this direction that has a chunk."""
    ports = step.sizes[K] + step.sizes[W]
    for p in range(ports):
        run.port_left[p] = net.capacity[direction, p] * factor(step, net, run, direction, p)
        run.port_users[p] = 0
    undecided = 0
    for f in range(len(run.chunk_bytes)):
        run.decided[f] = 1
        if concerned(step, run, f, direction):
            run.decided[f] = 0
            run.port_users[server_of(step, f)] += 1
            run.port_users[worker_port(step, f)] += 1
            undecided += 1
    while undecided > 0:
        undecided -= fill(step, run, ports)


def fill(step: Step, run: Run, ports: int) -> int:
    """Fix the rates of the connections of the port that is full first; return how many."""
    full = NONE
    least = math.inf
    for p in range(ports):
        if run.port_users[p] > 0 and run.port_left[p] / run.port_users[p] < least:
            least = run.port_left[p] / run.port_users[p]
            full = p
    settled = 0
    for f in range(len(run.chunk_bytes)):
        server = server_of(step, f)
        worker = worker_port(step, f)
        if run.decided[f] == 0 and full in (server, worker):
            run.rate[f] = least
            run.decided[f] = 1
            settled += 1
            for p in (server, worker):
                run.port_left[p] -= least
                run.port_users[p] -= 1
    return settled


def concerned(step: Step, run: Run, connection: int, direction: int) -> bool:
    """True if a connection has a chunk in this direction."""
    link = step.link_of[connection % step.sizes[C]]
    return run.chunk_bytes[connection] > 0 and link // step.sizes[K] == direction


def server_of(step: Step, connection: int) -> int:
    """Index of the port of a connection's server."""
    return step.link_of[connection % step.sizes[C]] % step.sizes[K]


def worker_port(step: Step, connection: int) -> int:
    """Index of the port of a connection's worker."""
    return step.sizes[K] + connection // step.sizes[C]


def factor(step: Step, net: Net, run: Run, direction: int, port: int) -> float:
    """Factor of a port's rate: `both_busy` while its other direction is busy, else 1."""
    if net.both_busy[0] == 1.0:
        return 1.0
    for f in range(len(run.chunk_bytes)):
        ends_here = server_of(step, f) == port or worker_port(step, f) == port
        if ends_here and concerned(step, run, f, 1 - direction):
            return net.both_busy[0]
    return 1.0
