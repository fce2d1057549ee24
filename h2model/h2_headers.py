"""Header blocks of plain HTTP/2 messages, and of gRPC's framing on top of them."""

import struct

Headers = list[tuple[str, str]]

SIZE_HEADER = "netcosim-size"


def prefix(size_bytes: int) -> bytes:
    """Give the prefix of a gRPC message: not compressed, then its length."""
    return struct.pack(">BI", 0, size_bytes)


def request(path: str, authority: str, size_bytes: int, *, grpc: bool) -> Headers:
    """Headers of a request whose body has `size_bytes`."""
    headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", authority),
    ]
    if grpc:
        return [*headers, ("te", "trailers"), ("content-type", "application/grpc")]
    return [*headers, (SIZE_HEADER, str(size_bytes))]


def response(size_bytes: int, *, grpc: bool) -> Headers:
    """Headers of a response whose body has `size_bytes`."""
    if grpc:
        return [(":status", "200"), ("content-type", "application/grpc")]
    return [(":status", "200"), (SIZE_HEADER, str(size_bytes))]


def trailers() -> Headers:
    """End of a gRPC call that went well."""
    return [("grpc-status", "0")]


def find(headers: list[tuple[bytes, bytes]], name: str) -> str | None:
    """First value of a received header."""
    wanted = name.encode()
    return next((value.decode() for key, value in headers if key == wanted), None)
