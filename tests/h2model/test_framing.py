"""Bytes of messages on the wire: what our own endpoints' encoder and gRPC's make of them."""

import random

import pytest
from hpack import Encoder

from h2model import h2_headers
from h2model.framing import call_bytes, headers_bytes, packets_alone, wire_bytes
from h2model.protocol import FRAME_HEADER_BYTES
from netcosim.scenario import TransportSpec
from netcosim.training.call_path import GRADIENT, PULL, path_of

OWN = TransportSpec(name="own", sender="h2", receiver="h2", discipline="fifo")
GRPC = TransportSpec(name="grpc", sender="grpc", receiver="grpc")
AUTHORITY = "10.0.0.1:20000"


def path(what: str, step: int, op: int) -> str:
    return path_of(what, 3, step, op)


def encoded(headers_of) -> float:
    """Mean bytes of a HEADERS frame in the third step of thirty messages each."""
    encoder, rng = Encoder(), random.Random(1)
    sizes = [
        [len(encoder.encode(headers_of(step, op, rng))) for op in range(10, 40)]
        for step in range(3, 6)
    ]
    return FRAME_HEADER_BYTES + sum(sizes[-1]) / 30


def test_our_own_headers_are_as_long_as_the_encoder_makes_them():
    responses = encoded(lambda _, o, rng: h2_headers.response(1000 * o, grpc=False))
    some = path(GRADIENT, 5, 20)
    assert wire_bytes(OWN, 1000, path=some, pushed=False) - 1009 == pytest.approx(responses, abs=2)
    calls = encoded(
        lambda s, o, rng: h2_headers.request(path(PULL, s, o), AUTHORITY, 0, grpc=False)
    )
    assert call_bytes(OWN, path(PULL, 5, 20)) == pytest.approx(calls, abs=2)
    pushes = encoded(
        lambda s, o, rng: h2_headers.request(
            path(GRADIENT, s, o), AUTHORITY, rng.randint(10**3, 10**6), grpc=False
        )
    )
    assert wire_bytes(OWN, 1000, path=some, pushed=True) - 1009 == pytest.approx(pushes, abs=2)


def test_a_header_for_each_frame_and_what_grpc_adds():
    some = path(GRADIENT, 5, 20)
    one, two = (wire_bytes(OWN, size, path=some, pushed=False) for size in (16384, 16385))
    assert two - one == 1 + FRAME_HEADER_BYTES
    # gRPC: prefix, frame header, HEADERS of 12 and trailers of 25 bytes (grpc-1.85.1.toml).
    assert wire_bytes(GRPC, 1000, path=some, pushed=False) == 1000 + 5 + 9 + 12 + 25
    assert call_bytes(GRPC, some) > wire_bytes(GRPC, 0, path=some, pushed=True) > 60
    # As in captures: credit for the stream, DATA with a prefix, credit for the connection.
    assert call_bytes(GRPC, some) == headers_bytes(GRPC, some) + 13 + (9 + 5) + 13


def test_packets_of_a_message_that_is_alone_in_its_queue():
    """As in captures: HEADERS, DATA in packets of 1448 bytes, the acknowledgement of the answer."""
    some = path(GRADIENT, 5, 20)
    for size_bytes, data_packets in ((2, 1), (1439, 1), (1440, 2), (3248, 3)):
        own = wire_bytes(OWN, size_bytes, path=some, pushed=True)
        assert packets_alone(OWN, own, 1448) == 1 + data_packets + 1 - own / 1448
    # gRPC's HEADERS are in the first packet.
    headers_bytes = wire_bytes(GRPC, 0, path=some, pushed=True) - 5 - FRAME_HEADER_BYTES
    for size_bytes, packets in ((2, 1), (1448 - 14 - headers_bytes, 1), (1448, 2)):
        whole = wire_bytes(GRPC, size_bytes, path=some, pushed=True)
        assert packets_alone(GRPC, whole, 1448) == packets + 1 - whole / 1448
