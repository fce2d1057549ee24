"""Share rule of Li et al. (ICPE 2020), section 5, for two servers.

Connections with one server share its port equally. A worker that is alone at one server while it
is one of n at the other gets 1 - 1/n of the first: the other 1/n of its own port is in use. Where
it is alone at both, the paper's rule says nothing; it gets half of each here.
"""

from sim.kernels.arrays import C, K, Net, Run, Step

CLOCKED = 0
USES_WORKER_PORTS = False
MAY_OVERFILL = False
MOST_SERVERS = 2


def rates(step: Step, net: Net, run: Run, direction: int) -> None:
    """Set the rate of every connection of this direction that has a chunk."""
    channels = step.sizes[C]
    servers = step.sizes[K]
    first = direction * servers
    for f in range(len(run.chunk_bytes)):
        link = step.link_of[f % channels]
        if run.chunk_bytes[f] == 0 or link // servers != direction:
            continue
        here = sending_on(step, run, link)
        share = 1.0 / here
        other = 2 * first + servers - 1 - link  # of the two links of this direction
        if servers == 2 and here == 1 and uses(step, run, f // channels, other):
            there = sending_on(step, run, other)
            share = 1.0 - 1.0 / there if there > 1 else 0.5
        run.rate[f] = share / net.ns_per_byte[link] * factor(step, net, run, link)


def sending_on(step: Step, run: Run, link: int) -> int:
    """Number of connections that have a chunk on the link."""
    count = 0
    for f in range(len(run.chunk_bytes)):
        if run.chunk_bytes[f] > 0 and step.link_of[f % step.sizes[C]] == link:
            count += 1
    return count


def uses(step: Step, run: Run, worker: int, link: int) -> bool:
    """True if a connection of the worker has a chunk on the link."""
    for c in range(step.sizes[C]):
        if step.link_of[c] == link and run.chunk_bytes[worker * step.sizes[C] + c] > 0:
            return True
    return False


def factor(step: Step, net: Net, run: Run, link: int) -> float:
    """Factor of a port's rate: `both_busy` while its other direction is busy, else 1."""
    servers = step.sizes[K]
    other = link - servers if link >= servers else link + servers
    return net.both_busy[0] if sending_on(step, run, other) > 0 else 1.0
