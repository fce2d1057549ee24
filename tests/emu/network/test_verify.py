"""From samples to figures, and from figures to a verdict, without a network."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emu.network.expected import expected_goodput_bps
from emu.network.measure import Measured, PathMeasured, ShareMeasured
from emu.network.verify import verify
from netcosim.errors import NetworkError
from netcosim.scenario import TcpSpec
from tests.snapshots import assert_kept, refusal

PATH = PathMeasured(
    server="s0",
    worker="w0",
    links=("s0", "w0"),
    rate_bps=100_000_000,
    loss=0.0,
    expected_bps=95_640_686,
    down_bps=95_600_000,
    up_bps=95_500_000,
    both_down_bps=60_000_000,
    both_up_bps=60_000_000,
    round_trip_min_ns=20_000,
    round_trip_median_ns=25_000,
    queued_bytes=63_712,
    queued_max_bytes=63_712,
    congestion_control="cubic",
)
SHARE = ShareMeasured(
    server="s0",
    fair=True,
    loss=0.0,
    bytes_by_worker={"w0": 10, "w1": 10},
    expected_bps={"w0": 47_820_343, "w1": 47_820_343},
    total_bps=95_600_000,
    jain=1.0,
)


def measured(path: PathMeasured = PATH, share: ShareMeasured = SHARE) -> Measured:
    return Measured(paths=(path,), shares=(share,), steal=0.25, idle=0.5)


def test_what_is_delivered_passes() -> None:
    verify(measured(), TcpSpec())


BAD = {
    "slow down": measured(replace(PATH, down_bps=92_000_000)),
    "fast up": measured(replace(PATH, up_bps=97_000_000)),
    "another congestion control": measured(replace(PATH, congestion_control="bbr")),
    "a path that stood still": measured(replace(PATH, up_unexplained=0.3)),
    "shares that stood still": measured(share=replace(SHARE, unexplained=0.051)),
    "unfair": measured(share=replace(SHARE, jain=0.9)),
    "slow together": measured(share=replace(SHARE, total_bps=50_000_000)),
}


def test_what_is_not_delivered_is_refused_with_what_was_measured() -> None:
    said = "".join(
        f"{name}: {refusal(verify, bad, TcpSpec(), error=NetworkError)}\n"
        for name, bad in BAD.items()
    )
    assert_kept(Path(__file__).parent / "snapshots/verify.txt", said)


@pytest.mark.parametrize("asked", [{"loss": 0.01}, {"jitter_ns": 1_000_000}])
def test_a_path_with_loss_or_jitter_is_not_judged_by_its_goodput(asked: dict[str, Any]) -> None:
    unsteady = replace(PATH, down_bps=10_000_000, up_bps=10_000_000, **asked)
    verify(measured(unsteady, replace(SHARE, total_bps=1, jain=0.5, **asked)), TcpSpec())


def test_what_the_machine_took_is_no_failure_of_the_link() -> None:
    lost = replace(PATH, down_lost=0.9, up_lost=0.5, down_agreeing=0.01, steal=0.4)
    verify(measured(lost, replace(SHARE, lost=0.9, agreeing=0.0)), TcpSpec())


def test_an_unfair_share_of_a_fifo_is_no_failure() -> None:
    verify(measured(share=replace(SHARE, fair=False, jain=0.6)), TcpSpec())


def test_a_full_frame_carries_1448_bytes() -> None:
    assert expected_goodput_bps(1_514_000) == 1_448_000
