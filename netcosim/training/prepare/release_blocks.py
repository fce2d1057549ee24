"""Gradients that are released in blocks, as frameworks do that aggregate them before they send.

Source: Zhang et al. (Prophet, ICPP 2021), section 2.2: gradients appear in steps, as the framework
aggregates those of several layers. A profile by layer does not have that, so it is the job's.
"""

from netcosim.training.prepare.graph import graph_of_names
from netcosim.workload import Profile


def in_blocks(profile: Profile, block_bytes: int) -> Profile:
    """A profile whose gradients may go when so many bytes of them, or all, are computed.

    Gradients are taken in the order in which their computations can end; one that waits for no
    computation of its worker is left alone.
    """
    operations, step = profile.step.operations, profile.step
    graph = graph_of_names({op.name: tuple(dict.fromkeys(op.after)) for op in operations})
    turn = {operations[i].name: at for at, i in enumerate(graph.order)}
    computed = {op.name for op in step.computes if step.phase(op) == "worker"}
    last = {
        op.name: max((turn[name] for name in op.after if name in computed), default=-1)
        for op in step.transfers
        if op.source == "worker"
    }
    after = {op.name: op.after for op in operations}
    block: list[str] = []
    waiting_bytes = 0
    pushes = sorted(
        (op for op in step.transfers if last.get(op.name, -1) >= 0), key=lambda op: last[op.name]
    )
    for op in pushes:
        block.append(op.name)
        waiting_bytes += op.size_bytes
        if waiting_bytes >= block_bytes or op is pushes[-1]:
            together = tuple(dict.fromkeys(name for each in block for name in after[each]))
            after.update(dict.fromkeys(block, together))
            block, waiting_bytes = [], 0
    changed = tuple(op.model_copy(update={"after": after[op.name]}) for op in operations)
    return profile.model_copy(update={"step": step.model_copy(update={"operations": changed})})
