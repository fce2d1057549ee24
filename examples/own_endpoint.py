#!/usr/bin/env python3
"""An endpoint of one's own: a server on python h2 that sends the smallest remainder first.

It answers pulls, and speaks docs/reference/endpoints.md; nothing of netcosim is imported. Try it:

    ./dev run --scenario examples/own-endpoint.toml
"""

import json
import re
import select
import socket
import struct
import sys
import time

import h2.config
import h2.connection
import h2.events

CHUNK_BYTES = 16384
UNSENT_BYTES = 65536


def report(event, **fields):
    """Tell the emulator: one line of JSON."""
    print(json.dumps({"event": event, **fields}), flush=True)


class Server:
    def __init__(self, config):
        if (config["role"], config["mode"]) != ("responder", "pull"):
            raise ValueError("this endpoint only answers pulls")
        with socket.create_server((config["address"], config["port"])) as listener:
            report("listening")
            self.socket, _ = listener.accept()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # What lies in the kernel's buffer can't be overtaken any more.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        settings = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.http = h2.connection.H2Connection(settings)
        self.http.initiate_connection()
        self.socket.sendall(self.http.data_to_send())
        report("connected", tcp=None, release="example")
        self.burst = None
        self.left = {}  # by stream: what is left of its message
        self.handed_ns = {}  # by tensor: when its message was handed over
        self.cpu_ns = 0

    def serve(self):
        """Obey, receive and send until told to stop."""
        while True:
            stream = self.next_stream()
            writing = [] if stream is None else [self.socket]
            readable, writable, _ = select.select([sys.stdin, self.socket], writing, [])
            if sys.stdin in readable and not self.obey(sys.stdin.readline()):
                return
            if self.socket in readable:
                self.receive()
            elif writable:
                self.send(stream)

    def obey(self, line):
        """Take one command; false: stop. No line: the emulator is gone."""
        command = json.loads(line) if line else {"cmd": "stop"}
        if command["cmd"] == "stop":
            return False
        self.burst, self.handed_ns, self.cpu_ns = command, {}, time.process_time_ns()
        report("armed", burst=command["burst"])
        return True

    def receive(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("connection lost: the peer closed it")
        for event in self.http.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.take(event.stream_id, dict(event.headers)[":path"])
            elif isinstance(event, h2.events.DataReceived):  # gRPC's requests have a prefix
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        self.socket.sendall(self.http.data_to_send())

    def take(self, stream, path):
        """Hand over the message that a request asks for."""
        burst, index = map(int, re.fullmatch(r"/netcosim\.Tensors/b(\d+)/t(\d+)", path).groups())
        if self.burst is None or burst != self.burst["burst"]:
            raise ValueError(f"a request of burst {burst} was not announced")
        size = next(s["size_bytes"] for s in self.burst["streams"] if s["index"] == index)
        self.handed_ns[index] = time.time_ns()
        self.http.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        self.left[stream] = memoryview(struct.pack(">BI", 0, size) + bytes(size))

    def next_stream(self):
        """The discipline: of the streams that have credit the one with the smallest remainder."""
        ready = [s for s in self.left if self.http.local_flow_control_window(s) > 0]
        return min(ready, key=lambda s: (len(self.left[s]), s), default=None)

    def send(self, stream):
        left = self.left.pop(stream)
        size = min(CHUNK_BYTES, self.http.local_flow_control_window(stream))
        self.http.send_data(stream, left[:size].tobytes())
        if len(left) > size:
            self.left[stream] = left[size:]
        else:
            self.http.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        self.socket.sendall(self.http.data_to_send())
        if not self.left and len(self.handed_ns) == len(self.burst["streams"]):
            self.finish()

    def finish(self):
        report(
            "done",
            burst=self.burst["burst"],
            streams=[{"index": i, "handed_ns": at} for i, at in self.handed_ns.items()],
            late_ns=0,
            past_scheduler_bytes=None,
            cpu_ns=time.process_time_ns() - self.cpu_ns,
        )
        self.burst = None


if __name__ == "__main__":
    try:
        Server(json.loads(sys.argv[1])).serve()
    except (OSError, ValueError) as problem:
        report("error", message=str(problem))
        sys.exit(1)
