"""Steps: operations end, others become ready, steps end and begin, workers wait for each other."""

import math

from netcosim.training.plan import DOWN, UP
from sim.kernels.arrays import (
    ABSENT,
    AT_SLOWEST,
    BUSY,
    BY_STEP,
    COMPLETE,
    IN_PARTS,
    JOIN,
    KEEP_ROWS,
    LINES,
    NO_JOIN,
    NONE,
    PRESENT,
    ROWS,
    SLOWEST,
    START_REQUESTS,
    STEPS,
    WAITING,
    K,
    N,
    Net,
    P,
    Progress,
    Run,
    Step,
    W,
)
from sim.kernels.bound import EXTENDED, GATED
from sim.kernels.connections import hand_over
from sim.kernels.gates import hold, message_arrives
from sim.kernels.join import gradient_arrives, has_sent, note_made, pull_is_held
from sim.kernels.joined_parts import (
    all_gradients_arrive,
    end_joined,
    is_joined,
    note_version,
)
from sim.kernels.modes import switch_mode
from sim.kernels.parts import (
    begin_own,
    begin_part,
    end_own,
    is_pull,
    may_answer,
    part_is_over,
    request_arrives,
    slowest_at,
    step_of,
)
from sim.kernels.processors import enter
from sim.kernels.shared_processors import done_ahead, enter_shared
from sim.kernels.step_log import note_begin, note_end, request_leaf
from sim.kernels.tree import put


def line_leaf(step: Step, connection: int) -> int:
    """Index of the arrivals of a connection among the sources of events."""
    return step.first_leaf[LINES] + connection


