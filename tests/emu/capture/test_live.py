"""tcpdump on a real link, with real endpoints: the wire against what the two ends say."""

import itertools
import signal
import subprocess

import pytest

from emu.capture import analyse_capture
from emu.capture.tcpdump import Capture
from netcosim.errors import CaptureError, EnvironmentRefusedError

pytestmark = pytest.mark.root

SIZES = (400_000, 7, 150_000, 65_536, 1_000_000)
QUIET = 10**15


def runs(pairs):
    """(stream, bytes) of each run of one stream."""
    return [
        (stream, sum(size for _, size in group))
        for stream, group in itertools.groupby(pairs, key=lambda pair: pair[0])
    ]


@pytest.mark.parametrize("immediate", [False, True])
def test_h2_on_the_wire_is_what_the_ends_say(tmp_path, hosts, talk_live, immediate):
    path = tmp_path / "a.pcap"
    with Capture(
        path, interface="c0", ports=[50051], popen=hosts[0].popen, immediate=immediate
    ) as capture:
        client, server = talk_live("h2", SIZES)
    counts = capture.stop()
    assert (counts.dropped, counts.drained) == (0, True)
    report = analyse_capture(path, ports=[50051], gap_ns=QUIET)
    assert report.problems == ()
    assert report.packets == counts.captured == counts.received
    (connection,) = report.connections
    assert (connection.client[0], connection.server) == ("10.9.0.1", ("10.9.0.2", 50051))
    sent = connection.to_client
    wire = list(zip(sent.frames.stream.tolist(), sent.frames.size_bytes.tolist(), strict=True))
    assert wire == [tuple(row) for row in server["served"]]
    assert {s.stream: s.path for s in connection.streams} == {
        int(stream): path for stream, path in server["paths"].items()
    }
    spans = list(
        zip(sent.intervals.stream.tolist(), sent.intervals.size_bytes.tolist(), strict=True)
    )
    assert spans == runs(client["got"]) == runs(wire)
    # Streams longer than the default window stop for want of credit, the others never.
    stopped = [s.server.credit_stops > 0 for s in connection.streams]
    assert not any(stop for stop, size in zip(stopped, SIZES, strict=True) if size <= 65_535)
    assert any(stopped)
    assert all(s.server.ended_ns for s in connection.streams)


def test_grpc_on_the_wire_is_what_the_ends_say(tmp_path, hosts, talk_live):
    path = tmp_path / "a.pcap"
    with Capture(path, interface="c0", ports=[50051], popen=hosts[0].popen):
        client, _ = talk_live("grpc", SIZES)
    report = analyse_capture(path, ports=[50051], gap_ns=QUIET)
    assert report.problems == ()
    (connection,) = report.connections
    # Calls made at once reach the wire in any order; a message has a prefix of five bytes.
    assert client["got"] == list(SIZES)
    assert {s.path: s.server.data_bytes - 5 for s in connection.streams} == {
        f"/netcosim.Tensors/b0/t{index}": size for index, size in enumerate(SIZES)
    }
    assert [s.client.data_bytes - 5 for s in connection.streams] == [3] * len(SIZES)
    for stream in connection.streams:
        half = stream.server
        assert stream.request_ns <= stream.response_ns <= half.first_data_ns <= half.last_data_ns
        assert half.last_data_ns <= half.ended_ns
    assert int(connection.to_client.intervals.size_bytes.sum()) == sum(SIZES) + 5 * len(SIZES)


def test_a_capture_has_all_up_to_the_last_packet(tmp_path, hosts, talk_live):
    """Stopped right after the last byte, while the kernel still holds a block that is not full."""
    for attempt in range(3):
        path = tmp_path / f"{attempt}.pcap"
        with Capture(path, interface="c0", popen=hosts[0].popen) as capture:
            talk_live("h2", (1000,))
            counts = capture.stop()
        assert counts.captured == counts.received > 0
        (connection,) = analyse_capture(path).connections
        assert connection.to_client.tcp.finished or connection.to_server.tcp.finished
        assert connection.streams[0].server.data_bytes == 1000


def test_packets_that_find_no_room_are_counted_while_it_runs(tmp_path, hosts, talk_live):
    path = tmp_path / "a.pcap"
    with Capture(path, interface="c0", popen=hosts[0].popen, buffer_kib=64) as capture:
        assert capture.dropped() == 0
        capture.process.send_signal(signal.SIGSTOP)
        talk_live("h2", SIZES)
        capture.process.send_signal(signal.SIGCONT)
        dropped = capture.dropped()
        assert dropped > 0
        assert capture.stop().dropped == dropped
    assert analyse_capture(path).connections[0].problems


def test_an_unknown_interface_is_told_in_tcpdumps_words(tmp_path, hosts):
    with pytest.raises(CaptureError, match=r"tcpdump on none0: .*none0"):
        Capture(tmp_path / "a.pcap", interface="none0", popen=hosts[0].popen)


def test_a_tcpdump_that_died_is_told(tmp_path, hosts):
    capture = Capture(tmp_path / "a.pcap", interface="c0", popen=hosts[0].popen)
    capture.process.kill()
    capture.process.wait()
    with pytest.raises(CaptureError, match="tcpdump on c0: "):
        capture.stop()


def test_a_failure_inside_ends_tcpdump(tmp_path, hosts):
    with (
        pytest.raises(ZeroDivisionError),
        Capture(tmp_path / "a.pcap", interface="c0", popen=hosts[0].popen) as capture,
    ):
        raise ZeroDivisionError
    assert capture.process.returncode is not None


def test_without_tcpdump_it_says_what_to_install(tmp_path):
    def popen(argv, **how):
        return subprocess.Popen(["no-such-tcpdump", *argv[1:]], **how)

    with pytest.raises(EnvironmentRefusedError, match="install the package tcpdump"):
        Capture(tmp_path / "a.pcap", interface="lo", popen=popen)
