"""Delay, jitter and loss, in a guest in virtual time."""

import math
from typing import Any

import pytest

from tests.emu.netem import guest

pytestmark = [pytest.mark.root, pytest.mark.guest]

Json = dict[str, Any]

MS = 1_000_000
LOSS = 0.02
# Every path crosses the server's link and the worker's, there and back. w0: 20 ms; w1: 10 ms
# and 20 ms +- 16; w2: 10 ms.
LINKS: Json = {
    "s0": {"rate": "20mbit", "delay": "5ms"},
    "w0": {"rate": "20mbit", "delay": "5ms"},
    "w1": {"rate": "20mbit", "delay": "10ms", "jitter": "8ms"},
    "w2": {"rate": "20mbit", "loss": LOSS},
}
CLUSTER: Json = {"topology": "star", "workers": 3, "link": LINKS["w0"], "links": LINKS}
SMALL_BYTES, MESSAGE_BYTES = 32 * 2**10, 400_000
OBSERVED: Json = {
    "cluster": CLUSTER,
    "round_trips_s": 1.0,
    "downloads_s": {"w0": 3.0, "w2": 2.0},
    "burst": {"worker": "w0", "size_bytes": MESSAGE_BYTES, "windows": ["32KiB", "1MiB"]},
}
REFUSAL, OBSERVE = "tests.emu.netem.cases:refusal", "tests.emu.netem.cases:observe"


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Answers of the cases, on a kernel that has netem."""
    return guest.answers({REFUSAL: {"cluster": CLUSTER}, OBSERVE: OBSERVED})


@pytest.fixture
def seen(answers: dict[str, Any]) -> Json:
    return dict(answers[OBSERVE])


def test_refused_without_netem() -> None:
    said = guest.answers({REFUSAL: {"cluster": CLUSTER}}, options=[guest.WITHOUT_NETEM])[REFUSAL]
    wish = "link s0 (delay 5ms, jitter 0ns, loss 0) needs netem, which this kernel lacks: tc "
    assert said.startswith(wish)
    assert "\n" not in said


def test_not_refused_with_netem(answers: dict[str, Any]) -> None:
    assert answers[REFUSAL] is None


def test_tc_reads_back_what_was_asked_for(seen: Json) -> None:
    asked = {"s0": (0.005, 0), "w0": (0.005, 0), "w1": (0.01, 0.008)}
    for host, (delay_s, jitter_s) in asked.items():
        assert set(seen["qdiscs"][host]) == {"netem", "htb", "bfifo"}
        delay = seen["qdiscs"][host]["netem"]["delay"]
        assert (delay["delay"], delay["jitter"]) == (delay_s, jitter_s)
        assert "loss-random" not in seen["qdiscs"][host]["netem"]
    assert seen["qdiscs"]["w2"]["netem"]["loss-random"]["loss"] == pytest.approx(LOSS, rel=1e-6)
    assert "delay" not in seen["qdiscs"]["w2"]["netem"]


def test_no_round_trip_is_shorter_than_its_delays(seen: Json) -> None:
    for worker, configured_ns in {"w0": 20 * MS, "w1": 14 * MS, "w2": 10 * MS}.items():
        trips = seen["paths"][worker]["round_trips_ns"]
        assert len(trips) > 5
        assert min(trips) >= configured_ns


def test_delays_add_up_along_a_path_and_not_more_than_once(seen: Json) -> None:
    shortest = {worker: min(path["round_trips_ns"]) for worker, path in seen["paths"].items()}
    assert shortest["w0"] < 30 * MS
    assert shortest["w2"] < 20 * MS
    assert shortest["w0"] > shortest["w2"]


def test_jitter_varies_round_trips_around_the_delay(seen: Json) -> None:
    trips = seen["paths"]["w1"]["round_trips_ns"]
    assert min(trips) < 30 * MS < max(trips), "without jitter none is below the delay"
    assert max(trips) - min(trips) > 4 * MS


def test_loss_is_as_asked_for_and_nowhere_else(seen: Json) -> None:
    assert seen["counted"]["w0"]["loss_drops"] == seen["counted"]["w1"]["loss_drops"] == 0
    counted = seen["counted"]["w2"]
    offered = counted["sent_packets"] + counted["loss_drops"]
    deviation = math.sqrt(LOSS * (1 - LOSS) / offered)
    assert offered > 500
    assert counted["loss_drops"] / offered == pytest.approx(LOSS, abs=5 * deviation)
    assert counted["loss_drops"] > 0
    assert counted["queue_drops"] == 0


def test_the_rate_holds_behind_the_delay(seen: Json) -> None:
    path = seen["paths"]["w0"]
    assert path["goodput_bps"] == pytest.approx(path["expected_bps"], rel=0.001)


def test_a_window_limits_a_message_to_a_window_each_round_trip(seen: Json) -> None:
    small_ns, large_ns = (seen["bursts_ns"][window] for window in ("32KiB", "1MiB"))
    trips = (MESSAGE_BYTES - SMALL_BYTES) / SMALL_BYTES
    assert small_ns >= trips * 20 * MS
    assert small_ns < 5 * trips * 20 * MS
    # The large window holds the whole message: rate and one round trip are all it takes.
    assert large_ns >= MESSAGE_BYTES * 8e9 / 20e6
    assert large_ns < small_ns
