"""The delay set can tell round trips apart: what the model expects, against plain reckoning."""

from typing import Any

import pytest

from emu.plan import make_plan
from netcosim.scenario.toml import build_scenario
from tests.emu.netem.delays import ROUND_TRIPS_MS, SET, Compared, compare, gap_ns
from topo.paths import path_between
from topo.spec import FRAME_BYTES

MS = 1_000_000
SMALL, LARGE = "h2-fifo-8K", "h2-visits-32K"


def handed_over_at_once() -> dict[str, Any]:
    """An answer of a kernel that was never asked: messages and when they were handed over."""
    plan = make_plan(build_scenario(SET, "delays"))
    sizes = {t["name"]: int(t["size"].removesuffix("kB")) * 1000 for t in tensors()}
    return {
        "bursts": [
            {
                "cell": cell.name,
                "worker": planned.worker,
                "bucket_bytes": 5000,
                "streams": [
                    {
                        **{"stream": 2 * place + 1, "tensor": name, "size_bytes": size},
                        **{"ready_ns": MS, "end_ns": MS, "services": [], "stalls": []},
                    }
                    for place, (name, size) in enumerate(sizes.items())
                ],
            }
            for cell in plan.cells
            for planned in plan.connections(cell)
        ]
    }


def tensors() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = SET["workload"][0]["tensors"]
    return found


@pytest.fixture(scope="module")
def expected() -> dict[tuple[str, int], Compared]:
    """By transport and round trip in ms."""
    found = compare(SET, handed_over_at_once())
    return {(c.transport, c.round_trip_ns // MS): c for c in found}


def test_every_transport_meets_every_round_trip(expected: dict[tuple[str, int], Compared]) -> None:
    names = {transport["name"] for transport in SET["transport"]}
    assert set(expected) == {(name, ms) for name in names for ms in ROUND_TRIPS_MS}


def test_only_a_window_below_what_the_path_holds_stalls(
    expected: dict[tuple[str, int], Compared],
) -> None:
    # 4 Mbit/s bring 10 kB in 20 ms.
    stalls = {ms: expected[SMALL, ms].predicted_stalls for ms in ROUND_TRIPS_MS}
    assert stalls[1] == stalls[5] == 0
    # What is left of the larger message when the smaller is done comes in windows of its own.
    alone = 120_000 - 40_000
    assert alone / 8192 - 2 <= stalls[20] <= alone / 8192 + 1
    assert all(expected[LARGE, ms].predicted_stalls == 0 for ms in ROUND_TRIPS_MS)


def test_a_round_trip_costs_once_or_once_a_window(expected) -> None:
    growth = {
        name: expected[name, 20].predicted_length_ns - expected[name, 1].predicted_length_ns
        for name in (SMALL, LARGE)
    }
    assert 0 < growth[LARGE] <= 20 * MS
    # A stall lasts a round trip, of which the bucket makes up for its own bytes at most, and for a
    # packet, by which it may be overdrawn.
    made_up_ns = (5000 + FRAME_BYTES) * 8e9 / 4e6
    stalls = expected[SMALL, 20].predicted_stalls
    assert stalls * (20 * MS - made_up_ns) <= growth[SMALL] <= (stalls + 2) * 21 * MS


def test_a_stall_is_longer_than_what_counts_as_one() -> None:
    plan = make_plan(build_scenario(SET, "delays"))
    for worker in plan.net.workers:
        assert gap_ns(path_between(plan.net, "s0", worker.name)) < 20 * MS / 2
