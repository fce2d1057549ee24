"""From samples to figures, and from figures to a verdict, without a network."""

from dataclasses import replace
from typing import Any

import pytest

from emu.network.figures import expected_goodput_bps
from emu.network.measure import Measured, PathMeasured, ShareMeasured
from emu.network.tcp import bunch_segments, choose_sysctls, window_clamp
from emu.network.verify import verify
from netcosim.errors import NetworkError
from netcosim.scenario import TcpSpec

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


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (
            measured(replace(PATH, down_bps=92_000_000)),
            "s0 to w0 over s0, w0: goodput 92 Mbit/s, 95.64 expected of 100mbit",
        ),
        (measured(replace(PATH, up_bps=97_000_000)), "w0 to s0 over s0, w0: goodput 97 Mbit/s"),
        (measured(replace(PATH, congestion_control="bbr")), "use bbr, asked for cubic"),
        (
            measured(replace(PATH, up_unexplained=0.3)),
            "w0 to s0 over s0, w0: stood still 30.0% of the time in which no processor was busy",
        ),
        (
            measured(share=replace(SHARE, unexplained=0.051)),
            "s0 to all workers: stood still 5.1% of the time in which no processor was busy",
        ),
        (measured(share=replace(SHARE, jain=0.9)), "Jain index 0.900, at least 0.98"),
        (measured(share=replace(SHARE, total_bps=50_000_000)), "s0 to all workers: goodput 50"),
    ],
)
def test_what_is_not_delivered_is_refused_with_what_was_measured(bad: Measured, said: str) -> None:
    with pytest.raises(NetworkError) as caught:
        verify(bad, TcpSpec())
    assert said in str(caught.value)
    assert "(processors idle 50%, stolen 25%)" in str(caught.value)


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


def test_buffers_follow_rate_and_round_trip() -> None:
    slow = choose_sysctls(TcpSpec(), 10**6, 0)
    assert slow["net/ipv4/tcp_wmem"] == "4096 65536 65536"
    fast = choose_sysctls(TcpSpec(), 10**9, 0)
    assert fast["net/ipv4/tcp_wmem"] == "4096 1437500 1437500"
    far = choose_sysctls(TcpSpec(), 10**9, 20_000_000)
    assert far["net/ipv4/tcp_wmem"] == "4096 5750000 5750000"
    assert "net/ipv4/tcp_notsent_lowat" not in slow


def test_no_window_fills_its_buffer_nor_holds_a_sender_back() -> None:
    mib = 2**20
    for rate, trip in ((10**6, 0), (10**9, 0), (10**9, 20_000_000)):
        chosen = choose_sysctls(TcpSpec(), rate, trip)
        send, receive = (int(chosen[f"net/ipv4/tcp_{w}mem"].split()[1]) for w in "wr")
        window = window_clamp(TcpSpec(), rate, trip)
        assert max(2 * mib, 2 * send) == window
        assert receive > 3 * window
    asked = TcpSpec.model_validate({"receive_buffer": "1MiB"})
    assert window_clamp(asked, 10**9, 0) == 0


def test_segments_come_one_by_one_unless_the_link_is_fast() -> None:
    assert [bunch_segments(rate * 10**6) for rate in (1, 100, 200, 500, 1000)] == [1, 1, 1, 4, 8]
    assert bunch_segments(10**9, loss=0.01) == 1


def test_what_was_asked_for_is_fixed() -> None:
    wish = TcpSpec.model_validate(
        {"send_buffer": "128KiB", "receive_buffer": "1MiB", "notsent_lowat": "64KiB"}
    )
    chosen = choose_sysctls(wish, 10**9, 0)
    assert chosen["net/ipv4/tcp_wmem"] == "4096 131072 131072"
    assert chosen["net/ipv4/tcp_rmem"] == "4096 1048576 1048576"
    assert chosen["net/ipv4/tcp_notsent_lowat"] == "65536"
