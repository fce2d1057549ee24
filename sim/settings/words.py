"""How connections send, for a person."""

from typing import Final

from h2model import disciplines
from netcosim.units import format_size
from sim.plan import Sending

_FINISHING: Final = {"finish_first": "finishes messages first"}


def sender_text(sending: Sending) -> str:
    """The discipline with its options, where they are not those that it has by default."""
    names = disciplines.load(sending.discipline).OPTIONS
    given = [
        _FINISHING.get(name, f"{name} {value}")
        for (name, default), value in zip(names.items(), sending.options, strict=True)
        if value != default
    ]
    return f"{sending.discipline} ({', '.join(given)})" if given else sending.discipline


def windows_text(sending: Sending, recorded_bytes: int | None = None) -> str:
    """A stream's window and its connection's; one that never binds is none.

    Parameters
    ----------
    recorded_bytes : the stream's window while the profile was recorded, where that is known; told
        where it was another
    """
    stream, connection = sending.window_bytes, sending.connection_window_bytes
    text = "none: flow control is off"
    if stream is not None or connection is not None:
        shown = ("none" if size is None else format_size(size) for size in (stream, connection))
        text = "stream {}, connection {}".format(*shown)
    if recorded_bytes in (None, stream):
        return text
    return f"{text}; the profile was recorded with {format_size(recorded_bytes)}"
