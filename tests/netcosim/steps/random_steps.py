"""Random steps: any DAG behind pulls that wait for nothing."""

from hypothesis import strategies as st

from netcosim.step_graph import StepGraph


def step_of(*operations, capacity=(1,), tensors=None):
    """A step from (kind, duration, predecessors[, tensor or processor]); tensors in order."""
    pulled = 0
    rows = []
    for kind, duration_ns, before, *which in operations:
        tensor = which[0] if which and kind != "compute" else -1
        if kind == "pull":
            tensor = pulled if tensor < 0 else tensor
            pulled += 1
        processor = (which[0] if which else 0) if kind == "compute" else -1
        rows.append((kind, max(tensor, -1), duration_ns, tuple(before), processor))
    return StepGraph(
        kind=tuple(kind for kind, *_ in rows),
        tensor=tuple(max(t, 0) if kind == "push" else t for kind, t, *_ in rows),
        size_bytes=tuple(0 if kind == "compute" else int(d) for kind, _, d, *_ in rows),
        duration_ns=tuple(float(d) for _, _, d, *_ in rows),
        predecessors=tuple(before for *_, before, _ in rows),
        processor=tuple(processor for *_, processor in rows),
        capacity=capacity,
    )


@st.composite
def steps(draw, most_pulls=6, most_others=9, slices=True, most_ns=9):
    """Few durations, so that ties are frequent; pushes at the end of branches alone."""
    pulls = draw(st.integers(1, most_pulls))
    times = st.integers(0 if slices else 1, most_ns)
    tensors = draw(st.permutations(range(pulls)))
    ops = [("pull", draw(times), (), tensor) for tensor in tensors]
    if slices and draw(st.booleans()):
        ops.append(("pull", draw(times), (), draw(st.integers(0, pulls - 1))))
    capacity = tuple(draw(st.lists(st.integers(1, 2), min_size=1, max_size=2)))
    begun = list(range(len(ops)))
    for _ in range(draw(st.integers(0, most_others))):
        before = draw(st.lists(st.sampled_from(begun), max_size=3, unique=True))
        if draw(st.integers(0, 4)):
            begun.append(len(ops))
            ops.append(("compute", draw(times), before, draw(st.integers(0, len(capacity) - 1))))
        else:
            ops.append(("push", draw(times), before, draw(st.integers(0, pulls - 1))))
    return step_of(*ops, capacity=capacity)