def make_ready(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """Hand a ready operation over to its gate, connection or processor."""
    if net.flag[KEEP_ROWS]:
        run.ready[worker, op] = run.clock[0]
    if GATED and step.gate_of[op] != NONE:
        hold(step, net, run, worker, op)
    elif step.slot[op] != NONE:
        hand_over(step, net, run, worker, op)
    elif EXTENDED and step.shared_of[step.processor_of[op]] != NONE:
        enter_shared(step, net, run, worker, op)
    else:
        enter(step, net, run, worker, op)


def end_operation(step: Step, net: Net, run: Run, worker: int, op: int) -> bool:
    """End an operation and release those that wait for it; true if it was its step's last."""
    if net.flag[KEEP_ROWS]:
        _note_row(step, net, run, worker, op)
    if GATED and step.brings[op] != NONE:
        message_arrives(step, net, run, worker, step.brings[op])
    for e in range(step.after_start[op], step.after_start[op + 1]):
        follower = step.after[e]
        run.waits[worker, follower] -= 1
        if run.waits[worker, follower] == 0:
            if EXTENDED and net.flag[JOIN] != NO_JOIN and step.once[follower]:
                if gradient_arrives(step, net, run, worker, follower):
                    let_go_on(step, net, run, worker, follower)
            else:
                make_ready(step, net, run, worker, follower)
    run.ops_left[worker] -= 1
    return run.ops_left[worker] == 0


def end_in_parts(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """End an operation where each node goes on by its own state, and what follows from it."""
    part = step.part_of[op]
    if part == NONE:
        return
    if net.flag[KEEP_ROWS]:
        _note_row(step, net, run, worker, op)
    if GATED and step.brings[op] != NONE:
        message_arrives(step, net, run, worker, step.brings[op])
    for e in range(step.after_start[op], step.after_start[op + 1]):
        follower = step.after[e]
        run.waits[worker, follower] -= 1
        if run.waits[worker, follower] == 0 and not is_joined(step, net, follower):
            _make_part_ready(step, net, run, worker, follower)
    if part > 0 and not is_pull(step, op) and part_is_over(run, worker, part):
        _part_is_over(step, net, run, worker, part)
        answer_all(step, net, run, part)
    if part == 0 or is_pull(step, op):
        run.part_left[worker, 0] -= 1
    if not GATED:
        end_own_if_over(step, net, run, worker)


def end_own_if_over(step: Step, net: Net, run: Run, worker: int) -> bool:
    """End a worker's own part of its step if all of it is over, and begin the next one's."""
    if run.part_left[worker, 0] > 0 or run.presence[worker] != BUSY:
        return False
    end_own(run, worker)
    run.presence[worker] = PRESENT
    if run.done[worker] < run.limit[worker]:
        begin_own_part(step, net, run, worker)
    return True


def _part_is_over(step: Step, net: Net, run: Run, worker: int, part: int) -> None:
    run.part_step[worker, part] += 1
    all_gradients_arrive(step, net, run, worker, part)


def _make_part_ready(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """Make an operation ready; a message is over for its sender when its connection has it."""
    make_ready(step, net, run, worker, op)
    if step.slot[op] != NONE and not (GATED and step.gate_of[op] != NONE):
        run.part_left[worker, step.part_of[op] if is_pull(step, op) else 0] -= 1


def begin_own_part(step: Step, net: Net, run: Run, worker: int) -> None:
    """Begin a worker's own part of its next step: compute what waits for nothing, request."""
    recorded = begin_own(step, net, run, worker)
    _ask(step, net, run, worker, UP)
    for i in range(step.sources.shape[1]):
        op = step.sources[recorded, i]
        if step.part_of[op] == 0:
            make_ready(step, net, run, worker, op)


def _ask(step: Step, net: Net, run: Run, worker: int, direction: int) -> None:
    """Send the calls that ask the other end of each connection for a step's tensors."""
    for server in range(step.sizes[K]):
        if step.call[direction, server] != NONE:
            hand_over(step, net, run, worker, step.call[direction, server])


def answer_all(step: Step, net: Net, run: Run, part: int) -> None:
    """Answer all workers that a server may answer, the lowest first."""
    again = True
    while again:
        again = False
        slowest = slowest_at(step, run, part)
        for worker in range(step.sizes[W]):
            if may_answer(net, run, worker, part, slowest):
                _answer(step, net, run, worker, part)
                if run.part_left[worker, part] == 0:
                    _part_is_over(step, net, run, worker, part)
                    again = True


def _answer(step: Step, net: Net, run: Run, worker: int, part: int) -> None:
    """Begin a server's part of a worker's step: hand over what was requested of it.

    Of its computations what can be done ahead was done since the request, in their order, as far as
    the processor had nothing else to do.
    """
    recorded = net.draw[worker, run.part_step[worker, part]]
    begin_part(step, run, worker, part, recorded)
    note_version(run, worker, part)
    for i in range(step.sources.shape[1]):
        op = step.sources[recorded, i]
        if step.part_of[op] == part:
            run.part_left[worker, part] -= step.slot[op] != NONE
            if step.ahead[op] > 0.0:
                takes = step.duration_ns[recorded, op]
                processor = step.shared_of[step.processor_of[op]]
                done = done_ahead(run, processor, run.asked_ns[worker], step.ahead[op] * takes)
                run.rest[worker, op] = max(0.0, takes - done)
            make_ready(step, net, run, worker, op)


def one_less(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """Note that something has happened that an operation of a worker's own waits for."""
    run.waits[worker, op] -= 1
    if run.waits[worker, op] == 0:
        make_ready(step, net, run, worker, op)


def let_go_on(step: Step, net: Net, run: Run, worker: int, update: int) -> None:
    """Release what waits for an update in a worker's step."""
    for e in range(step.after_start[update], step.after_start[update + 1]):
        one_less(step, net, run, worker, step.after[e])


def end_update(step: Step, net: Net, run: Run, update: int) -> None:
    """End an update that is done once for all; workers go on with its result, lowest first."""
    if EXTENDED and net.flag[IN_PARTS]:
        if end_joined(step, net, run, update):
            answer_all(step, net, run, step.part_of[update])
        return
    t = run.made[update]
    complete = note_made(step, net, run, update)
    if net.flag[JOIN] == BY_STEP:
        if complete:
            for worker in range(step.sizes[W]):
                if run.presence[worker] == BUSY and run.done[worker] == t:
                    _release_step(step, net, run, worker)
            if len(step.pull) > 0:
                begin_steps(step, net, run, 0, True)
        return
    for worker in range(step.sizes[W]):
        if has_sent(run, worker, update) and run.done[worker] == t:
            let_go_on(step, net, run, worker, update)
        elif run.presence[worker] == BUSY and run.done[worker] == t + 1:
            for i in range(step.pull_start[update], step.pull_start[update + 1]):
                one_less(step, net, run, worker, step.pull[i])


def _release_step(step: Step, net: Net, run: Run, worker: int) -> None:
    """Release what waits for a step's updates, in the order of hand-over."""
    for i in range(step.released.shape[1]):
        op = step.released[run.rec[worker], i]
        for e in range(step.behind_start[op], step.behind_start[op + 1]):
            if has_sent(run, worker, step.behind[e]):
                one_less(step, net, run, worker, op)


def begin_step(step: Step, net: Net, run: Run, worker: int) -> None:
    """Begin a worker's next step: hand over what waits for nothing."""
    recorded = note_begin(net, run, worker)
    run.ops_left[worker] = step.sizes[N]
    for i in range(step.sizes[N]):
        run.waits[worker, i] = step.waits[i]
    if EXTENDED and net.flag[JOIN] != NO_JOIN:
        run.ops_left[worker] -= len(step.update)
        run.sent[worker] = 0
        run.counted_for[worker] = 0
        for i in range(step.sources.shape[1]):
            op = step.sources[recorded, i]
            run.waits[worker, op] = 1 + pull_is_held(step, net, run, worker, op)
    for p in range(step.sizes[P]):
        run.head[worker, p] = run.tail[worker, p] = 0
    delayed = net.delay_ns[worker] > 0.0
    if delayed:
        arrival = run.clock[0] + net.delay_ns[worker]
        put(run.key, run.tree, 0, len(run.key), request_leaf(step, worker), arrival)
    for i in range(step.sources.shape[1]):
        op = step.sources[recorded, i]
        if not (delayed and is_pull(step, op)):
            ask_for(step, net, run, worker, op)


def ask_for(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """Hand over what waits for nothing in its step; a pull maybe for an update of the last one."""
    if EXTENDED and net.flag[JOIN] != NO_JOIN:
        one_less(step, net, run, worker, op)
    else:
        make_ready(step, net, run, worker, op)


def requests_arrive(step: Step, net: Net, run: Run, worker: int) -> None:
    """Hand over a worker's pulls, as its requests arrive at the servers."""
    if EXTENDED and net.flag[IN_PARTS]:
        request_arrives(step, run, worker)
        _ask(step, net, run, worker, DOWN)
        for part in range(1, 1 + step.sizes[K]):
            answer_all(step, net, run, part)
        return
    put(run.key, run.tree, 0, len(run.key), request_leaf(step, worker), math.inf)
    for i in range(step.sources.shape[1]):
        op = step.sources[run.rec[worker], i]
        if is_pull(step, op):
            ask_for(step, net, run, worker, op)


def end_step(step: Step, net: Net, run: Run, worker: int) -> bool:
    """Record the end of a worker's step; true if the slowest has got further with it."""
    if EXTENDED:
        run.step_row[run.scalar[STEPS], 2] = run.counted_for[worker]
    note_end(run, worker)
    switch_mode(run, net, worker, WAITING)
    was_slowest = run.done[worker] == run.scalar[SLOWEST]
    run.done[worker] += 1
    if EXTENDED and net.flag[JOIN] != NO_JOIN:
        run.done[worker] = max(run.done[worker], run.scalar[COMPLETE])
    run.presence[worker] = PRESENT
    if not was_slowest:
        return False
    run.scalar[AT_SLOWEST] -= 1
    return run.scalar[AT_SLOWEST] == 0 and find_slowest(run)


def find_slowest(run: Progress) -> bool:
    """Update the number of steps that the slowest has ended; true if it is more than before."""
    least = -1
    count = 0
    for w in range(len(run.done)):
        if run.presence[w] == ABSENT:
            continue
        if least < 0 or run.done[w] < least:
            least = run.done[w]
            count = 0
        if run.done[w] == least:
            count += 1
    further = least > run.scalar[SLOWEST]
    run.scalar[SLOWEST] = max(least, 0)
    run.scalar[AT_SLOWEST] = count
    return further


def may_begin(net: Net, run: Progress, worker: int) -> bool:
    """True if a worker that is between two steps may begin its next one."""
    ahead = run.done[worker] - run.scalar[SLOWEST]
    return (
        run.presence[worker] == PRESENT
        and run.done[worker] < run.limit[worker]
        and ahead <= net.staleness[0]
    )


def begin_steps(step: Step, net: Net, run: Run, worker: int, everyone: bool) -> None:
    """Begin the next step of the worker, or of all workers, where they may."""
    first = 0 if everyone else worker
    last = len(run.done) if everyone else worker + 1
    for w in range(first, last):
        if may_begin(net, run, w) and not is_held(step, net, run, w):
            begin_step(step, net, run, w)


def is_held(step: Step, net: Net, run: Run, worker: int) -> bool:
    """True if a worker's next step waits for all updates of the step before."""
    if not EXTENDED or net.flag[JOIN] != BY_STEP:
        return False
    return len(step.pull) > 0 and run.done[worker] > run.scalar[COMPLETE]


def begin_requested(step: Step, net: Net, run: Run) -> None:
    """Begin the steps requested from outside, where the workers may."""
    if run.scalar[START_REQUESTS] == 0:
        return
    for w in range(len(run.start_requested)):
        asked = run.start_requested[w] and may_begin(net, run, w)
        if EXTENDED and net.flag[IN_PARTS]:
            if asked:
                begin_own_part(step, net, run, w)
        elif asked and not is_held(step, net, run, w):
            begin_step(step, net, run, w)
        run.start_requested[w] = 0
    run.scalar[START_REQUESTS] = 0


def _note_row(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    i = run.scalar[ROWS]
    run.row[i, 0] = worker
    run.row[i, 1] = step_of(step, net, run, worker, op)
    run.row[i, 2] = op
    run.row_time[i, 0] = run.ready[worker, op]
    run.row_time[i, 1] = run.begun[worker, op]
    run.row_time[i, 2] = run.clock[0]
    run.scalar[ROWS] = i + 1
