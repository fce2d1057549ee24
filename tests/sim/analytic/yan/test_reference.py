"""The model against the reference's cases, under the default reading and each other one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench.peers.yan_brute import brute
from sim.analytic.yan.model import Reading, read_as, terms
from sim.analytic.yan.search import optimize
from tests.sim.analytic.yan.made import case_problem, shape

pytestmark = pytest.mark.shared

NAMES = {
    "compute": "compute_s",
    "update": "update_s",
    "communication": "messages_s",
    "read": "reads_s",
    "epoch": "epoch_s",
    "read_bits": "read_bits",
    "M_w_min": "read_best_s",
    "M_w_max": "read_worst_s",
    "epoch_read_best": "epoch_best_s",
    "epoch_read_worst": "epoch_worst_s",
    "epoch_bounded": "bounded_s",
}
FLOORS = {
    "server_link": "server_link_s",
    "server_update": "server_update_s",
    "worker_link": "worker_link_s",
}
LAYERS = {
    "U_f": "forward_s",
    "M_f": "forward_messages_s",
    "U_b": "backward_s",
    "M_b": "backward_messages_s",
    "U_w": "update_s",
    "T": "total_s",
    "Q": "concurrency",
    "A": "activations",
    "E": "errors",
    "W": "connections",
}


def cases() -> list[dict[str, Any]]:
    default = Path(__file__).parents[5] / "shared"
    folder = Path(os.environ.get("NETCOSIM_SHARED", default)) / "data" / "yan"
    found = [c for f in sorted(folder.glob("*.json")) for c in json.loads(f.read_text())["cases"]]
    assert found, f"{folder}: no cases"
    return found


def case_shape(case: dict[str, Any]) -> Any:
    given = case["given"]["config"]
    return shape(given["ps"], given["mr"], given["wr"], *given["layers"], maps=given["maps"])


def test_every_term_of_every_case_is_the_references():
    for case in cases():
        found = terms(case_problem(case, Reading()), case_shape(case))
        wanted = case["given"]["terms"]
        for key, name in NAMES.items():
            assert getattr(found, name) == pytest.approx(wanted[key], rel=1e-9), (case["id"], key)
        for key, name in FLOORS.items():
            assert getattr(found, name) == pytest.approx(wanted["floors"][key], rel=1e-9)
        for layer, expected in zip(found.layers, wanted["layers"], strict=True):
            for key, name in LAYERS.items():
                said = (case["id"], layer.name, key)
                assert getattr(layer, name) == pytest.approx(expected[key], rel=1e-9), said
        assert found.binding == wanted["binding"], case["id"]


def test_an_epoch_under_each_other_reading_is_the_references():
    for case in cases():
        for option, epoch in case["given"]["epoch_by_other_reading"].items():
            problem = case_problem(case, read_as([option]))
            found = terms(problem, case_shape(case)).epoch_s
            assert found == pytest.approx(epoch, rel=1e-9), (case["id"], option)


@pytest.mark.parametrize("reads", ["per_replica", "total"])
def test_the_optimum_of_each_case_is_the_references(reads):
    for case in cases():
        problem = case_problem(case, read_as([f"reads={reads}"]))
        given = [tuple(each) for each in case["resources"]]
        wanted = case["optimum"]["A" if reads == "per_replica" else "B"]
        (best,) = optimize(problem, given=given)
        assert best.terms.epoch_s == pytest.approx(wanted["dp"]["epoch"], rel=1e-9), case["id"]
        (paper,) = optimize(problem, mapping="greedy", given=given)
        assert paper.terms.epoch_s == pytest.approx(wanted["dp_greedy"], rel=1e-9), case["id"]
        every = brute(problem, given)
        assert every.epoch_s == pytest.approx(wanted["brute"]["epoch"], rel=1e-9), case["id"]
        assert every.size == wanted["brute"]["size"], case["id"]
