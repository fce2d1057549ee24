"""TCP settings of a host from the rates and round trips that it has to fill."""

from emu.network.punctuality import MACHINE, VIRTUAL
from emu.network.tcp import choose_sysctls, window_clamp
from emu.plan import FIRST_PORT
from netcosim.scenario import TcpSpec

PORTS = "net/ipv4/ip_local_port_range"


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
    assert [MACHINE.bunch_segments(rate * 10**6) for rate in (1, 100, 200, 500, 1000)] == [
        1,
        1,
        1,
        4,
        8,
    ]
    assert MACHINE.bunch_segments(10**9, loss=0.01) == 1
    assert VIRTUAL.bunch_segments(10**10) == 1


def test_what_was_asked_for_is_fixed() -> None:
    asked = TcpSpec.model_validate(
        {"send_buffer": "128KiB", "receive_buffer": "1MiB", "notsent_lowat": "64KiB"}
    )
    chosen = choose_sysctls(asked, 10**9, 0)
    assert chosen["net/ipv4/tcp_wmem"] == "4096 131072 131072"
    assert chosen["net/ipv4/tcp_rmem"] == "4096 1048576 1048576"
    assert chosen["net/ipv4/tcp_notsent_lowat"] == "65536"


def test_no_connection_takes_the_port_of_a_responder() -> None:
    """The kernel chooses local ports of connections; responders of cells listen from 50051 on."""
    lowest, highest = map(int, choose_sysctls(TcpSpec(), 10**9, 0)[PORTS].split())
    assert 1024 < lowest < highest < FIRST_PORT
