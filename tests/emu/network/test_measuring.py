"""Links measured for real: what the machine takes away changes nothing, what the link lacks does.

Rates are of the wall clock, but for one test: a link's rate is what is measured. The estimate is of
frames back to back, so these tests hold on a busy machine; that they do is what they are for.
"""

import re

import pytest

from tests.emu.netem import guest
from tests.inside import inside
from topo.spec import GOODPUT_SHARE

pytestmark = [pytest.mark.root, pytest.mark.emulation]
CASES = "tests.emu.network.measuring_cases"
EXPECTED_BPS = 100e6 * GOODPUT_SHARE


def test_a_machine_that_takes_its_processors_away_changes_no_rate_and_ends_no_run() -> None:
    for load in (0.0, 0.2):
        found = inside(f"{CASES}:accepted", load=load)
        (path,) = found["paths"]
        for rate_bps in (path["down_bps"], path["up_bps"]):
            assert rate_bps == pytest.approx(EXPECTED_BPS, rel=1e-3)
        assert min(path["down_agreeing"], path["up_agreeing"]) > 0.1


@pytest.mark.parametrize("load", [0.0, 0.2])
def test_a_link_that_is_slower_than_asked_for_is_refused_under_load_too(load: float) -> None:
    found = inside(f"{CASES}:slower", rate="95mbit", load=load)
    slower_bps = pytest.approx(0.95 * EXPECTED_BPS, rel=2e-3)
    told = re.fullmatch(
        r"s0 to w0 over link: goodput ([\d.]+) Mbit/s, 95.64 expected of 100mbit"
        r" \(processors idle .*\)",
        found["said"],
    )
    assert told is not None, found["said"]
    assert float(told[1]) * 1e6 == slower_bps
    (path,) = found["paths"]
    assert path["down_bps"] == slower_bps
    assert path["up_bps"] == pytest.approx(EXPECTED_BPS, rel=1e-3)


def test_a_link_that_stands_still_regularly_is_refused() -> None:
    """Its frames come at the right distance, and it loses a sixth of its time or more.

    That is told by the time in which processors are free: in virtual time they are, on a machine
    with other work they may never be.
    """
    target = f"{CASES}:standing_still"
    found = guest.answers({target: {"on_s": 0.05, "off_s": 0.01}})[target]
    (path,) = found["paths"]
    assert path["down_lost"] > 0.1
    assert path["down_bps"] == pytest.approx(EXPECTED_BPS, rel=1e-3)
    assert re.match(r"s0 to w0 over link: (stood still|goodput) ", found["said"]), found["said"]


def test_a_reading_in_which_a_worker_received_nothing_is_taken_again() -> None:
    found = inside(f"{CASES}:share_with_silence", silent_readings=1)
    assert min(found["bytes"].values()) > 0
    assert found["readings"] >= 2


def test_a_worker_that_receives_nothing_in_any_reading_ends_the_run() -> None:
    found = inside(f"{CASES}:share_with_silence", silent_readings=100)
    assert found == {"said": "s0 to w1: nothing arrived in any of 3 readings of 0.3 s"}


def test_thirty_workers_are_measured_in_a_few_rounds() -> None:
    found = inside(
        f"{CASES}:accepted", topology="star", workers=30, link={"rate": "20mbit"}, timeout_s=300
    )
    assert found["rounds"] <= 2 + 2 * (found["attempts"] - 1)
    assert [path["worker"] for path in found["paths"]] == [f"w{i}" for i in range(30)]
    told = {link for path in found["paths"] for link in path["links"]}
    assert told == {"s0", *(f"w{i}" for i in range(30))}
    (share,) = found["shares"]
    assert len(share["bytes_by_worker"]) == 30
    assert share["jain"] > 0.98
