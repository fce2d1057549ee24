"""Numbers of HTTP/2 and of gRPC's framing that models, endpoints and captures share."""

from typing import Final

FRAME_HEADER_BYTES: Final = 9
DEFAULT_FRAME_BYTES: Final = 16_384
"""Largest frame that may be sent before SETTINGS say otherwise (RFC 9113, section 6.5.2)."""

DEFAULT_WINDOW_BYTES: Final = 65_535
"""Initial window of streams and connections (RFC 9113, section 6.9.2)."""

UNLIMITED_BYTES: Final = 2**31 - 1
"""A window of this size, the largest there is, stands for one that never binds."""

GRPC_PREFIX_BYTES: Final = 5
"""Length prefix of a gRPC message: compression flag and four bytes of length."""
