"""The command: what `python -m emu.analyze` prints, writes, and refuses."""

import gzip
import json

import jsonschema
import pytest

from emu.analyze import main
from tests.emu.capture import wire

from .scenes import World, capture
from .test_verdicts import WINDOW, staggered, together


@pytest.fixture
def windowed(tmp_path):
    world = World("two_visit", staggered("two_visit"), credit="rest_at_header", window=WINDOW)
    return capture(tmp_path / "windowed.pcap", world)


def test_what_a_person_reads(windowed, capsys):
    assert main([str(windowed)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "two_visit (a first visit of at most the window" in said.out
    assert "rest_at_header (the rest of the message, at its first bytes)" in said.out
    assert "served (stream:bytes): 1:" in said.out
    assert "first visit = the stream's window at that time" in said.out


def test_what_a_machine_reads(windowed, tmp_path, capsys):
    out = tmp_path / "a.json"
    assert main(["--json", str(out), str(windowed)]) == 0
    capsys.readouterr()
    assert main(["--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    data = json.loads(out.read_text())
    jsonschema.validate(data, schema)
    (direction,) = data["connections"][0]["directions"]
    assert direction["discipline"]["discipline"] == "two_visit"
    assert direction["credit"]["rule"] == "rest_at_header"
    assert sum(turn["size_bytes"] for turn in direction["turns"]) == direction["data_bytes"]
    assert {s["window_bytes"] for s in direction["streams"]} == {WINDOW}
    assert all(s["end"] == "ended" for s in direction["streams"])


def test_gzip_and_another_port_make_no_difference(tmp_path, capsys):
    path = capture(tmp_path / "a.pcap", World("round_robin", staggered("round_robin")))
    packed = tmp_path / "a.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert main([str(packed), "--port", str(wire.SERVER[1])]) == 0
    assert "discipline: round_robin (equal turns) of 16384 bytes" in capsys.readouterr().out


def test_a_capture_from_the_middle_is_read_as_far_as_it_tells(tmp_path, capsys):
    """The windows are not known then, the order of service is."""
    packets = wire_packets(tmp_path, World("round_robin", together("round_robin")))
    path = wire.write(tmp_path / "middle.pcap", packets[600:])
    assert main([str(path)]) == 1
    said = capsys.readouterr()
    assert "discipline: round_robin (equal turns) of 16384 bytes" in said.out
    assert "captured from its middle: read from byte" in said.out
    assert said.err.startswith(f"emu.analyze: {path}: ")
    assert len(said.err.splitlines()) == 1


def test_a_direction_that_is_missing_is_told_and_its_windows_are_not_known(tmp_path, capsys):
    packets = wire_packets(tmp_path, World("round_robin", together("round_robin")))
    path = wire.write(tmp_path / "half.pcap", [p for p in packets if p.source == wire.SERVER])
    assert main([str(path)]) == 1
    said = capsys.readouterr()
    assert "discipline: round_robin (equal turns) of 16384 bytes" in said.out
    assert "not complete: to server: nothing of this direction was captured" in said.out
    assert "because the receiver's windows were not captured" in said.out
    assert "initial windows announced" not in said.out


def wire_packets(tmp_path, world):
    """The packets themselves, to be cut."""
    kept = []
    original = wire.write
    try:
        wire.write = lambda path, packets, **how: kept.extend(packets) or path
        capture(tmp_path / "unused", world)
    finally:
        wire.write = original
    return kept


def hello(first):
    talk = wire.Talk().handshake().say("client", first).say("server", b"x" * 100)
    return wire.pcap_bytes(talk.close().packets)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "too short for a capture file"),
        (b"#!/bin/sh\necho no capture at all\n", "not a capture file"),
        (wire.pcap_bytes([]), "no HTTP/2 stream in it"),
        (hello(b"\x16\x03\x01\x02\x00\x01" + bytes(200)), "TLS: can't be read"),
        (hello(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1, not HTTP/2"),
        (hello(b"\x00\x01\x02 something else entirely"), "not HTTP/2: starts with"),
    ],
    ids=["empty", "script", "no packets", "tls", "http/1", "else"],
)
def test_what_can_not_be_read_is_one_line_and_seven(tmp_path, capsys, content, said):
    path = tmp_path / "a.pcap"
    path.write_bytes(content)
    assert main([str(path)]) == 7
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.startswith(f"emu.analyze: {path}: ")
    assert len(told.err.splitlines()) == 1


def test_a_file_cut_off_is_read_and_not_trusted(windowed, tmp_path, capsys):
    path = tmp_path / "cut.pcap"
    path.write_bytes(windowed.read_bytes()[:-5000])
    assert main([str(path)]) == 1
    said = capsys.readouterr()
    assert "two_visit" in said.out
    assert "the file is cut off" in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "FILE: is required"),
        (["--port", "0", "x"], "--port: 0: must be 1 to 65535"),
        (["--turns", "-1", "x"], "--turns: -1: must be >= 0"),
        (["--nonsense", "x"], "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_options_are_one_line_and_two(capsys, arguments, said):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_no_such_file_and_no_place_to_write(windowed, tmp_path, capsys):
    assert main([str(tmp_path / "missing")]) == 7
    assert "can't be read: No such file or directory" in capsys.readouterr().err
    assert main(["--json", str(tmp_path / "no" / "a.json"), str(windowed)]) == 6
