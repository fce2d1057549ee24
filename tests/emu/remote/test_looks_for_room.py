"""Interval at which our own sender looks for room: what it waits is what the models are told."""

import math
import socket

import pytest

from emu.network.punctuality import poll_ns
from emu.remote.h2_wire import Wire
from netcosim.scenario import ClusterSpec
from topo.catalogue import build_spec


def waited_ns(seconds: float) -> int:
    """Time that select(2) waits: Python rounds up to nanoseconds, then to microseconds."""
    return math.ceil(math.ceil(seconds * 1e9) / 1000) * 1000


@pytest.mark.parametrize("rate", ["1mbit", "10mbit", "33mbit", "100mbit", "1gbit", "10gbit"])
def test_a_guests_sender_waits_what_the_models_are_told(rate: str) -> None:
    cluster = ClusterSpec.model_validate({"topology": "pair", "link": {"rate": rate}})
    poll = poll_ns(build_spec(cluster))
    assert wait_of(poll) == poll


def test_no_interval_of_whole_microseconds_becomes_one_more() -> None:
    assert all(wait_of(us * 1000) == us * 1000 for us in range(1, 5000, 7))


def wait_of(poll: int) -> int:
    here, there = socket.socketpair()
    with here, there:
        return waited_ns(Wire(here, client=True, settings={}, tcp={"poll_ns": poll}).poll_s)
