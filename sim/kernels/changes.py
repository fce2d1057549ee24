"""Changes to a simulation that has stopped: workers leave, operations end early or have other work.

For coordinators that decide at run time. Called rarely, so this runs as plain Python over the same
arrays; whoever calls sees to it that time has not gone past the next event.
"""

import math

import numpy as np

from h2model.state import CONNECTION_CREDIT, CURRENT, HEAD, NONE, OUT, READY, TAIL, unlink
from sim.kernels.arrays import (
    ABSENT,
    BUSY,
    BY_STEP,
    BY_TENSOR,
    COMPLETE,
    DELAYED,
    FIRST,
    FREED,
    JOIN,
    NEEDED,
    NO_JOIN,
    PRESENT,
    SLOWEST,
    WAITING,
    C,
    G,
    K,
    N,
    Net,
    P,
    Run,
    Step,
    T,
    U,
)
from sim.kernels.bound import CLOCKED, cancelled, start
from sim.kernels.connections import scheduler, wake
from sim.kernels.gates import empty
from sim.kernels.join import make_if_due, make_step_if_due
from sim.kernels.links import leave, refresh, settle, share_anew
from sim.kernels.modes import flow_ended, switch_mode
from sim.kernels.processors import (
    end_computation,
    end_of_work,
    forget_freed,
    place_leaf,
    segment,
    speed_in,
)
from sim.kernels.shared_processors import end_shared, shared_leaf
from sim.kernels.step_log import request_leaf
from sim.kernels.steps import end_operation, end_step, find_slowest, line_leaf
from sim.kernels.tree import put


def depart(step: Step, net: Net, run: Run, worker: int, presence: int) -> None:
    """Drop the step that a worker is in the midst of; it is `PRESENT` or `ABSENT` afterwards."""
    was_busy = run.presence[worker] == BUSY
    for channel in range(step.sizes[C]):
        _empty(step, net, run, worker, channel)
    for place in range(step.sizes[U]):
        if run.running[worker, place] != NONE:
            run.running[worker, place] = NONE
            put(run.key, run.tree, 0, len(run.key), place_leaf(step, worker, place), math.inf)
    for p in range(step.sizes[P]):
        run.head[worker, p] = run.tail[worker, p] = 0
    if net.flag[DELAYED]:
        put(run.key, run.tree, 0, len(run.key), request_leaf(step, worker), math.inf)
    run.rest[worker, :] = -1.0
    run.computes[worker] = 0
    for gate in range(worker * step.sizes[G], (worker + 1) * step.sizes[G]):
        empty(step, net, run, gate)
    for processor in range(len(step.shared_first) - 1):
        _leave_line(step, net, run, worker, processor)
    if was_busy:
        switch_mode(run, net, worker, WAITING)
    run.presence[worker] = presence
    if net.flag[JOIN] != NO_JOIN:
        run.sent_step[worker, :] = NONE
    find_slowest(run)
    _join_as_many_as_there_are(step, net, run)


def abandon(step: Step, net: Net, run: Run, worker: int) -> None:
    """Drop the step that a worker is in the midst of, and count it as done."""
    if run.presence[worker] != BUSY:
        return
    depart(step, net, run, worker, PRESENT)
    run.done[worker] += 1
    find_slowest(run)


def arrive(step: Step, net: Net, run: Run, worker: int) -> None:
    """Let an absent worker take part from the slowest's step on, with nothing to catch up on."""
    if run.presence[worker] != ABSENT:
        return
    newest = SLOWEST if net.flag[JOIN] == NO_JOIN else COMPLETE
    run.done[worker] = max(run.done[worker], run.scalar[newest])
    run.presence[worker] = PRESENT
    run.mode_since[worker] = run.clock[0]
    find_slowest(run)
    _join_as_many_as_there_are(step, net, run)


def _join_as_many_as_there_are(step: Step, net: Net, run: Run) -> None:
    """Let updates take no more workers' gradients than there are workers."""
    present = sum(1 for each in run.presence if each != ABSENT)
    run.scalar[NEEDED] = min(net.flag[FIRST], present)
    if net.flag[JOIN] == BY_STEP:
        make_step_if_due(step, net, run)
    elif net.flag[JOIN] == BY_TENSOR:
        for update in step.update:
            make_if_due(step, net, run, update)
    forget_freed(step, net, run)


