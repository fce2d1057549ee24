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


def windows_text(sending: Sending) -> str:
    """A stream's window and its connection's; one that never binds is none."""
    stream, connection = sending.window_bytes, sending.connection_window_bytes
    if stream is None and connection is None:
        return "none: flow control is off"
    shown = ("none" if size is None else format_size(size) for size in (stream, connection))
    return "stream {}, connection {}".format(*shown)
