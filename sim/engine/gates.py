"""Arrays of the gates before connections."""

from typing import Any

import numpy as np

from netcosim.policies.gate.state import REGISTERS
from netcosim.training.plan import StepPlan
from sim.kernels.arrays import DELAYED, NONE, G, Ints, Net, Step, W
from sim.plan import Network


def gate_tables(plan: StepPlan) -> dict[str, Ints]:
    """Which operations are held at which gate, and what is known of each message."""
    most = max((len(gate.operations) for gate in plan.gates), default=0)
    gate_of, message_of, brings = (np.full(plan.operations, NONE, dtype=np.int64) for _ in range(3))
    shape = (len(plan.gates), most)
    gate_op, gate_bytes, generated = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for number, gate in enumerate(plan.gates):
        held, count = list(gate.operations), len(gate.operations)
        gate_of[held] = number
        message_of[held] = np.arange(count)
        brings[list(gate.ended_by)] = held
        gate_op[number, :count] = held
        gate_bytes[number, :count] = gate.size_bytes
        generated[number, :count] = gate.generated_ns
    return {
        "gate_of": gate_of,
        "message_of": message_of,
        "brings": brings,
        "gate_op": gate_op,
        "gate_bytes": gate_bytes,
        "gate_generated": generated,
        "gate_messages": np.array([len(g.operations) for g in plan.gates], dtype=np.int64),
    }


def gate_rates(plan: StepPlan, network: Network) -> Ints:
    """(workers * gates, 1) bytes a second of a connection that has both of its ports alone."""
    servers = np.array([plan.channels[gate.channel].server for gate in plan.gates], dtype=np.int64)
    ports = np.minimum(network.server_bps[servers], network.worker_bps[:, np.newaxis])
    rates: Ints = np.maximum(ports // 8, 1).reshape(-1, 1).astype(np.int64)
    return rates


def gate_state(step: Step, net: Net) -> dict[str, Any]:
    """Gates that hold nothing, and no message on its way back."""
    gates, messages = int(step.sizes[W] * step.sizes[G]), step.gate_op.shape[1]
    acknowledged = (gates, messages) if net.flag[DELAYED] else (gates, 1)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    return {
        "gate_stage": ints(gates, messages),
        "gate_line": ints(gates, messages),
        "gate_register": ints(gates, REGISTERS),
        "gate_todo": ints(gates),
        "gate_noted": ints(gates),
        "ack_message": ints(*acknowledged),
        "ack_time": np.zeros(acknowledged),
        "ack_head": ints(gates),
        "ack_count": ints(gates),
    }
