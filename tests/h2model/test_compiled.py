"""The compiled text decides what the interpreted text decides, and leaves the same state."""

import random
import subprocess
import sys

import numpy as np
import pytest

from h2model.disciplines import load, names, resolve_options
from h2model.machine import Machine
from h2model.state import CONNECTION_CREDIT, HEAD, NONE, OUT, READY
from tests.h2model.compiled_machine import (
    CompiledMachine,
    array_state,
    compile_discipline,
    compile_move,
)
from tests.h2model.machine_driver import STREAMS, Driver

# Two sets of options where a discipline has any: its defaults, and some that make it busy.
BUSY = {
    "processor_sharing": {"grain": 17},
    "round_robin": {"quantum": 23},
    "two_visit": {"write": 90, "frame": 20},
    "write_cycle": {
        "target": 150,
        "target_min": 30,
        "target_max": 500,
        "fast_ns": 20,
        "slow_ns": 90,
        "frame": 31,
        "finish_first": 1,
    },
}


def record(seed, length):
    """A long sequence of operations; streams come, go and are cancelled."""
    rng = random.Random(seed)
    steps = []
    for base in range(0, 2 * length // 8, 2 * len(STREAMS)):
        streams = [base + stream for stream in STREAMS]
        for _ in range(8 * len(STREAMS)):
            stream = rng.choice(streams)
            steps.append(
                rng.choices(
                    [
                        ("enqueue", stream, rng.randint(1, 200), rng.randint(-2, 2)),
                        ("next", rng.randint(1, 100)),
                        ("sent", rng.random() < 0.7),
                        ("credit", rng.choice((0, stream)), rng.randint(1, 300)),
                        ("credit", stream, -rng.randint(1, 80)),
                        ("resize", rng.randint(0, 200)),
                        ("cancel", stream),
                        ("wait", rng.randint(0, 60)),
                    ],
                    weights=(4, 12, 10, 5, 0.5, 0.3, 0.5, 4),
                )[0]
            )
    return steps


def play(kind, name, options, steps):
    driver = Driver(kind(name, options=options, initial_window=90, connection_window=400))
    for step in steps:
        driver.play(step)
    return driver


@pytest.mark.oracle
@pytest.mark.parametrize("name", names())
def test_replay_of_a_long_sequence(name):
    for seed, options in enumerate([{}, BUSY.get(name, {})]):
        steps = record(seed, 8000)
        interpreted = play(Machine, name, options, steps)
        compiled = play(CompiledMachine, name, options, steps)
        assert len([d for d in interpreted.log if d[1]]) > 500
        assert interpreted.log == compiled.log
        for ours, theirs in zip(interpreted.machine.state, compiled.machine.state, strict=True):
            assert ours == theirs.tolist()


@pytest.mark.oracle
def test_compiled_functions_are_called_from_compiled_code():
    """As a simulator does: a kernel of its own around a discipline's functions."""
    from numba import njit

    rule = compile_discipline("round_robin")
    enqueued, select, sent = rule.enqueued, rule.select, rule.sent

    @njit
    def serve(state, sizes, budget, order):
        for slot, size in enumerate(sizes):
            state.left[slot] = size
            state.credit[slot] = size
            state.arrival[slot] = slot
            enqueued(state, slot, 0)
        count = 0
        while True:
            slot, size = select(state, budget, 0)
            if slot == NONE:
                return count
            sent(state, slot, size, 0)
            order[count, 0] = slot
            order[count, 1] = size
            count += 1

    state = array_state(3, resolve_options("round_robin", {"quantum": 20}))
    state.shared[CONNECTION_CREDIT] = 1000
    rule.start(state)
    order = np.zeros((10, 2), np.int64)
    count = serve(state, np.array([30, 20, 45], np.int64), 1000, order)
    assert order[:count].tolist() == [[0, 20], [1, 20], [2, 20], [0, 10], [2, 20], [2, 5]]


@pytest.mark.oracle
def test_moves_of_the_list_are_compiled_too():
    state = array_state(2, [])
    compile_move("push_tail")(state, 0)
    compile_move("push_head")(state, 1)
    assert state.shared[HEAD] == 1
    assert state.place.tolist() == [READY, READY]
    compile_move("unlink")(state, 1, OUT)
    assert state.shared[HEAD] == 0


def test_numba_is_not_imported_before_it_is_needed():
    code = "import sys, h2model.predict, sim.kernels.compiled\nsys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_text_is_the_same():
    """The compiled copies hold the very code objects of the discipline's functions."""
    for name in names():
        rule, compiled = load(name), compile_discipline(name)
        assert compiled.select.py_func.__code__ is rule.select.__code__
