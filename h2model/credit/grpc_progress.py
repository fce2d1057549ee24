"""Credit rule of gRPC: the window, and at most 1 MiB of the message still needed, ahead.

Source: grpcio 1.59.5 and 1.85.1; C-core, src/core/ext/transport/chttp2/transport/flow_control.cc:
the stream's announced window aims at the initial window plus min(bytes the reader still needs,
1 MiB).

An update goes out when half of what the aim allows has been used up; C-core decides by an urgency
that also looks at other writes, so the moment is an approximation.
"""

from typing import Final

from h2model.observed import ObservedUpdate

ABOUT: Final = "up to the window and 1 MiB of what the message still needs ahead"
WAITS_FOR_READER: Final = True

_PROGRESS_BYTES: Final = 1 << 20


def grant(received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int) -> int:
    """Bytes of WINDOW_UPDATE to send now for the stream, 0 for none."""
    aim = window_bytes + min(message_bytes - received_bytes, _PROGRESS_BYTES)
    left = granted_bytes - received_bytes
    return aim - left if 2 * left <= aim else 0


def explains(update: ObservedUpdate) -> bool:
    """True if it goes as far ahead as the rule allows of what was counted by then."""
    if update.covers_and_window:
        counted_bytes = update.received_bytes + update.frame_bytes
        return counted_bytes >= update.message_bytes - _PROGRESS_BYTES
    return update.counted(update.after_bytes - update.window_bytes - _PROGRESS_BYTES)
