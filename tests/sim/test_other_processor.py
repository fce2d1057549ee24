"""Figures on a processor that lacks instructions which this one has: the same."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from tests.inside import ROOT

PROGRAM = """
import json, sim
base = {"training.steps": 200, "training.workers": [2, 4, 8]}
jitters = [{"model": "lognormal", "spread": 0.2}, {"model": "pareto", "spread": 0.25}]
rows = []
for options in jitters:
    straggler = [{"kind": "jitter", "workers": "all", "options": options}]
    for changes in ({}, {"straggler": straggler, "training.synchronisation": "bsp"}):
        result = sim.simulate("default", {**base, **changes}, compared=False)
        rows += [row["examples_per_s"] for row in result.runs.to_pylist()]
print(json.dumps(rows))
"""


def simulated(without: list[str]) -> list[float]:
    """Figures, where numpy uses none of these features of the processor."""
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NPY_DISABLE_CPU_FEATURES": " ".join(without)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout))


@pytest.mark.oracle
def test_figures_are_the_same() -> None:
    """Where this processor has AVX-512, its exponentials differ in the last bit from AVX2's."""
    there = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    figures = simulated([])
    assert len(figures) == 120 and len(set(figures)) > 60
    assert simulated(there) == figures


def test_a_bit_of_a_factor_is_rounded_away() -> None:
    from netcosim.workload.durations import _same_everywhere

    drawn = np.random.default_rng(3).lognormal(0.0, 0.2, 10_000)
    once = _same_everywhere(drawn)
    assert np.array_equal(_same_everywhere(np.nextafter(drawn, 2.0)), once)
    assert np.abs(once / drawn - 1).max() < 2**-24
