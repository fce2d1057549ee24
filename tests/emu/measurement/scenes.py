"""Bursts made frame by frame: real HTTP/2 over a link with a token bucket, as captured behind it.

A scene has one connection, whose server sends the data. Times are made up, bytes are real: `h2`
speaks at both ends, and the project's own analysis reads the capture.
"""

from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.settings

from emu.capture import analyse_capture
from emu.endpoints.burst_logs import BurstLog, EndLog, StreamLog
from emu.measurement.burst_clock import LinkShape, Paths
from emu.measurement.trace_rows import (
    CapturedBurst,
    CapturedConnection,
    find_burst,
    find_connection,
)
from emu.pauses.pauses import Pauses
from emu.plan import PlannedConnection
from netcosim.job import Message
from netcosim.spans import Span
from tests.emu.capture.wire import ACK, PSH, Talk, write

MS = 1_000_000
RATE_BPS = 100_000_000
BUCKET_BYTES = 15_000
FRAME_NS = round(1514 * 8e9 / RATE_BPS)
BUCKET_NS = round(BUCKET_BYTES * 8e9 / RATE_BPS)
LINE_NS = 1_000
"""Time of a frame while there are tokens."""
START_NS = 10**18
LAG_NS = 2 * MS
LINK = ("link", True)
NO_PAUSES = Pauses(by_processor={})

_PAYLOAD = 1448
_HEADERS_BYTES = 66
_ENOUGH = 1 << 30


class Link:
    """A link with a token bucket that is full at first, and the time; connections can share it."""

    def __init__(self, start_ns: int = START_NS) -> None:
        self.now_ns = start_ns
        self._tokens_ns, self._counted_ns = float(BUCKET_NS), start_ns

    def cross(self, size_bytes: int) -> None:
        """Wait for tokens: a frame leaves while there are any, and may overdraw."""
        self.now_ns += LINE_NS
        self._tokens_ns = min(BUCKET_NS, self._tokens_ns + self.now_ns - self._counted_ns)
        if self._tokens_ns < 0:
            self.now_ns += round(-self._tokens_ns)
            self._tokens_ns = 0
        self._counted_ns = self.now_ns
        self._tokens_ns -= size_bytes * 8e9 / RATE_BPS


