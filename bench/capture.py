"""`./dev bench capture`: speed of capture analysis, in bytes of the capture file on one core.

The capture is made here: several streams take turns with 16 KiB DATA frames in full-size
segments (1448 bytes), an acknowledgement for every second one. Measured are the analysis alone,
`emu.analyze` as a whole with the evidence for the rules and the printing, and the same as a
process of its own, with the second that Python takes to load, on a file three times as large.
"""

import contextlib
import io
import itertools
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bench.common.record import Figure, at_least, record
from emu import analyze
from emu.capture import CaptureReport, analyse_capture
from netcosim.cli import run_main

TARGET_MB_PER_S = 250
PAYLOAD_BYTES = 320_000_000
FRAME_BYTES = 16_384
SEGMENT_BYTES = 1448
STREAMS = 8
CLIENT, SERVER = (b"\x0a\x00\x00\x01", 40000), (b"\x0a\x00\x00\x02", 50051)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SYN, ACK = 0x02, 0x10


def figures(payload_bytes: int = PAYLOAD_BYTES, rounds: int = 3) -> list[Figure]:
    """The analysis alone: captures in a temporary folder, each a few times, the best rates."""
    return [
        _figure(f"analysis, {name}", [_rate(path, payload_bytes) for _ in range(rounds)], path)
        for name, path in _captures(payload_bytes)
    ]


def command_figures(payload_bytes: int = PAYLOAD_BYTES, rounds: int = 3) -> list[Figure]:
    """The command `emu.analyze` as a whole, in this process and as one of its own."""
    found = [
        _figure(f"emu.analyze, {name}", [_command_rate(path) for _ in range(rounds)], path)
        for name, path in _captures(payload_bytes)
    ]
    for _, path in _captures(3 * payload_bytes, late=False):
        rates = [_process_rate(path) for _ in range(rounds)]
        found.append(_figure("emu.analyze as a process, in order", rates, path))
    return found


def _captures(payload_bytes: int, *, late: bool = True) -> Iterator[tuple[str, Path]]:
    """Each capture with its name, for as long as it is looked at."""
    cases = (("in order", 0), ("1 % of segments late", 100))
    for name, every in cases if late else cases[:1]:
        with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
            path = Path(folder) / "capture.pcap"
            write_capture(path, payload_bytes, late_every=every)
            yield name, path


def _figure(name: str, rates: list[float], path: Path) -> Figure:
    note = f"{path.stat().st_size / 1e6:.0f} MB, best of {len(rates)}"
    return at_least(name, max(rates), "MB/s", TARGET_MB_PER_S, note)


def _command_rate(path: Path) -> float:
    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = analyze.main([str(path)])
    spent = time.perf_counter() - begin
    if code or "discipline: round_robin" not in said.getvalue():
        raise RuntimeError(f"the analysis is wrong: exit code {code}")
    return path.stat().st_size / spent / 1e6


def _process_rate(path: Path) -> float:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "emu.analyze", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    spent = time.perf_counter() - begin
    if "discipline: round_robin" not in done.stdout:
        raise RuntimeError("the analysis is wrong")
    return path.stat().st_size / spent / 1e6


def _rate(path: Path, payload_bytes: int) -> float:
    begin = time.perf_counter()
    report = analyse_capture(path)
    spent = time.perf_counter() - begin
    _check(report, payload_bytes)
    return path.stat().st_size / spent / 1e6


def _check(report: CaptureReport, payload_bytes: int) -> None:
    found = sum(stream.server.data_bytes for stream in report.connections[0].streams)
    if report.problems or found != payload_bytes // FRAME_BYTES * FRAME_BYTES:
        raise RuntimeError(f"the analysis is wrong: {found} bytes, {report.problems}")


def write_capture(path: Path, payload_bytes: int, *, late_every: int = 0) -> None:
    """Write a capture; with `late_every`, every segment of that number comes one place later."""
    segments = _segments(_server_bytes(payload_bytes // FRAME_BYTES))
    client = PREFACE + _frame(4, 0, 0, _initial_window()) + _frame(8, 0, 0, _grant())
    client += b"".join(_frame(1, 5, 2 * n + 1, b"\x82") for n in range(STREAMS))
    with path.open("wb") as file:
        file.write(struct.pack("<I2H4I", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        clock = itertools.count(10**18, 12_000)
        _write(file, clock, up=True, seq=0, ack=0, flags=SYN)
        _write(file, clock, up=False, seq=0, ack=1, flags=SYN | ACK)
        _write(file, clock, up=True, seq=1, ack=1, flags=ACK, payload=client)
        held: tuple[int, bytes] | None = None
        for number, (seq, payload) in enumerate(segments):
            if late_every and number % late_every == late_every - 1:
                held = seq, payload
                continue
            _write(file, clock, up=False, seq=seq, ack=1 + len(client), flags=ACK, payload=payload)
            if held:
                _write(file, clock, up=False, seq=held[0], ack=1, flags=ACK, payload=held[1])
                held = None
            if number % 2:
                _write(file, clock, up=True, seq=1 + len(client), ack=seq, flags=ACK)
        if held:
            _write(file, clock, up=False, seq=held[0], ack=1, flags=ACK, payload=held[1])


def _initial_window() -> bytes:
    return struct.pack("!HI", 4, 2**31 - 1)


def _grant() -> bytes:
    return struct.pack("!I", 2**31 - 1 - 65535)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def _server_bytes(frames: int) -> Iterator[bytes]:
    yield _frame(4, 0, 0, b"")
    for number in range(STREAMS):
        yield _frame(1, 4, 2 * number + 1, b"\x88")
    for number in range(frames):
        yield _frame(0, 0, 2 * (number // 10 % STREAMS) + 1, bytes(FRAME_BYTES))


def _segments(parts: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    seq, waiting = 1, b""
    for part in parts:
        waiting += part
        whole = len(waiting) // SEGMENT_BYTES * SEGMENT_BYTES
        for at in range(0, whole, SEGMENT_BYTES):
            yield seq, waiting[at : at + SEGMENT_BYTES]
            seq += SEGMENT_BYTES
        waiting = waiting[whole:]
    yield seq, waiting


def _write(
    file: BinaryIO,
    clock: Iterator[int],
    *,
    up: bool,
    seq: int,
    ack: int,
    flags: int,
    payload: bytes = b"",
) -> None:
    source, destination = (CLIENT, SERVER) if up else (SERVER, CLIENT)
    size = 40 + len(payload)
    network = struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0x4000, 64, 6, 0)
    tcp = struct.pack("!2H2I2B3H", source[1], destination[1], seq, ack, 0x50, flags, 512, 0, 0)
    seconds, fraction = divmod(next(clock), 10**9)
    record = struct.pack("<4I", seconds, fraction, 14 + size, 14 + size)
    link = bytes(12) + b"\x08\x00"
    file.write(b"".join((record, link, network, source[0], destination[0], tcp, payload)))


if __name__ == "__main__":
    sys.exit(
        run_main(lambda _: record("capture", [*figures(), *command_figures()]), "bench capture")
    )
