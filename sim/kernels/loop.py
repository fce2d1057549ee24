"""Event loop of the generic engine: the earliest event, what it ends, what then begins."""

import math

from sim.kernels.arrays import (
    ACKNOWLEDGED,
    AT_SERVERS,
    AT_WORKERS,
    BOUNDARY,
    CHUNKS,
    EVENTS,
    FULL,
    IDLE,
    IN_PARTS,
    KEEP_CHUNKS,
    KEEP_ROWS,
    LAST,
    LINES,
    NONE,
    REQUESTS,
    ROWS,
    SHARED_PLACES,
    STEPS,
    STOP_AT_LAST,
    STOP_AT_STEPS,
    TIME,
    TODO,
    UPLINKS,
    C,
    Net,
    Run,
    Step,
    W,
)
from sim.kernels.bound import EXTENDED, GATED, borrow
from sim.kernels.connections import choose, end_chunk
from sim.kernels.gates import acknowledgement_arrives, let_through
from sim.kernels.processors import end_computation, forget_freed
from sim.kernels.shared_processors import end_shared
from sim.kernels.steps import (
    begin_requested,
    begin_steps,
    end_in_parts,
    end_operation,
    end_own_if_over,
    end_step,
    end_update,
    line_leaf,
    requests_arrive,
)
from sim.kernels.tree import put


def advance(step: Step, net: Net, run: Run, until_ns: float) -> int:
    """Simulate up to and including `until_ns`; return why it stopped (see `sim.kernels.arrays`)."""
    return run_loop(borrow(step), borrow(net), borrow(run), until_ns)


def run_loop(step: Step, net: Net, run: Run, until_ns: float) -> int:
    """`advance` on borrowed tuples; see `sim.kernels.borrowed`."""
    begin_requested(step, net, run)
    wake_up(step, net, run)
    while True:
        if no_room(net, run):
            return FULL
        leaf = run.tree[1]
        now = run.key[leaf]
        if now == math.inf:
            return IDLE
        if now > until_ns:
            return TIME
        run.clock[0] = now
        run.scalar[EVENTS] += 1
        worker, op = dispatch(step, net, run, leaf)
        ended = False
        if op != NONE and EXTENDED and net.flag[IN_PARTS]:
            end_in_parts(step, net, run, worker, op)
        elif op != NONE:
            ended = end_operation(step, net, run, worker, op)
        forget_freed(step, net, run)
        if ended:
            further = end_step(step, net, run, worker)
            if net.flag[STOP_AT_STEPS] == 0:
                begin_steps(step, net, run, worker, further)
        wake_up(step, net, run)
        if ended and net.flag[STOP_AT_STEPS]:
            return BOUNDARY
        if ended and net.flag[STOP_AT_LAST] and run.done[worker] >= run.limit[worker]:
            return LAST


def wake_up(step: Step, net: Net, run: Run) -> None:
    """Ask every gate that was noted, then let every such connection choose a chunk."""
    if GATED:
        let_through(step, net, run)
        if EXTENDED and net.flag[IN_PARTS]:
            while some_own_part_ended(step, net, run):
                let_through(step, net, run)
    for i in range(run.scalar[TODO]):
        choose(step, net, run, run.todo[i])
    run.scalar[TODO] = 0


def some_own_part_ended(step: Step, net: Net, run: Run) -> bool:
    """End workers' own parts that are over now, and begin the next ones; true if there was one."""
    some = False
    for worker in range(step.sizes[W]):
        some |= end_own_if_over(step, net, run, worker)
    return some


def no_room(net: Net, run: Run) -> bool:
    """True if a table could overflow with the next event."""
    if run.scalar[STEPS] >= len(run.step_row):
        return True
    if net.flag[KEEP_ROWS] and run.scalar[ROWS] >= len(run.row):
        return True
    return net.flag[KEEP_CHUNKS] > 0 and run.scalar[CHUNKS] >= len(run.chunk)


def dispatch(step: Step, net: Net, run: Run, leaf: int) -> tuple[int, int]:
    """Process the event of a source: the worker, and the operation that ended or NONE."""
    first = step.first_leaf
    if leaf < first[AT_WORKERS] or first[UPLINKS] <= leaf < first[AT_SERVERS]:
        return sent_off(step, net, run, step.what[leaf])
    worker = step.who[leaf]
    if EXTENDED and first[SHARED_PLACES] <= leaf < first[LINES]:
        return end_for_all(step, net, run, step.what[leaf])
    if leaf < first[LINES]:
        return worker, end_computation(step, net, run, worker, step.what[leaf])
    if leaf < first[REQUESTS]:
        return worker, arrive(step, run, step.what[leaf])
    if GATED and leaf >= first[ACKNOWLEDGED]:
        acknowledgement_arrives(step, net, run, step.what[leaf])
    else:
        requests_arrive(step, net, run, worker)
    return NONE, NONE


def end_for_all(step: Step, net: Net, run: Run, place: int) -> tuple[int, int]:
    """End what runs at a shared processor's place: the worker and operation, or NONE for both."""
    owner, op = end_shared(step, net, run, place)
    if owner == step.sizes[W]:
        end_update(step, net, run, op)
        return NONE, NONE
    return owner, op


def sent_off(step: Step, net: Net, run: Run, link: int) -> tuple[int, int]:
    """End a link's chunk: the worker, and the operation if it has ended, else NONE."""
    connection, op = end_chunk(step, net, run, link)
    worker = connection // step.sizes[C]
    if op != NONE and net.delay_ns[worker] > 0.0:
        i = run.line_tail[connection]
        run.line_op[connection, i] = op
        run.line_time[connection, i] = run.clock[0] + net.delay_ns[worker]
        run.line_tail[connection] = i + 1
        if run.line_head[connection] == i:
            announce(step, run, connection)
        return worker, NONE
    return worker, op


def arrive(step: Step, run: Run, connection: int) -> int:
    """Let a connection's first transfer on its way arrive; return its operation."""
    op = run.line_op[connection, run.line_head[connection]]
    run.line_head[connection] += 1
    announce(step, run, connection)
    return op


def announce(step: Step, run: Run, connection: int) -> None:
    """Schedule the arrival of the connection's next transfer."""
    i = run.line_head[connection]
    time = math.inf
    if i < run.line_tail[connection]:
        time = run.line_time[connection, i]
    else:
        run.line_head[connection] = run.line_tail[connection] = 0
    put(run.key, run.tree, 0, len(run.key), line_leaf(step, connection), time)
