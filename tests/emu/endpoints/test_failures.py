"""Failures of endpoints: one line each, and an end when told to."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from emu.endpoints import Connection
from netcosim.errors import EndpointError

from .conftest import PORT, SERVER, WORKER, Net, after, burst, plan, tensors, transport

pytestmark = [pytest.mark.root, pytest.mark.emulation]

BIG = 3_000_000


@pytest.mark.parametrize("victim", ["requester", "responder"])
@pytest.mark.parametrize("kind", ["h2", "grpc"])
def test_killed_in_mid_burst(net: Net, kind, victim) -> None:
    net.shape("10mbit")
    with Connection(plan(transport(kind, kind)), net.popen) as connection:
        process = getattr(connection, victim)
        with (
            after(0.6, lambda: os.kill(process.pid, signal.SIGKILL)),
            pytest.raises(EndpointError) as raised,
        ):
            burst(connection, tensors(BIG))
    host = "w" if victim == "requester" else "s"
    assert str(raised.value) == f"{kind} {victim} in {host}: killed by SIGKILL"


@pytest.mark.parametrize("kind", ["h2", "grpc"])
def test_a_lost_peer_is_one_line(net: Net, kind) -> None:
    """The survivor alone, without the emulator's knowledge of its peer's death."""
    net.shape("10mbit")
    with Connection(plan(transport(kind, kind)), net.popen) as connection:
        with (
            after(0.6, lambda: os.kill(connection.responder.pid, signal.SIGKILL)),
            pytest.raises(EndpointError),
        ):
            burst(connection, tensors(BIG))
        survivor = connection.requester
        deadline = time.monotonic() + 600
        while survivor.failure is None and time.monotonic() < deadline:
            time.sleep(0.05)
            survivor.collect()
        assert survivor.failure is not None
        assert survivor.failure.startswith(f"{kind} requester in w: connection lost: ")
        assert "\n" not in survivor.failure


@pytest.mark.parametrize("phase", ["listening", "connected", "bursting"])
@pytest.mark.parametrize("kind", ["h2", "grpc"])
def test_closed_stdin_ends_the_process(net: Net, kind, phase) -> None:
    net.shape("10mbit")
    spec = plan(transport(kind, kind))
    started: list[subprocess.Popen[bytes]] = []

    def start(end) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        process = net.popen(
            end.host, list(end.argv), stdin=pipe, stdout=pipe, stderr=pipe, env=end.environment
        )
        started.append(process)
        return process

    responder = start(spec.responder)
    assert json.loads(responder.stdout.readline())["event"] == "listening"
    if phase != "listening":
        requester = start(spec.requester)
        for process in started:
            assert json.loads(process.stdout.readline())["event"] == "connected"
        if phase == "bursting":
            item = {"tensor": "t", "index": 0, "size_bytes": BIG, "ready_ns": 0, "priority": 0}
            command = {"cmd": "burst", "burst": 0, "start_ns": 0, "streams": [item]}
            for process in (responder, requester):
                process.stdin.write(json.dumps(command).encode() + b"\n")
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["event"] == "armed"
    for process in started:
        process.stdin.close()
    for process in started:
        process.wait(600)
        process.stdout.close()
        process.stderr.close()
    assert 0 in [process.returncode for process in started]


def listeners(pid: int | str) -> set[tuple[str, int]]:
    """(address in hex, port) of every TCP socket that listens in a process's namespace."""
    found = set()
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                address, port = fields[1].split(":")
                found.add((address, int(port, 16)))
    return found


@pytest.mark.parametrize("kind", ["h2", "grpc"])
def test_listens_on_its_own_address_only(net: Net, kind) -> None:
    before = listeners("self")
    with Connection(plan(transport(kind, kind)), net.popen) as connection:
        inside = listeners(net.holders["s"].pid)
        assert listeners("self") == before
        assert not listeners(net.holders["w"].pid)
        burst(connection, tensors(1000))
    own = "".join(f"{int(part):02X}" for part in reversed(SERVER.address.split(".")))
    assert all(address.endswith(own) and port == PORT for address, port in inside)


