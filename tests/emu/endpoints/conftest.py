"""Two network namespaces joined by a veth pair, and processes started in them."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from emu.endpoints import BurstLog, ConnectionPlan, Place, StreamRequest, pair
from netcosim.scenario import Direction, TcpSpec, TransportSpec
from netcosim.scenario.fields import BaseUnits

from .wire import Frame, read_frames

WORKER = Place(host="w", address="10.77.0.1")
SERVER = Place(host="s", address="10.77.0.2")
PORT = 4711


@dataclass
class Net:
    """Hosts by name; each is a process that holds a namespace open until its stdin closes."""

    holders: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def add(self, host: str) -> None:
        holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.holders[host] = holder
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"up\n", "needs root"

    def enter(self, host: str) -> list[str]:
        return ["nsenter", "--target", str(self.holders[host].pid), "--net", "--"]

    def popen(self, host: str, argv: list[str], **kw: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*self.enter(host), *argv], **kw)  # type: ignore[call-overload]

    def run(self, host: str, command: str) -> str:
        done = subprocess.run(
            [*self.enter(host), *command.split()], check=True, capture_output=True, text=True
        )
        return done.stdout

    def shape(self, rate: str) -> None:
        for host, device in (("w", "wv"), ("s", "sv")):
            self.run(
                host, f"tc qdisc replace dev {device} root tbf rate {rate} burst 16kb limit 1mb"
            )

    def unshape(self) -> None:
        for host, device in (("w", "wv"), ("s", "sv")):
            self.run(host, f"tc qdisc replace dev {device} root pfifo")

    def close(self) -> None:
        for holder in self.holders.values():
            assert holder.stdin is not None and holder.stdout is not None
            holder.stdin.close()
            holder.wait(600)
            holder.stdout.close()


@pytest.fixture(scope="session")
def wired() -> Iterator[Net]:
    assert os.geteuid() == 0, "root tests need root"
    net = Net()
    net.add("w")
    net.add("s")
    net.run("w", f"ip link add wv type veth peer name sv netns {net.holders['s'].pid}")
    for host, device, place in (("w", "wv", WORKER), ("s", "sv", SERVER)):
        net.run(host, f"ip addr add {place.address}/24 dev {device}")
        net.run(host, f"ip link set {device} up")
        net.run(host, f"ethtool -K {device} tso off gso off gro off")
    yield net
    net.close()


@pytest.fixture
def net(wired: Net) -> Net:
    wired.unshape()
    return wired


def transport(sender: str, receiver: str, **given: object) -> TransportSpec:
    if sender == "h2":
        given.setdefault("discipline", "fifo")
    sizes = {"window", "connection_window", "frame_size"}
    data = {k: BaseUnits(v) if k in sizes else v for k, v in given.items()}  # type: ignore[arg-type]
    return TransportSpec.model_validate(
        {"name": "t", "sender": sender, "receiver": receiver, **data}
    )


def plan(spec: TransportSpec, direction: Direction = "pull", **tcp: int) -> ConnectionPlan:
    sized = {key: BaseUnits(value) for key, value in tcp.items()}
    return pair(
        spec,
        direction,
        worker=WORKER,
        server=SERVER,
        port=PORT,
        tcp=TcpSpec.model_validate({"congestion_control": "cubic", **sized}),
    )


def tensors(*sizes: int, ready_ns: tuple[int, ...] = (), **same: int) -> list[StreamRequest]:
    return [
        StreamRequest(
            tensor=f"t{i}",
            index=i,
            size_bytes=size,
            ready_ns=ready_ns[i] if ready_ns else 0,
            **same,
        )
        for i, size in enumerate(sizes)
    ]


def burst(connection, streams, number=0, patience_s=60) -> BurstLog:
    return connection.run_burst(number, streams, time.time_ns() + 150_000_000, patience_s)


@contextmanager
def after(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    timer = threading.Timer(seconds, action)
    timer.start()
    yield
    timer.cancel()
    timer.join()


@pytest.fixture
def capture(net: Net, tmp_path: Path) -> Iterator[Callable[[], list[Frame]]]:
    """Both directions of the connection as HTTP/2 frames, seen in the worker's namespace."""
    file = tmp_path / "wire.pcap"
    with file.open("wb") as out:
        tcpdump = net.popen(
            "w",
            # Room for all that is sent while tcpdump has no processor.
            ["tcpdump", "-i", "wv", "-B", "65536", "-U", "--immediate-mode", "-w", "-", "tcp"],
            stdout=out,
            stderr=subprocess.PIPE,
        )
    assert tcpdump.stderr is not None
    assert b"listening" in tcpdump.stderr.readline()

    def stop() -> list[Frame]:
        time.sleep(0.5)
        tcpdump.terminate()
        tcpdump.wait(600)
        return read_frames(file, PORT)

    yield stop
    if tcpdump.poll() is None:
        tcpdump.terminate()
        tcpdump.wait(600)
    tcpdump.stderr.close()
