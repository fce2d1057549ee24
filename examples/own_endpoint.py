#!/usr/bin/env python3
"""An endpoint of one's own on python h2; as a server it sends the smallest remainder first.

It answers and asks for pulls, and speaks docs/reference/endpoints.md. Nothing of netcosim is
imported. Try it:

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
import h2.settings

CHUNK_BYTES = 16384
UNSENT_BYTES = 65536
PREFIX_BYTES = 5
LARGEST_WINDOW = 2**31 - 1
FIRST_WINDOW = 65535
PATH = "/netcosim.Tensors/b{burst}/t{index}"


def report(event, **fields):
    """Tell the emulator: one line of JSON."""
    print(json.dumps({"event": event, **fields}), flush=True)


class End:
    """Base of both roles: commands, receiving, the log."""

    def __init__(self, sock, settings, *, client):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # What lies in the kernel's buffer can't be overtaken any more.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        self.socket = sock
        config = h2.config.H2Configuration(client_side=client, header_encoding="utf-8")
        self.http = h2.connection.H2Connection(config)
        window = settings.get("window_bytes") or FIRST_WINDOW
        if settings.get("flow_control") is False:
            window = LARGEST_WINDOW
        codes = h2.settings.SettingCodes
        self.http.local_settings = h2.settings.Settings(
            client=client, initial_values={codes.INITIAL_WINDOW_SIZE: window}
        )
        self.http.initiate_connection()
        self.http.increment_flow_control_window(LARGEST_WINDOW - FIRST_WINDOW)
        self.socket.sendall(self.http.data_to_send())
        self.burst = None
        self.times = {}  # by tensor: what this end logs
        self.cpu_ns = 0
        report("connected", tcp=None, release="example")

    def serve(self):
        """Go on until told to stop."""
        while True:
            writing = [self.socket] if self.can_send() else []
            readable, writable, _ = select.select(
                [sys.stdin, self.socket], writing, [], self.patience_s()
            )
            if sys.stdin in readable and not self.obey(sys.stdin.readline()):
                return
            if self.socket in readable:
                self.receive()
            elif writable or not readable:
                self.send()
            self.socket.sendall(self.http.data_to_send())

    def obey(self, line):
        """Take one command; false: stop. No line: the emulator is gone."""
        command = json.loads(line) if line else {"cmd": "stop"}
        if command["cmd"] == "stop":
            return False
        self.burst, self.times, self.cpu_ns = command, {}, time.process_time_ns()
        self.begin()
        report("armed", burst=command["burst"])
        return True

    def receive(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("connection lost: the peer closed it")
        for event in self.http.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                # python h2 gives the credit back when half a window was consumed.
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.heard(event)

    def finish_after_the_last(self):
        if len(self.times) < len(self.burst["streams"]):
            return
        report(
            "done",
            burst=self.burst["burst"],
            streams=[{"index": index, **times} for index, times in self.times.items()],
            late_ns=0,
            past_scheduler_bytes=None,
            cpu_ns=time.process_time_ns() - self.cpu_ns,
        )
        self.burst = None


class Server(End):
    """The responder of a pull: it sends the data."""

    def __init__(self, config):
        with socket.create_server((config["address"], config["port"])) as listener:
            report("listening")
            sock, _ = listener.accept()
        self.left = {}  # by stream: what is left of its message
        super().__init__(sock, config["settings"], client=False)

    def begin(self):
        pass

    def patience_s(self):
        return None

    def heard(self, event):
        """Hand over the message that a request asks for."""
        if not isinstance(event, h2.events.RequestReceived):
            return
        pattern = PATH.format(burst=r"(\d+)", index=r"(\d+)")
        burst, index = map(int, re.fullmatch(pattern, dict(event.headers)[":path"]).groups())
        if self.burst is None or burst != self.burst["burst"]:
            raise ValueError(f"a request of burst {burst} was not announced")
        size = next(s["size_bytes"] for s in self.burst["streams"] if s["index"] == index)
        self.times[index] = {"handed_ns": time.time_ns()}
        headers = [(":status", "200"), ("content-type", "application/grpc")]
        self.http.send_headers(event.stream_id, headers)
        self.left[event.stream_id] = memoryview(struct.pack(">BI", 0, size) + bytes(size))
        self.times[index]["taken_ns"] = time.time_ns()

    def can_send(self):
        return self.next_stream() is not None

    def next_stream(self):
        """The discipline: of the streams that have credit the one with the smallest remainder."""
        ready = [s for s in self.left if self.http.local_flow_control_window(s) > 0]
        return min(ready, key=lambda s: (len(self.left[s]), s), default=None)

    def send(self):
        stream = self.next_stream()
        left = self.left.pop(stream)
        size = min(CHUNK_BYTES, self.http.local_flow_control_window(stream))
        self.http.send_data(stream, left[:size].tobytes())
        if len(left) > size:
            self.left[stream] = left[size:]
            return
        self.http.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        if not self.left:
            self.finish_after_the_last()


class Client(End):
    """The requester of a pull: it receives the data."""

    def __init__(self, config):
        self.authority = f"{config['address']}:{config['port']}"
        if config["settings"].get("credit") is not None:
            raise ValueError("credit: this endpoint has a rule of its own")
        self.due = []  # requests to be made: when, and for what
        self.open = {}  # by stream: the tensor, and the bytes that came
        sock = socket.create_connection((config["address"], config["port"]), timeout=15)
        sock.settimeout(None)
        super().__init__(sock, config["settings"], client=True)

    def begin(self):
        start_ns = self.burst["start_ns"]
        self.due = [(start_ns + s["ready_ns"], s) for s in self.burst["streams"]]
        self.due.sort(key=lambda item: item[0])
        self.asked = {}

    def patience_s(self):
        if not self.due:
            return None
        return max(0, self.due[0][0] - time.time_ns()) / 1e9

    def can_send(self):
        return False  # only when a time has come

    def send(self):
        while self.due and self.due[0][0] <= time.time_ns():
            _, tensor = self.due.pop(0)
            stream = self.http.get_next_available_stream_id()
            path = PATH.format(burst=self.burst["burst"], index=tensor["index"])
            headers = [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", path),
                (":authority", self.authority),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
            ]
            self.asked[tensor["index"]] = time.time_ns()
            self.http.send_headers(stream, headers)
            self.http.send_data(stream, struct.pack(">BI", 0, 0), end_stream=True)
            self.open[stream] = [tensor, 0]

    def heard(self, event):
        if isinstance(event, h2.events.DataReceived):
            self.open[event.stream_id][1] += len(event.data)
        elif isinstance(event, h2.events.StreamEnded):
            tensor, came = self.open.pop(event.stream_id)
            if came != PREFIX_BYTES + tensor["size_bytes"]:
                raise ValueError(f"tensor {tensor['index']} came as {came} bytes")
            self.times[tensor["index"]] = {
                "requested_ns": self.asked[tensor["index"]],
                "delivered_ns": time.time_ns(),
            }
            self.finish_after_the_last()


def main():
    config = json.loads(sys.argv[1])
    try:
        if config["mode"] != "pull":
            raise ValueError(f"mode {config['mode']}: this endpoint only knows pull")
        role = {"responder": Server, "requester": Client}[config["role"]]
        role(config).serve()
    except (OSError, ValueError) as problem:
        report("error", message=str(problem))
        sys.exit(1)


if __name__ == "__main__":
    main()
