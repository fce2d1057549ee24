"""The link probe's two sides over the loopback: requests are answered, and failures told."""

import json
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest

from emu.remote import link_probe
from emu.remote.link_probe import ProbeError, Reports, ask

Json = dict[str, Any]


@pytest.fixture(name="peer")
def _peer() -> tuple[str, int]:
    """A probe that serves in a thread of this process, so that its functions can be delayed."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port: int = free.getsockname()[1]
    threading.Thread(target=link_probe.serve, args=("127.0.0.1", port), daemon=True).start()
    deadline = time.monotonic() + 600
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return "127.0.0.1", port
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def replace_send(monkeypatch, then) -> Callable[[socket.socket, Json], Json]:
    """Hook into the serving side after its data has left, and before its report is stored."""
    real = link_probe.send
    monkeypatch.setattr(link_probe, "send", lambda sock, request: then(real(sock, request)))
    return real


@pytest.mark.parametrize("way", ["down", "both"])
def test_the_senders_report_is_waited_for(peer, monkeypatch, way) -> None:
    def late(report: Json) -> Json:
        time.sleep(0.5)  # the receiver has the last byte, and asks, long before this ends
        return report

    replace_send(monkeypatch, late)
    answer = ask(peer, {"do": way, "seconds": 0.02})
    half = answer["down"] if way == "both" else answer
    assert half["sender"]["congestion_control"]
    assert half["samples"][-1][1] > 0


@pytest.mark.parametrize("way", ["down", "both"])
def test_a_failure_of_the_serving_sides_thread_ends_the_request_with_its_line(
    peer: tuple[str, int], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    def broken(_: Json) -> Json:
        raise OSError(105, "No buffer space\navailable")

    real = replace_send(monkeypatch, broken)
    with pytest.raises(ProbeError, match=r"^serving side: .*No buffer space available$"):
        ask(peer, {"do": "down", "seconds": 0.02})
    # Both ways: the asking side's own sender is the same function here, and fails as well.
    monkeypatch.setattr(
        link_probe, "send", lambda s, r: broken(r) if r["do"] == "send" else real(s, r)
    )
    with pytest.raises(ProbeError, match=r"^serving side: .*No buffer space available$"):
        ask(peer, {"do": way, "seconds": 0.02})


def test_a_failure_of_the_receiving_thread_is_told_both_ways(peer, monkeypatch) -> None:
    def broken(_: socket.socket) -> Any:
        raise MemoryError("out of memory")

    monkeypatch.setattr(link_probe, "receive", broken)
    for way in ("up", "both"):
        with pytest.raises(ProbeError, match="out of memory"):
            ask(peer, {"do": way, "seconds": 0.02})


def test_a_report_that_never_comes_ends_the_request_in_time(peer, monkeypatch) -> None:
    monkeypatch.setattr(link_probe, "PATIENCE_S", 0.3)
    gone = threading.Event()

    def stuck(report: Json) -> Json:
        gone.wait(600)
        return report

    replace_send(monkeypatch, stuck)
    with pytest.raises(ProbeError, match=r"no report of the sender within 0\.3 s"):
        ask(peer, {"do": "down", "seconds": 0.02})
    gone.set()


def test_an_answer_that_never_comes_ends_the_request_in_time(peer, monkeypatch) -> None:
    """The data has come, and the serving side waits for a report longer than it is waited for."""
    monkeypatch.setattr(link_probe, "PATIENCE_S", 0.3)
    monkeypatch.setattr(Reports, "take", lambda *_: time.sleep(5))
    with pytest.raises(BlockingIOError) as caught:
        ask(peer, {"do": "down", "seconds": 0.02})
    assert link_probe.failure_text(caught.value) == "nothing moved for 0.3 s"


def test_a_link_that_carries_nothing_ends_the_request_in_time(monkeypatch) -> None:
    monkeypatch.setattr(link_probe, "PATIENCE_S", 0.3)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:  # accepts, says nothing
        for way in ("down", "both"):
            with pytest.raises((ProbeError, OSError)) as caught:
                ask(silent.getsockname(), {"do": way, "seconds": 0.02})
            assert "nothing moved for 0.3 s" in link_probe.failure_text(caught.value)  # type: ignore[arg-type]


def test_reports_are_handed_out_once_and_to_the_right_one() -> None:
    reports = Reports()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(reports.take, str(i), 30.0) for i in range(8)]
        for i in reversed(range(8)):
            reports.put(str(i), {"i": i})
        assert [each.result() for each in waiting] == [{"i": i} for i in range(8)]
    with pytest.raises(ProbeError):
        reports.take("0", 0.0)


@contextmanager
def probe(role: str, port: int) -> Iterator[subprocess.Popen[str]]:
    """A probe as a run starts it: a process of its own with a bare interpreter."""
    argv = [sys.executable, "-I", "-S", link_probe.__file__, role, "127.0.0.1", str(port)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def exchange(process: subprocess.Popen[str], request: Json) -> Json:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    answer: Json = json.loads(process.stdout.readline())
    return answer


@pytest.mark.oracle
def test_many_requests_at_once_are_all_answered() -> None:
    """Ten askers on two processors: threads of the serving side are late all the time."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]

    def ask_often(_: int) -> int:
        with probe("ask", port) as process:
            found = [
                exchange(process, {"do": way, "seconds": 0.004})
                for _ in range(10)
                for way in ("down", "up", "both", "rtt")
            ]
        assert [each for each in found if "failure" in each] == []
        halves = [half for each in found for half in (each, each.get("down"), each.get("up"))]
        return sum(half is not None and "samples" in half for half in halves)

    with probe("serve", port) as server, ThreadPoolExecutor(10) as pool:
        assert server.stdout is not None
        assert json.loads(server.stdout.readline()) == {"listening": port}
        assert list(pool.map(ask_often, range(10))) == [40] * 10


def test_an_asking_probe_tells_that_nobody_serves() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with probe("ask", port) as process:
        for way in ("rtt", "down", "up", "both"):
            answer = exchange(process, {"do": way, "seconds": 0.01})
            assert "refused" in answer["failure"]
            assert "\n" not in answer["failure"]


def test_a_reset_that_no_send_has_met_is_told_too() -> None:
    """After it there is nothing to shut down; what the serving side wrote before is still there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sock = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        other.sendall(b'{"failure": "serving side: out of memory"}\n')
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        other.close()
        poll = select.poll()
        poll.register(sock, 0)
        assert poll.poll(5000)  # its end alone
        with sock, pytest.raises(ProbeError, match="out of memory"):
            link_probe._send_up(sock, {"seconds": 0})