def _leave_line(step: Step, net: Net, run: Run, worker: int, processor: int) -> None:
    """Take a worker's computations off a shared processor and out of its queue."""
    first, room = step.shared_queue[processor], np.diff(step.shared_queue)[processor]
    head, count = run.shared_head[processor], run.shared_count[processor]
    line = [run.shared_line[first + (head + i) % room] for i in range(count)]
    line = [each for each in line if each // step.sizes[N] != worker]
    run.shared_head[processor], run.shared_count[processor] = 0, len(line)
    run.shared_line[first : first + len(line)] = line
    for place in range(step.shared_first[processor], step.shared_first[processor + 1]):
        running = run.shared_running[place]
        if running != NONE and running // step.sizes[N] == worker:
            end_shared(step, net, run, place)
            if run.shared_running[place] == NONE:
                put(run.key, run.tree, 0, len(run.key), shared_leaf(step, place), math.inf)
                run.scalar[FREED] = NONE


def _empty(step: Step, net: Net, run: Run, worker: int, channel: int) -> None:
    """Take everything off a connection, and reset its scheduler."""
    f = worker * step.sizes[C] + channel
    link = step.link_of[channel]
    if run.chunk_bytes[f] > 0:
        run.chunk_bytes[f] = 0
        run.chunk_slot[f] = NONE
        leave(step, net, run, f, link)
        flow_ended(run, worker, link < len(step.on_link) // 2, net)
    run.ahead_head[f] = run.ahead_count[f] = run.ahead_sum[f] = 0
    shared = run.shared[f]
    shared[:] = 0
    shared[HEAD] = shared[TAIL] = shared[CURRENT] = NONE
    shared[CONNECTION_CREDIT] = net.window[1]
    start(scheduler(net, run, f))
    first = worker * step.sizes[T]
    run.connections.place[first : first + step.sizes[T]] = OUT  # type: ignore[call-overload]
    if net.flag[DELAYED]:
        run.line_head[f] = run.line_tail[f] = 0
        put(run.key, run.tree, 0, len(run.key), line_leaf(step, f), math.inf)


def end_early(step: Step, net: Net, run: Run, worker: int, op: int) -> bool:
    """End an operation that is ready or under way, without its rest; true if it was either."""
    if run.presence[worker] != BUSY:
        return False
    found = (
        _cancel_transfer(step, net, run, worker, op)
        if step.slot[op] != NONE
        else _cancel_computation(step, net, run, worker, op)
    )
    ended = found and end_operation(step, net, run, worker, op)
    forget_freed(step, net, run)
    if ended:
        end_step(step, net, run, worker)
    return found


def _cancel_computation(step: Step, net: Net, run: Run, worker: int, op: int) -> bool:
    run.rest[worker, op] = -1.0
    processor = step.processor_of[op]
    if step.shared_of[processor] != NONE:
        return _cancel_shared(step, net, run, worker, op)
    for place in range(step.sizes[U]):
        if run.running[worker, place] == op:
            end_computation(step, net, run, worker, place)
            return True
    first = step.queue_start[processor]
    head, tail = first + run.head[worker, processor], first + run.tail[worker, processor]
    waiting = list(run.queue[worker, head:tail])
    if op not in waiting:
        return False
    waiting.remove(op)
    run.queue[worker, head : tail - 1] = waiting
    run.tail[worker, processor] -= 1
    return True


def _cancel_shared(step: Step, net: Net, run: Run, worker: int, op: int) -> bool:
    """End a computation at a shared processor, or take it out of the queue; false if not there."""
    processor = step.shared_of[step.processor_of[op]]
    entry = worker * step.sizes[N] + op
    for place in range(step.shared_first[processor], step.shared_first[processor + 1]):
        if run.shared_running[place] == entry:
            end_shared(step, net, run, place)
            return True
    first, room = step.shared_queue[processor], np.diff(step.shared_queue)[processor]
    head, count = run.shared_head[processor], run.shared_count[processor]
    line = [run.shared_line[first + (head + i) % room] for i in range(count)]
    if entry not in line:
        return False
    line.remove(entry)
    run.shared_head[processor], run.shared_count[processor] = 0, len(line)
    run.shared_line[first : first + len(line)] = line
    return True


def _cancel_transfer(step: Step, net: Net, run: Run, worker: int, op: int) -> bool:
    """Take the unsent rest of a stream off its connection; false if not ready or all sent."""
    slot = worker * step.sizes[T] + step.slot[op]
    if run.unsent[slot] == 0 or run.waits[worker, op] > 0:
        return False
    channel = step.place[op]
    f = worker * step.sizes[C] + channel
    s = scheduler(net, run, f)
    now = round(run.clock[0])
    if run.chunk_slot[f] == slot:
        s.shared[CONNECTION_CREDIT] += run.chunk_bytes[f]
        run.ahead_sum[f] -= run.chunk_bytes[f] * (net.buffer[0] > 0)
        run.chunk_slot[f] = NONE
        run.chunk_bytes[f] = 0
        link = step.link_of[channel]
        leave(step, net, run, f, link)
        flow_ended(run, worker, link < len(step.on_link) // 2, net)
        wake(run, f)
    _forget_ahead(net, run, f, slot)
    cancelled(s, slot, now)
    if s.place[slot] == READY:
        unlink(s, slot, OUT)
    s.place[slot] = OUT
    s.left[slot] = run.unsent[slot] = 0
    return True


def _forget_ahead(net: Net, run: Run, f: int, slot: int) -> None:
    """Drop chunks of a stream that were chosen ahead, and return their credit."""
    if run.ahead_count[f] == 0:
        return
    room, s = run.ahead_slot.shape[1], scheduler(net, run, f)
    at = [(run.ahead_head[f] + i) % room for i in range(run.ahead_count[f])]
    chunks = [(int(run.ahead_slot[f, i]), int(run.ahead_bytes[f, i])) for i in at]
    kept = [chunk for chunk in chunks if chunk[0] != slot]
    dropped = sum(size for _, size in chunks) - sum(size for _, size in kept)
    s.shared[CONNECTION_CREDIT] += dropped
    run.ahead_sum[f] -= dropped
    run.ahead_head[f], run.ahead_count[f] = 0, len(kept)
    for i, (which, size) in enumerate(kept):
        run.ahead_slot[f, i], run.ahead_bytes[f, i] = which, size
    wake(run, f)


def set_port(step: Step, net: Net, run: Run, server: int, part: float) -> None:
    """Let a server's port carry this part of its own rate from now on, in both directions."""
    servers = step.sizes[K]
    for direction, link in enumerate((server, servers + server)):
        if CLOCKED:
            settle(run, link)
        else:
            net.capacity[direction, server] *= part / run.speed[link]
        run.speed[link] = part
        if CLOCKED:
            refresh(step, run, link)
    if not CLOCKED:
        share_anew(step, net, run, NONE)


def remaining(step: Step, net: Net, run: Run, worker: int, op: int) -> float:
    """Work left of a computation that runs, ns at full speed; < 0 if it does not run."""
    at = _shared_place_of(step, run, worker, op)
    if at != NONE:
        return float(run.key[shared_leaf(step, at)] - run.clock[0])
    place = _place_of(step, run, worker, op)
    if place == NONE:
        return -1.0
    end = run.key[place_leaf(step, worker, place)]
    now = run.clock[0]
    first, last = net.speed_start[worker], net.speed_start[worker + 1]
    if first == last or not step.at_worker[step.place_of[place]]:
        return end - now
    return _work_until(net, first, last, end) - _work_until(net, first, last, now)


def set_remaining(step: Step, net: Net, run: Run, worker: int, op: int, work_ns: float) -> bool:
    """Set the remaining work of a computation from now on; true if the worker is in a step."""
    at = _shared_place_of(step, run, worker, op)
    if at != NONE:
        put(run.key, run.tree, 0, len(run.key), shared_leaf(step, at), run.clock[0] + work_ns)
        return True
    place = _place_of(step, run, worker, op)
    if place == NONE:
        run.rest[worker, op] = work_ns
        return bool(run.presence[worker] == BUSY)
    at_worker = step.at_worker[step.place_of[place]]
    end = end_of_work(net, worker, run.clock[0], work_ns, at_worker)
    put(run.key, run.tree, 0, len(run.key), place_leaf(step, worker, place), end)
    return True


def _place_of(step: Step, run: Run, worker: int, op: int) -> int:
    for place in range(step.sizes[U]):
        if run.running[worker, place] == op:
            return place
    return NONE


def _shared_place_of(step: Step, run: Run, worker: int, op: int) -> int:
    for place in range(len(run.shared_running)):
        if run.shared_running[place] == worker * step.sizes[N] + op:
            return place
    return NONE


def _work_until(net: Net, first: int, last: int, time: float) -> float:
    i = segment(net, first, last, time)
    return net.speed_work[i] + (time - net.speed_time[i]) * speed_in(net, i)
