"""Connections: the discipline chooses a chunk, the chunk ends, credit returns."""

from typing import Any

from h2model.state import CONNECTION_CREDIT, CURRENT, State, enter, number_arrival, widen
from sim.kernels.arrays import (
    CHUNKS,
    KEEP_CHUNKS,
    KEEP_ROWS,
    NONE,
    TODO,
    C,
    K,
    Net,
    Run,
    Step,
    T,
)
from sim.kernels.bound import EXTENDED, borrow, credited, enqueued, select, sent
from sim.kernels.links import first_on, join, leave, load
from sim.kernels.modes import flow_began, flow_ended
from sim.kernels.parts import step_of


def scheduler(net: Net, run: Run, connection: int) -> State:
    """Discipline state of one connection: all share the stream tables, the rest is its own."""
    plan = (run.plan_slot[connection], run.plan_bytes[connection])
    return on_tables(run.connections, plan, run.shared[connection], net.option)


def on_tables(s: State, plan: tuple[Any, Any], shared: Any, option: Any) -> State:
    """State of a connection whose streams are in the tables of `s`; `plan` is its writes'."""
    return State(
        s.left,
        s.credit,
        s.priority,
        s.arrival,
        s.visits,
        s.tag,
        s.place,
        s.before,
        s.after,
        plan[0],
        plan[1],
        shared,
        option,
    )


def hand_over(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """Hand a ready transfer over: its stream enters the connection's scheduler.

    A sender that writes each message lets the kernel take what it can before the next one.
    """
    connection = worker * step.sizes[C] + step.place[op]
    slot = worker * step.sizes[T] + step.slot[op]
    run.unsent[slot] = step.size_bytes[op]
    s = borrow(scheduler(net, run, connection))
    offer(s, slot, run.unsent[slot], net.window[0], step.priority[op], round(run.clock[0]))
    if EXTENDED and net.buffer[1] > 0:
        choose_ahead(net, run, connection)
    if run.chunk_slot[connection] == NONE or (EXTENDED and net.buffer[0] > 0):
        wake(run, connection)


def offer(s: State, slot: int, size_bytes: int, window_bytes: int, priority: int, now: int) -> None:
    """Enter a stream into a scheduler, with a whole window."""
    enter(s, slot, window_bytes, priority)
    s.left[slot] = size_bytes
    if s.shared[CURRENT] == slot:
        s.shared[CURRENT] = NONE
    number_arrival(s, slot)
    enqueued(s, slot, now)


def taken(s: State, slot: int, size_bytes: int, unsent_bytes: int, now: int) -> None:
    """Note that a chunk has left, and return its credit; `unsent_bytes` of the stream are left."""
    sent(s, slot, size_bytes, now)
    give_back(s, slot, size_bytes, unsent_bytes, now)


def give_back(s: State, slot: int, size_bytes: int, unsent_bytes: int, now: int) -> None:
    """Return the credit of a chunk that has left; `unsent_bytes` of the stream are left."""
    s.shared[CONNECTION_CREDIT] += size_bytes
    if unsent_bytes > 0 and widen(s, slot, size_bytes):
        credited(s, slot, now)


def wake(run: Run, connection: int) -> None:
    """Note that the connection has to choose a chunk before time goes on."""
    if run.noted[connection] == 0:
        run.noted[connection] = 1
        run.todo[run.scalar[TODO]] = connection
        run.scalar[TODO] += 1


def choose(step: Step, net: Net, run: Run, connection: int) -> None:
    """Put the connection's next chunk on the link, or leave the link."""
    worker = connection // step.sizes[C]
    link = step.link_of[connection - worker * step.sizes[C]]
    was_busy = run.chunk_bytes[connection] > 0
    run.noted[connection] = 0
    if EXTENDED and net.buffer[0] > 0:
        choose_ahead(net, run, connection)
        if run.chunk_slot[connection] != NONE:
            return
        slot, size = first_ahead(run, connection)
    else:
        s = borrow(scheduler(net, run, connection))
        slot, size = select(s, net.budget[0], round(run.clock[0]))
    if slot == NONE:
        if was_busy:
            run.chunk_bytes[connection] = 0
            leave(step, net, run, connection, link)
            flow_ended(run, worker, link < step.sizes[K], net)
        return
    if not was_busy:
        join(step, net, run, connection, link)
        flow_began(run, worker, link < step.sizes[K], net)
    run.chunk_slot[connection] = slot
    run.chunk_bytes[connection] = size
    run.chunk_start[connection] = run.clock[0]
    op = step.slot_op[slot - worker * step.sizes[T]]
    if net.flag[KEEP_ROWS] and run.unsent[slot] == step.size_bytes[op]:
        run.begun[worker, op] = run.clock[0]
    load(step, net, run, connection, link, not was_busy)


def choose_ahead(net: Net, run: Run, connection: int) -> None:
    """Let the discipline choose chunks, and the kernel take them, as long as there is room."""
    s = borrow(scheduler(net, run, connection))
    now = round(run.clock[0])
    room = run.ahead_slot.shape[1]
    while run.ahead_count[connection] < room:
        used = run.ahead_sum[connection]
        if used > 0 and used + net.budget[0] > net.buffer[0]:
            return
        slot, size = select(s, net.budget[0], now)
        if slot == NONE:
            return
        sent(s, slot, size, now)
        at = (run.ahead_head[connection] + run.ahead_count[connection]) % room
        run.ahead_slot[connection, at] = slot
        run.ahead_bytes[connection, at] = size
        run.ahead_count[connection] += 1
        run.ahead_sum[connection] += size


def first_ahead(run: Run, connection: int) -> tuple[int, int]:
    """Take the first of the chunks that were chosen; NONE if there is none."""
    if run.ahead_count[connection] == 0:
        return NONE, 0
    at = run.ahead_head[connection]
    run.ahead_head[connection] = (at + 1) % run.ahead_slot.shape[1]
    run.ahead_count[connection] -= 1
    return run.ahead_slot[connection, at], run.ahead_bytes[connection, at]


def end_chunk(step: Step, net: Net, run: Run, link: int) -> tuple[int, int]:
    """End the link's next chunk: (connection, operation); NONE if bytes of the latter are left."""
    connection = first_on(step, run, link)
    worker = connection // step.sizes[C]
    slot = run.chunk_slot[connection]
    size = run.chunk_bytes[connection]
    op = step.slot_op[slot - worker * step.sizes[T]]
    run.unsent[slot] -= size
    s = borrow(scheduler(net, run, connection))
    if EXTENDED and net.buffer[0] > 0:
        run.ahead_sum[connection] -= size
        give_back(s, slot, size, run.unsent[slot], round(run.clock[0]))
    else:
        taken(s, slot, size, run.unsent[slot], round(run.clock[0]))
    if net.flag[KEEP_CHUNKS]:
        _note(run, worker, step_of(step, net, run, worker, op), op, size, connection)
    run.chunk_slot[connection] = NONE
    wake(run, connection)
    return connection, op if run.unsent[slot] == 0 else NONE


def _note(run: Run, worker: int, number: int, op: int, size: int, connection: int) -> None:
    i = run.scalar[CHUNKS]
    run.chunk[i, 0] = worker
    run.chunk[i, 1] = number
    run.chunk[i, 2] = op
    run.chunk[i, 3] = size
    run.chunk_time[i, 0] = run.chunk_start[connection]
    run.chunk_time[i, 1] = run.clock[0]
    run.scalar[CHUNKS] = i + 1
