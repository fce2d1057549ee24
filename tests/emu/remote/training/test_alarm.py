"""The timer of training nodes: not before its time, once, and not at all when there is none."""

import math
import select
import time
from collections.abc import Iterator

import pytest

from emu.remote.training.alarm import Alarm


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    made = Alarm()
    yield made
    made.close()


def readable(alarm: Alarm, wait_s: float = 0.0) -> bool:
    return bool(select.select([alarm.fd], [], [], wait_s)[0])


def test_not_before_its_time_to_the_nanosecond(alarm: Alarm) -> None:
    for ns in (1.0, 20_000_000.3):
        start_ns = time.time_ns()
        alarm.set(start_ns, ns)
        assert readable(alarm, 5)
        assert time.time_ns() >= start_ns + math.ceil(ns)
        alarm.take()
        assert not readable(alarm)


def test_a_time_that_is_over_is_told_at_once(alarm: Alarm) -> None:
    alarm.set(time.time_ns(), -5e9)
    assert readable(alarm, 1)


def test_another_time_replaces_the_last_one(alarm: Alarm) -> None:
    alarm.set(time.time_ns(), 1e6)
    alarm.set(time.time_ns(), 3600e9)
    assert not readable(alarm, 0.05)
    alarm.set(time.time_ns(), 1e6)
    alarm.set(time.time_ns(), math.inf)
    assert not readable(alarm, 0.05)
    alarm.take()


def test_a_float_of_a_long_run_keeps_its_nanoseconds(alarm: Alarm) -> None:
    """The epoch itself, as a float, would be off by 128 ns."""
    start_ns = time.time_ns() - 3600 * 10**9
    alarm.set(start_ns, 3600e9 + 30_000_001)
    assert readable(alarm, 5)
    assert time.time_ns() >= start_ns + 3600 * 10**9 + 30_000_001
