"""Real HTTP/2 bytes: two `h2` connections that talk, and what they said."""

from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.settings

WINDOW = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
FRAME = h2.settings.SettingCodes.MAX_FRAME_SIZE


@dataclass
class Truth:
    """The endpoints' own account."""

    messages: list = field(default_factory=list)  # (who, bytes) in the order of the wire
    paths: dict = field(default_factory=dict)
    served: list = field(default_factory=list)  # (stream, bytes) of each DATA frame of the server

    def sizes(self):
        total: dict[int, int] = {}
        for stream, size in self.served:
            total[stream] = total.get(stream, 0) + size
        return total

    def order(self):
        """(stream, bytes) of each run of one stream's DATA."""
        runs: list[list[int]] = []
        for stream, size in self.served:
            if size and runs and runs[-1][0] == stream:
                runs[-1][1] += size
            elif size:
                runs.append([stream, size])
        return [tuple(run) for run in runs]


class Pair:
    """A client and a server that pass their bytes on at once and note them."""

    def __init__(self, *, window=65535, frame=16384, connection_window=None, long_paths=0):
        self.truth = Truth()
        self.client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.client.local_settings = h2.settings.Settings(
            client=True, initial_values={WINDOW: window, FRAME: frame}
        )
        self.client.max_inbound_frame_size = frame
        self.long = "x" * long_paths
        self.client.initiate_connection()
        if connection_window:
            self.client.increment_flow_control_window(connection_window - 65535)
        self.server.initiate_connection()
        self.flush()

    def flush(self):
        """Pass bytes on until both are silent."""
        while True:
            up, down = self.client.data_to_send(), self.server.data_to_send()
            if up:
                self.truth.messages.append(("client", up))
                self.server.receive_data(up)
            if down:
                self.truth.messages.append(("server", down))
                for event in self.client.receive_data(down):
                    self.on_client(event)
            if not up and not down:
                return

    def on_client(self, event):
        if isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
            self.client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def ask(self, stream, path):
        path += self.long
        headers = [
            (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"),
        ]  # fmt: skip
        self.client.send_headers(stream, headers, end_stream=True)
        self.truth.paths[stream] = path
        self.flush()

    def head(self, stream):
        self.server.send_headers(stream, [(":status", "200"), ("content-type", "x")])
        self.flush()

    def serve(self, stream, size, *, end=False, pad=None):
        """Send so much of a stream, as far as credit and frame size allow; what was sent."""
        sent = 0
        while True:
            room = self.server.local_flow_control_window(stream)
            overhead = 0 if pad is None else pad + 1
            step = min(size - sent, room - overhead, self.server.max_outbound_frame_size - overhead)
            if step <= 0:
                return sent
            last = end and sent + step == size
            self.server.send_data(stream, bytes(step), end_stream=last, pad_length=pad)
            self.truth.served.append((stream, step))
            sent += step
            self.flush()
            if sent == size:
                return sent


def burst(sizes, *, quantum=20000, pad=None, **how) -> Truth:
    """Serve these sizes round robin."""
    pair = Pair(**how)
    left = {}
    for index, size in enumerate(sizes):
        stream = 2 * index + 1
        pair.ask(stream, f"/netcosim.Tensors/b0/t{index}")
        left[stream] = size
    for stream in left:
        pair.head(stream)
    while left:
        for stream in list(left):
            step = min(quantum, left[stream])
            sent = pair.serve(stream, step, end=step == left[stream], pad=pad)
            left[stream] -= sent
            if not left[stream]:
                del left[stream]
    return pair.truth
