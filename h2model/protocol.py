"""Numbers of HTTP/2 and of gRPC's framing that models, endpoints and captures share."""

from types import MappingProxyType
from typing import Final

FRAME_HEADER_BYTES: Final = 9
WINDOW_UPDATE_BYTES: Final = FRAME_HEADER_BYTES + 4
PING_FRAME_BYTES: Final = FRAME_HEADER_BYTES + 8
"""A PING, or its answer (RFC 9113, section 6.7)."""
DEFAULT_FRAME_BYTES: Final = 16_384
"""Largest frame that may be sent before SETTINGS say otherwise (RFC 9113, section 6.5.2)."""

DEFAULT_WINDOW_BYTES: Final = 65_535
"""Initial window of streams and connections (RFC 9113, section 6.9.2)."""

UNLIMITED_BYTES: Final = 2**31 - 1
"""A window of this size, the largest there is, stands for one that never binds."""

GRPC_PREFIX_BYTES: Final = 5
"""Length prefix of a gRPC message: compression flag and four bytes of length."""

SETTING_NAMES: Final = MappingProxyType(
    {
        1: "HEADER_TABLE_SIZE",
        2: "ENABLE_PUSH",
        3: "MAX_CONCURRENT_STREAMS",
        4: "INITIAL_WINDOW_SIZE",
        5: "MAX_FRAME_SIZE",
        6: "MAX_HEADER_LIST_SIZE",
    }
)
"""Names of the settings (RFC 9113, section 6.5.2) by their numbers."""
