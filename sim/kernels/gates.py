"""Gates before connections: messages are held back, go when the schedule says, are acknowledged."""

import math
from typing import Any

from netcosim.policies.gate.state import GateState, acknowledge, arrive, reset, submit
from sim.kernels.arrays import (
    ACKNOWLEDGED,
    DELAYED,
    GATES_TODO,
    IN_PARTS,
    NONE,
    G,
    Net,
    Run,
    Step,
)
from sim.kernels.bound import EXTENDED, borrow, gate_ended, gate_enqueued, gate_select, gate_start
from sim.kernels.connections import hand_over
from sim.kernels.processors import enter
from sim.kernels.tree import put


def gate_state(step: Step, net: Net, run: Run, gate: int) -> GateState:
    """State of a gate; what belongs to the job is the same for all workers."""
    own = gate % step.sizes[G]
    option: Any = net.gate_option
    return GateState(
        step.gate_bytes[own],
        step.gate_generated[own],
        run.gate_stage[gate],
        run.gate_line[gate],
        run.gate_register[gate],
        option,
        net.gate_rate[gate],
    )


def hold(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """Hand what is ready to its gate, which is asked before time goes on."""
    gate = worker * step.sizes[G] + step.gate_of[op]
    now = round(run.clock[0])
    g = borrow(gate_state(step, net, run, gate))
    arrive(g, step.message_of[op], now)
    gate_enqueued(g, step.message_of[op], now)
    _note(run, gate)


def let_through(step: Step, net: Net, run: Run) -> None:
    """Ask every gate that was noted, and hand on what it lets through."""
    now = round(run.clock[0])
    for k in range(run.scalar[GATES_TODO]):
        gate = run.gate_todo[k]
        run.gate_noted[gate] = 0
        worker = gate // step.sizes[G]
        own = gate - worker * step.sizes[G]
        g = borrow(gate_state(step, net, run, gate))
        i = gate_select(g, now)
        while i != NONE:
            submit(g, i)
            op = step.gate_op[own, i]
            if step.slot[op] != NONE:
                hand_over(step, net, run, worker, op)
                if EXTENDED and net.flag[IN_PARTS]:
                    run.part_left[worker, 0] -= 1
            else:
                enter(step, net, run, worker, op)
            i = gate_select(g, now)
    run.scalar[GATES_TODO] = 0


def message_arrives(step: Step, net: Net, run: Run, worker: int, op: int) -> None:
    """A message has arrived; its gate hears of it now, or after the path's delay."""
    gate = worker * step.sizes[G] + step.gate_of[op]
    if net.delay_ns[worker] == 0.0:
        _hear(step, net, run, gate, step.message_of[op])
        return
    room = run.ack_message.shape[1]
    at = (run.ack_head[gate] + run.ack_count[gate]) % room
    run.ack_message[gate, at] = step.message_of[op]
    run.ack_time[gate, at] = run.clock[0] + net.delay_ns[worker]
    run.ack_count[gate] += 1
    if run.ack_count[gate] == 1:
        _announce(step, run, gate)


def acknowledgement_arrives(step: Step, net: Net, run: Run, gate: int) -> None:
    """Let a gate hear of the next message that has arrived."""
    i = run.ack_message[gate, run.ack_head[gate]]
    run.ack_head[gate] = (run.ack_head[gate] + 1) % run.ack_message.shape[1]
    run.ack_count[gate] -= 1
    _announce(step, run, gate)
    _hear(step, net, run, gate, i)


def empty(step: Step, net: Net, run: Run, gate: int) -> None:
    """Reset a gate, whose messages are all to come."""
    g = borrow(gate_state(step, net, run, gate))
    reset(g, step.gate_messages[gate % step.sizes[G]])
    gate_start(g)
    run.ack_head[gate] = run.ack_count[gate] = 0
    if net.flag[DELAYED]:
        _announce(step, run, gate)


def _hear(step: Step, net: Net, run: Run, gate: int, i: int) -> None:
    g = borrow(gate_state(step, net, run, gate))
    acknowledge(g, i)
    gate_ended(g, i, round(run.clock[0]))
    _note(run, gate)


def _announce(step: Step, run: Run, gate: int) -> None:
    """Schedule the next time at which a gate hears of a message."""
    time = math.inf
    if run.ack_count[gate] > 0:
        time = run.ack_time[gate, run.ack_head[gate]]
    put(run.key, run.tree, 0, len(run.key), step.first_leaf[ACKNOWLEDGED] + gate, time)


def _note(run: Run, gate: int) -> None:
    if run.gate_noted[gate] == 0:
        run.gate_noted[gate] = 1
        run.gate_todo[run.scalar[GATES_TODO]] = gate
        run.scalar[GATES_TODO] += 1