@pytest.mark.parametrize("kind", ["h2", "grpc"])
def test_address_in_use(net: Net, kind) -> None:
    code = (
        f"import socket,sys\nx=socket.create_server(('{SERVER.address}',{PORT}))\n"
        "print('up',flush=True)\nsys.stdin.read()"
    )
    holder = net.popen("s", ["python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"up\n"
    with pytest.raises(EndpointError) as raised:
        Connection(plan(transport(kind, kind)), net.popen).open()
    holder.communicate()
    text = str(raised.value)
    assert text.startswith(f"{kind} responder in s: can't listen on {SERVER.address}:{PORT}")
    assert "\n" not in text


def test_unreachable_responder(net: Net) -> None:
    spec = plan(transport("h2", "h2"))
    connection = Connection(spec, net.popen)
    connection.start(responder=True)
    requester = connection.start(responder=False)
    connection.responder.kill()
    from emu.endpoints.watch import await_event

    with pytest.raises(EndpointError) as raised:
        await_event([requester], "connected", 20)
    connection.close()
    assert "requester in w: " in str(raised.value)
    assert "\n" not in str(raised.value)


def test_frame_larger_than_the_receiver_allows(net: Net) -> None:
    spec = transport("h2", "grpc", frame_size=2**24 - 1)
    with pytest.raises(EndpointError, match=r"frame_size_bytes: 16777215: the receiver allows"):
        Connection(plan(spec), net.popen).open()


def test_unknown_congestion_control(net: Net) -> None:
    from emu.endpoints import pair
    from netcosim.scenario import TcpSpec

    spec = pair(
        transport("h2", "h2"),
        "pull",
        worker=WORKER,
        server=SERVER,
        port=PORT,
        tcp=TcpSpec(congestion_control="nosuch"),
    )
    with pytest.raises(EndpointError, match=r"congestion_control: 'nosuch': the kernel refuses"):
        Connection(spec, net.popen).open()


@pytest.mark.parametrize("victim", ["requester", "responder"])
def test_an_end_that_hangs_is_reported(net: Net, victim: str) -> None:
    net.shape("10mbit")
    with Connection(plan(transport("h2", "h2")), net.popen) as connection:
        process = getattr(connection, victim)
        with (
            after(0.6, lambda: os.kill(process.pid, signal.SIGSTOP)),
            pytest.raises(EndpointError, match=r"no 'done', and nothing went on for 0\.5 s"),
        ):
            burst(connection, tensors(BIG), patience_s=0.5)


def test_a_slow_burst_that_goes_on_is_no_failure(net: Net) -> None:
    """It takes many times as long as nothing may go on, as its receiver is hardly let run."""
    net.shape("10mbit")
    with (
        Connection(plan(transport("h2", "h2")), net.popen) as connection,
        hardly_running(connection.requester.pid, run_s=0.02, stop_s=0.05),
    ):
        begun = time.monotonic()
        done = burst(connection, tensors(BIG), patience_s=0.5)
        assert time.monotonic() - begun > 4 * 0.5
    assert all(stream.delivered_ns for stream in done.streams)


@contextmanager
def hardly_running(pid: int, *, run_s: float, stop_s: float) -> Iterator[None]:
    """Stop a process most of the time, as a machine does that has no time for it."""
    over = threading.Event()

    def turns() -> None:
        with suppress(ProcessLookupError):  # it has ended
            while not over.wait(run_s):
                os.kill(pid, signal.SIGSTOP)
                over.wait(stop_s)
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_options_are_read_back(net: Net) -> None:
    spec = plan(transport("h2", "h2"), send_buffer=100_000, receive_buffer=200_000)
    with Connection(spec, net.popen) as connection:
        for side in ("requester", "responder"):
            tcp = connection.opened[side]["tcp"]
            assert tcp["congestion_control"] == "cubic"
            assert tcp["receive_buffer_bytes"] == 400_000  # the kernel doubles it
            assert tcp["send_limit_bytes"] == 5 * 16393 + 16393 // 2  # frames and a half
            assert tcp["nodelay"] is True
