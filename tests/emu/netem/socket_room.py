"""A socket of a guest that is filled by someone who waits until it has room, call by call."""

import json
import select
import socket
import subprocess
import sys
import time
from typing import Any

from emu.network import open_network
from emu.network.punctuality import VIRTUAL
from emu.plan import make_plan
from netcosim.scenario.toml import build_scenario

Json = dict[str, Any]

RATE_BPS = 50_000_000
PORT = 5000
_THIS = (sys.executable, "-m", "tests.emu.netem.socket_room")


def observe(send_buffer: int, writes: list[int]) -> Json:
    """Calls of a sender over one link: time in ns, bytes that the kernel took, -1 for none."""
    plan = make_plan(build_scenario(_scenario(send_buffer), "room"))
    with (
        open_network(plan.net, tcp=plan.scenario.cluster.tcp, punctuality=VIRTUAL) as live,
        live.popen("w0", [*_THIS, "receive"], stdout=subprocess.PIPE, text=True) as receiver,
    ):
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "up\n"
        call = [*_THIS, "send", live.address("w0"), json.dumps(writes)]
        with live.popen("s0", call, stdout=subprocess.PIPE, text=True) as sender:
            said, _ = sender.communicate()
        return {"calls": json.loads(said), "bucket_bytes": live.bucket_bytes("link")}


def _scenario(send_buffer: int) -> Json:
    return {
        "name": "room",
        "cluster": {
            "topology": "pair",
            "link": {"rate": f"{RATE_BPS}bit"},
            "tcp": {"send_buffer": f"{send_buffer}B"},
        },
        "workload": [{"name": "one", "tensors": [{"name": "a", "size": "1kB"}]}],
        "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
    }


def _receive() -> None:
    with socket.create_server(("0.0.0.0", PORT)) as server:
        print("up", flush=True)
        with server.accept()[0] as connection:
            while connection.recv(1 << 20):
                pass


def _send(address: str, writes: list[int]) -> list[tuple[int, int]]:
    """Begin each write when the kernel has the one before; after a call that took less wait."""
    calls = []
    with socket.create_connection((address, PORT)) as connection, select.epoll() as waiting:
        connection.setblocking(False)
        waiting.register(connection.fileno(), select.EPOLLOUT | select.EPOLLET)
        time.sleep(0.05)
        waiting.poll(0)
        for write in writes:
            left = memoryview(bytes(write))
            while left:
                now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                try:
                    taken = connection.send(left)
                except BlockingIOError:
                    calls.append((now_ns, -1))
                    waiting.poll()
                    continue
                calls.append((now_ns, taken))
                left = left[taken:]
    return calls


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        _receive()
    else:
        print(json.dumps(_send(sys.argv[2], json.loads(sys.argv[3]))))