class Scene:
    """One connection's burst. What its ends do, they do at the link's time.

    `away_until_ns` is until when the receiver's processor is away: it stamps nothing before.
    """

    def __init__(self, *, number: int = 0, window: int = _ENOUGH, link: Link | None = None) -> None:
        self.number = number
        self.link = link or Link()
        self.talk = Talk(
            client=("10.0.0.1", 40000 + number),
            server=("10.0.0.2", 50051 + number),
            start_ns=self.link.now_ns - MS,
        ).handshake()
        self.away_until_ns = 0
        self._sizes: list[int] = []
        self._sent: dict[int, int] = {}
        self._asked: dict[int, int] = {}
        self._handed: dict[int, int] = {}
        self._taken: dict[int, int | None] = {}
        self._delivered: dict[int, int] = {}
        self._planned_ns: dict[int, int] = {}
        self._logged: list[int] = []
        self._held = bytearray()
        self.client = _end(client=True)
        self.server = _end(client=False)
        self.client.local_settings = h2.settings.Settings(
            client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        )
        self.client.initiate_connection()
        self.client.increment_flow_control_window(_ENOUGH)
        self.server.initiate_connection()
        self._client_speaks()

    @property
    def now_ns(self) -> int:
        """The link's time."""
        return self.link.now_ns

    def idle(self, length_ns: int) -> int:
        """Nothing comes for so long; when that began."""
        began_ns = self.link.now_ns
        self.link.now_ns += length_ns
        return began_ns

    def ask(self, size_bytes: int, *, ready_ns: int = 0, burst: int = 0) -> int:
        """Request the next tensor, which the plan has ready then; its index.

        Tensors of a later burst are on the wire alone: nobody logs them.
        """
        index = len(self._sizes)
        if not burst:
            self._logged.append(index)
        self._sizes.append(size_bytes)
        self._planned_ns[index] = ready_ns
        self._asked[index] = self.now_ns
        headers = [(":method", "POST"), (":scheme", "http"), (":authority", "x")]
        headers.append((":path", f"/netcosim.Tensors/b{burst}/t{index}"))
        self.client.send_headers(stream_of(index), headers, end_stream=True)
        self._client_speaks()
        return index

    def hand_over(self, index, *, handed_ns=None, taken_ns=None) -> None:
        """The server has a tensor ready; its application did so now, or at that time.

        `taken_ns` is when its transport had it, where it says so.
        """
        self._handed[index] = self.now_ns if handed_ns is None else handed_ns
        self._taken[index] = taken_ns
        self.server.send_headers(stream_of(index), [(":status", "200")])
        self._server_speaks()

    def serve(self, index: int, size_bytes: int | None = None) -> int:
        """Send so much of a tensor, or all that is left, as credit allows; how much it was."""
        stream = stream_of(index)
        left = self._sizes[index] - self._sent.get(index, 0)
        wanted = left if size_bytes is None else min(left, size_bytes)
        sent = 0
        while sent < wanted:
            room = self.server.local_flow_control_window(stream)
            step = min(wanted - sent, room, self.server.max_outbound_frame_size)
            if step <= 0:
                break
            sent += step
            last = sent == left
            self.server.send_data(stream, bytes(step), end_stream=last)
            self._server_speaks()
            if last:
                self._delivered[index] = self.now_ns
        self._sent[index] = self._sent.get(index, 0) + sent
        return sent

    def whole(self, size_bytes: int) -> int:
        """Ask for a tensor, hand it over and serve it; its index."""
        index = self.ask(size_bytes)
        self.hand_over(index)
        self.serve(index)
        return index

    def grant(self, index: int, size_bytes: int) -> None:
        """The client gives a stream credit."""
        self.client.increment_flow_control_window(size_bytes, stream_of(index))
        self._client_speaks()

    def initial_window(self, size_bytes: int) -> None:
        """The client moves the window that streams begin with."""
        self.client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: size_bytes})
        self._client_speaks()

    def ping(self, *, answered: bool = True) -> None:
        """The client sends a PING, which the server gets at once, or at `answer`."""
        self.client.ping(b"12345678")
        if answered:
            self._client_speaks()
        else:
            self._held += self._client_sends()

    def answer(self) -> None:
        """The server gets what was held back."""
        self.server.receive_data(bytes(self._held))
        self._held.clear()
        self._server_speaks()

    # How bytes cross the link and come into the capture.

    def _client_speaks(self) -> None:
        if data := self._client_sends():
            self.server.receive_data(data)
            self._server_speaks()

    def _client_sends(self) -> bytes:
        data = self.client.data_to_send()
        for at in range(0, len(data), _PAYLOAD):
            self._captured("client", data[at : at + _PAYLOAD])
        return data

    def _server_speaks(self) -> None:
        data = self.server.data_to_send()
        for at in range(0, len(data), _PAYLOAD):
            payload = data[at : at + _PAYLOAD]
            self.link.cross(len(payload) + _HEADERS_BYTES)
            self._captured("server", payload)
        if data:
            self.client.receive_data(data)
            self._client_speaks()

    def _captured(self, who: str, payload: bytes) -> None:
        stamp_ns = max(self.now_ns, self.away_until_ns, self.talk.now)
        self.talk._send(who, PSH | ACK, payload, step_ns=stamp_ns - self.talk.now)

    # What was seen of it.

    def seen(self, folder: Path) -> CapturedBurst:
        """The first burst as the project's analysis reads it from a whole capture."""
        path = write(folder / f"c{self.number}.pcap", self.talk.packets)
        found = self.seen_in(path)
        assert found.carried.report.problems == ()
        return found

    def seen_in(self, path: Path) -> CapturedBurst:
        """The first burst as the project's analysis reads it from this capture."""
        report = analyse_capture(path, gap_ns=20 * FRAME_NS)
        messages = tuple(
            Message(
                tensor=f"t{i}",
                index=i,
                size_bytes=self._sizes[i],
                ready_ns=self._planned_ns[i],
                priority=0,
            )
            for i in self._logged
        )
        planned = PlannedConnection(
            index=self.number, server="s0", worker="w0", direction="pull", messages=messages
        )
        end = EndLog(host="s0", late_ns=0, cpu_ns=0, past_scheduler=None)
        log = BurstLog(
            connection=str(self.number),
            burst=0,
            start_ns=min(self._asked.values()),
            streams=tuple(
                StreamLog(
                    index=i,
                    requested_ns=self._asked[i],
                    handed_ns=self._handed[i],
                    delivered_ns=self._delivered[i],
                    taken_ns=self._taken[i],
                )
                for i in self._logged
            ),
            requester=end,
            responder=end,
        )
        found = find_connection(report, 50051 + self.number)
        return find_burst(CapturedConnection(planned=planned, logs={0: log}, report=found), 0)


def stream_of(index: int) -> int:
    """The stream that carries a tensor."""
    return 2 * index + 1


def paths_of(*scenes: Scene, lag_ns: int = LAG_NS) -> Paths:
    """All connections over the one link, which is their bottleneck."""
    return Paths(
        routes={scene.number: (LINK,) for scene in scenes},
        bottlenecks={scene.number: LINK for scene in scenes},
        links={LINK[0]: LinkShape(rate_bps=RATE_BPS, bucket_bytes=BUCKET_BYTES)},
        lags_ns={scene.number: lag_ns for scene in scenes},
    )


def recorded(*spans: Span) -> Pauses:
    """Pauses of one processor."""
    return Pauses(by_processor={0: tuple(sorted(spans))})


def _end(*, client: bool) -> Any:
    return h2.connection.H2Connection(h2.config.H2Configuration(client_side=client))
