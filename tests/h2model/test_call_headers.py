"""Lengths of header blocks: against hpack's decoder, and against what gRPC writes."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from hpack import Decoder
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.call_headers import CallHeaders, integer_bytes
from h2model.candidates import call_headers
from h2model.protocol import FRAME_HEADER_BYTES
from netcosim.scenario import TransportSpec

HEADERS = 1
STATIC = ((":method", 3), (":scheme", 6))
CALLS = 200

names = st.text("abcdefghijklmnop-", min_size=1, max_size=30)
values = st.text("abcdefghijklmnop /;,.0123456789", max_size=160)


def encoded(value: int, prefix: int, first: int) -> bytes:
    """Encode an integer as RFC 7541 says in section 5.1."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes([first | value])
    found, value = [first | most], value - most
    while value >= 128:
        found.append(value % 128 + 128)
        value //= 128
    return bytes([*found, value])


def literal(name: str, value: str) -> bytes:
    parts = (encoded(len(text), 7, 0) + text.encode() for text in (name, value))
    return b"\x40" + b"".join(parts)


def block(decoder: Decoder, path: str, fields: list[tuple[str, str]]) -> bytes:
    """Header block of a call, by what the decoder's table has; the decoder reads each field."""
    whole = b""
    for name, value in [(":path", path), *fields]:
        known = (
            None if name == ":path" else decoder.header_table.search(name.encode(), value.encode())
        )
        exact = known is not None and known[2] is not None
        part = encoded(known[0], 7, 0x80) if exact else literal(name, value)
        assert decoder.decode(part) == [(name, value)]
        whole += part
    return whole + b"".join(encoded(index, 7, 0x80) for _, index in STATIC)


@settings(max_examples=60)
@given(
    st.dictionaries(names, values, max_size=6),
    st.integers(0, 3),
    st.integers(0, 60),
    st.integers(1, 160),
)
def test_blocks_are_as_long_as_those_that_a_decoder_reads(fields, digits, padding, calls):
    given_fields = [(f"x-{name}", value) for name, value in fields.items()]
    ours = CallHeaders(given_fields, indexed=len(STATIC), table_bytes=4096)
    decoder = Decoder()
    for number in range(calls):
        path = f"/{'p' * padding}{number:0{digits + 1}d}"
        assert ours.block_bytes(path) == len(block(decoder, path, given_fields)), number


@given(st.integers(0, 1 << 40), st.integers(1, 8))
def test_integers_are_as_long_as_they_are_encoded(value, prefix):
    assert integer_bytes(value, prefix) == len(encoded(value, prefix, 0))


@contextmanager
def accepted(server: socket.socket) -> Iterator[socket.socket]:
    """The server's end of a connection, with its SETTINGS sent as they are."""
    peer, _ = server.accept()
    with peer:
        peer.settimeout(20)
        peer.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        yield peer


def headers_lengths(peer: socket.socket) -> Iterator[int]:
    """Lengths of the HEADERS frames that a client writes."""
    data = b""

    def read(count: int) -> bytes:
        nonlocal data
        while len(data) < count:
            more = peer.recv(65536)
            assert more
            data += more
        found, data = data[:count], data[count:]
        return found

    read(24)  # the preface (RFC 9113, section 3.4)
    while True:
        header = read(FRAME_HEADER_BYTES)
        length = int.from_bytes(header[:3])
        read(length)
        if header[3] == HEADERS:
            yield length


def test_headers_of_the_studied_release_are_as_long_as_it_writes_them():
    transport = TransportSpec(name="grpc", sender="grpc", receiver="grpc")
    with socket.create_server(("127.0.0.1", 0)) as server:
        authority = f"127.0.0.1:{server.getsockname()[1]}"
        ours = call_headers(transport, authority)
        with grpc.insecure_channel(authority) as channel:
            ready = grpc.channel_ready_future(channel)
            with accepted(server) as peer:
                ready.result(20)
                paths = [f"/netcosim.Tensors/b{k // 9}/t{k}" for k in range(CALLS)]
                waiting = [channel.unary_unary(path).future(b"") for path in paths]
                found = headers_lengths(peer)
                assert [next(found) for _ in paths] == [ours.block_bytes(path) for path in paths]
            for call in waiting:
                call.cancel()


def test_asynchronous_calls_tell_so_in_their_headers():
    transport = TransportSpec(name="grpc", sender="grpc", receiver="grpc")
    # Calls of one moment are written in any order.
    paths = [f"/netcosim.Training/pull/w0/s1/o{100 + k}" for k in range(CALLS)]

    async def calls(authority: str) -> None:
        async with grpc.aio.insecure_channel(authority) as channel:
            made = [channel.unary_unary(path)(b"") for path in paths]
            await asyncio.gather(*made, return_exceptions=True)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        authority = f"127.0.0.1:{server.getsockname()[1]}"
        client = threading.Thread(target=lambda: asyncio.run(calls(authority)))
        client.start()
        with accepted(server) as peer:
            lengths = headers_lengths(peer)
            found = [next(lengths) for _ in paths]
            server.close()  # no channel connects again
        client.join(20)
    ours = call_headers(transport, authority, asynchronous=True)
    assert found == [ours.block_bytes(path) for path in paths]


def test_lengths_are_not_known_of_releases_whose_calls_were_not_looked_at():
    old = TransportSpec(name="grpc", sender="grpc", receiver="grpc", sender_release="1.59.5")
    assert call_headers(old, "10.0.1.1:50051") is None
    assert call_headers(TransportSpec(name="h2", sender="h2", receiver="h2"), "a") is None


@pytest.mark.parametrize(("name", "size"), [("b0/t0", 211), ("b0/t1", 38), ("b0/t10", 39)])
def test_first_blocks_of_a_capture(name, size):
    transport = TransportSpec(name="grpc", sender="grpc", receiver="grpc")
    ours = call_headers(transport, "10.0.2.1:50051")
    paths = [f"/netcosim.Tensors/b0/t{k}" for k in range(11)]
    found = {path: ours.block_bytes(path) for path in paths}
    assert found[f"/netcosim.Tensors/{name}"] == size
