"""Every interface of a run hands what it receives to one processor, and so keeps its order."""

import os
from pathlib import Path

import pytest

from emu.network.counters import count_tcp, parse_protocols, parse_receive_drops
from emu.network.receive_steering import steer_interfaces, steering_mask
from netcosim.errors import NetworkError
from tests.inside import inside

CASES = "tests.emu.network.steering_cases"


@pytest.mark.parametrize(
    ("processor", "mask"),
    [(0, "1"), (5, "20"), (31, "80000000"), (32, "1,00000000"), (70, "40,00000000,00000000")],
)
def test_a_mask_is_written_in_words_of_32_bits(processor: int, mask: str) -> None:
    assert steering_mask(processor) == mask
    assert int(mask.replace(",", ""), 16) == 1 << processor


@pytest.mark.root
@pytest.mark.emulation
@pytest.mark.parametrize("topology", ["pair", "racks"])
def test_every_end_is_steered_and_the_host_stays_as_it_was(topology: str) -> None:
    before = host_steering()
    asked = {} if topology == "pair" else {"servers": 2, "workers": 2}
    found = inside(f"{CASES}:steering", topology=topology, **asked)
    record = found["record"]
    processor = record["receive_processor"]
    assert processor == min(os.sched_getaffinity(0))
    ends = [end for link in record["links"].values() for end in link["ends"].values()]
    assert {end["interface"] for end in ends} == set(found["shown"])
    for end in ends:
        assert end["rps_cpus"] == steering_mask(processor)
        for mask in found["shown"][end["interface"]]:
            assert int(mask.replace(",", ""), 16) == 1 << processor
    assert host_steering() == before


def host_steering() -> dict[str, str]:
    """The host's default mask, and the mask of each of its interfaces."""
    files = [
        *Path("/proc/sys/net/core").glob("rps_*"),
        *Path("/sys/class/net").glob("*/queues/rx-*/rps_cpus"),
    ]
    return {str(file): file.read_text() for file in files}


@pytest.mark.root
@pytest.mark.emulation
def test_the_processor_is_one_that_is_allowed() -> None:
    allowed = max(os.sched_getaffinity(0))
    found = inside(f"{CASES}:steering_on", processor=allowed)
    assert found["receive_processor"] == allowed


@pytest.mark.root
@pytest.mark.emulation
def test_a_steering_that_does_not_hold_is_refused() -> None:
    said = inside(f"{CASES}:steering_undone")
    assert said == "receive steering of w0-eth0: is 0, asked for 1"


def test_an_interface_without_steering_is_refused() -> None:
    with pytest.raises(NetworkError, match="receive steering of no0: this kernel has none"):
        steer_interfaces([(os.getpid(), "no0")])


@pytest.mark.root
@pytest.mark.emulation
@pytest.mark.alone
def test_tcp_sees_no_reordering_while_processors_are_taken_away() -> None:
    """Order is asserted, not time: without steering, most such transfers saw one.

    It takes the processors away itself; when others do as well, the kernel's backlog overflows.
    """
    found = inside(f"{CASES}:transfers_under_load", rate="200mbit", seconds=1.5, count=2)
    assert found["segments"] > 10_000
    assert found["captured_reorderings"] == 0
    assert found["tcp_reorders"] == 0
    assert found["backlog_drops"] == 0


@pytest.mark.root
@pytest.mark.emulation
def test_what_a_full_backlog_drops_is_counted_at_the_receiving_interface() -> None:
    found = inside(f"{CASES}:flooded")
    assert found["sent"] > found["received"]
    assert found["backlog_drops"] == found["sent"] - found["received"]


def test_receive_drops_are_read_by_interface() -> None:
    text = (
        "Inter-|   Receive                                  |  Transmit\n"
        " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n"
        "    lo:       0       0    0    0    0     0          0         0        0       0    0\n"
        "w0-eth0: 1466486    1074    2   17    0     0          0         0    66846     985    9\n"
    )
    assert parse_receive_drops(text) == {"lo": 0, "w0-eth0": 17}


def test_tcps_counters_are_summed_and_what_a_kernel_lacks_counts_as_nothing() -> None:
    snmp = "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens RetransSegs\nTcp: 4 9\n"
    netstat = (
        "TcpExt: TCPSACKReorder TCPTSReorder TCPTimeouts TCPLossProbes TCPDSACKRecv\n"
        "TcpExt: 2 3 5 6 7\n"
    )
    assert count_tcp(parse_protocols([snmp, netstat])) == {
        "tcp_retransmits": 9,
        "tcp_loss_probes": 6,
        "tcp_timeouts": 5,
        "tcp_reorders": 5,
        "tcp_spurious": 7,
    }
