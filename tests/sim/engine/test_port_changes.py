"""Ports whose rate changes while a job runs."""

import pytest

from sim.engine.control import Control
from sim.engine.engine import Engine
from tests.sim.naive.plans import (
    BYTE_A_NS,
    chain_plan,
    make_network,
    make_sending,
    same_draws,
)


def engine(share: str, workers: int = 1, **network: float) -> Engine:
    """One pull of 1000 bytes, one push of 1000, at a byte a nanosecond; computing takes 500 ns."""
    return Engine(
        chain_plan(update_ns=0.0),
        make_network(share=share, workers=workers, worker_bps=BYTE_A_NS * 100, **network),
        make_sending(),
        same_draws(workers),
        Control(),
        compiled=False,
    )


@pytest.mark.parametrize("share", ["equal", "max_min"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_left_takes_longer_at_a_part_of_the_rate(share: str, workers: int) -> None:
    """400 ns at full rate, then all at a quarter: (W * 2000 - 400) * 4."""
    one = engine(share, workers)
    one.run(400.0)
    one.set_port(0, 0.25)
    one.run()
    ends = one.steps().end_ns
    assert ends.max() == pytest.approx(400 + 4 * (2000 * workers - 400) + 500, rel=1e-12)


@pytest.mark.parametrize("share", ["equal", "max_min"])
def test_a_port_gets_its_rate_back(share: str) -> None:
    one = engine(share)
    one.run(400.0)
    one.set_port(0, 0.5)
    one.run(800.0)
    one.set_port(0, 1.0)
    one.run()
    assert one.steps().end_ns.max() == pytest.approx(2500 + 200, rel=1e-12)


@pytest.mark.parametrize("share", ["equal", "max_min"])
def test_a_change_while_nothing_is_sent_is_of_what_comes(share: str) -> None:
    one = engine(share)
    one.run(1200.0)
    one.set_port(0, 0.1)
    one.run()
    assert one.steps().end_ns.max() == pytest.approx(1500 + 10_000, rel=1e-12)


def test_a_part_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        engine("equal").set_port(0, 0.0)
    with pytest.raises(ValueError, match="both_busy 1"):
        engine("equal", both_busy=0.5).set_port(0, 0.5)
