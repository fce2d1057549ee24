"""Bytes of a message on the wire: its frames' headers, HEADERS, trailers, gRPC's prefix."""

import math
from typing import Final

from h2model.candidates import (
    assumed,
    call_headers,
    candidate_senders,
    largest_frame_bytes,
    speaks_grpc,
)
from h2model.protocol import FRAME_HEADER_BYTES, GRPC_PREFIX_BYTES, WINDOW_UPDATE_BYTES
from h2model.way_back import ASKING_BYTES
from netcosim.scenario import TransportSpec

SOME_PATH: Final = "/netcosim.Training/gradient/w0/s00/o000"
"""Path of a training job's call, as long as most."""

_OWN_RESPONSE_BYTES: Final = FRAME_HEADER_BYTES + 2
"""HEADERS of our own sender's answer with a size that it has sent before, as in each step but the
first: status and size by their indices (RFC 7541, section 6.1)."""

_OWN_CALL_BYTES: Final = FRAME_HEADER_BYTES + 31
"""HEADERS of our own call that asks: the path's name by its index and its text by Huffman's code,
the rest by indices."""

_OWN_PUSH_BYTES: Final = _OWN_CALL_BYTES + 9
"""The same of a call that pushes: the size is told, too."""

SERVER: Final = "10.0.0.1:20000"
"""Address as long as most; of a call that is not its connection's first an index stands for it."""


def wire_bytes(transport: TransportSpec, size_bytes: int, *, path: str, pushed: bool) -> int:
    """Bytes of a message with all that is sent with it; `pushed` by a call of its own.

    Parameters
    ----------
    path : of its call, or of one that is as long
    """
    grpc = speaks_grpc(transport)
    message = size_bytes + GRPC_PREFIX_BYTES * grpc
    frames = -(-message // largest_frame_bytes(transport))
    return message + frames * FRAME_HEADER_BYTES + _beside_bytes(transport, path, pushed=pushed)


def packets_alone(transport: TransportSpec, wire_bytes: int, payload_bytes: int) -> float:
    """Packets of a pushed message that is alone in its queue, beyond those that its bytes fill.

    Its last packet is not full, its answer is acknowledged by one, and our own sender's HEADERS
    have one of their own; gRPC writes them with what follows.

    Parameters
    ----------
    wire_bytes : of the message, as `wire_bytes` says
    payload_bytes : of a full packet
    """
    headers_bytes = 0 if speaks_grpc(transport) else _OWN_PUSH_BYTES
    packets = (headers_bytes > 0) + math.ceil((wire_bytes - headers_bytes) / payload_bytes)
    return packets + 1 - wire_bytes / payload_bytes


def headers_bytes(transport: TransportSpec, path: str) -> int:
    """Bytes of the HEADERS of a call that asks for a message."""
    return _grpc_call_bytes(transport, path) if speaks_grpc(transport) else _OWN_CALL_BYTES


def call_bytes(transport: TransportSpec, path: str) -> int:
    """Bytes of a call that asks for a message, all of them: gRPC's brings the connection credit."""
    beside_bytes = (ASKING_BYTES + WINDOW_UPDATE_BYTES) * speaks_grpc(transport)
    return headers_bytes(transport, path) + beside_bytes


def _beside_bytes(transport: TransportSpec, path: str, *, pushed: bool) -> int:
    if not speaks_grpc(transport):
        return _OWN_PUSH_BYTES if pushed else _OWN_RESPONSE_BYTES
    if pushed:
        return _grpc_call_bytes(transport, path)
    known = assumed(transport)
    heads = candidate_senders(transport)[known].heads if known is not None else None
    return 0 if heads is None else heads.each + heads.tail


def _grpc_call_bytes(transport: TransportSpec, path: str) -> int:
    """HEADERS of a call that is not its connection's first; 0 where they are not known."""
    calls = call_headers(transport, SERVER, asynchronous=True)
    if calls is None:
        return 0
    calls.block_bytes(path)
    return FRAME_HEADER_BYTES + calls.block_bytes(path)
