"""Credit rules: when a receiver widens a stream's window, and by how much. One file each.

A rule is a module with `ABOUT` (a few words), `WAITS_FOR_READER` (True if a pushed message gets
credit beyond its window only once the application reads it) and two pure functions. The first one
is called after each DATA frame of a stream was consumed, except the one that completes the
message::

    def grant(received_bytes, granted_bytes, window_bytes, message_bytes) -> int

`received_bytes` are the flow-controlled bytes of the stream so far; `granted_bytes` all the
credit it was ever given, the initial window included; `window_bytes` is the initial window;
`message_bytes` the flow-controlled length of the whole message. The result is the size of the
WINDOW_UPDATE to send now, 0 for none (RFC 9113, sections 5.2 and 6.9).

The other one recognises the rule in a capture::

    def explains(update: ObservedUpdate) -> bool

True if the rule would have sent this update, then.

Our own h2 receiver and its model follow `grant`, and `emu.identify` asks `explains`. A gRPC
receiver's credit depends on its writes, too: `h2model.grpc_receiver` models it, and the rule that
its parameters name says what it amounts to. In the simulator credit returns at once, whatever the
rule.
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Final, Protocol, cast

from h2model.file_check import check_file
from h2model.observed import ObservedUpdate

GrantRule = Callable[[int, int, int, int], int]

DEFAULT: Final = "half"
"""Rule of a receiver of our own that is given none."""


class CreditRule(Protocol):
    """Interface of a credit rule's module."""

    ABOUT: str
    WAITS_FOR_READER: bool

    @staticmethod
    def grant(
        received_bytes: int, granted_bytes: int, window_bytes: int, message_bytes: int
    ) -> int: ...
    @staticmethod
    def explains(update: ObservedUpdate) -> bool: ...


@cache
def names() -> tuple[str, ...]:
    """Names of all credit rules, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


@cache
def load(name: str) -> CreditRule:
    """Find the rule called `name`.

    Raises
    ------
    KeyError
        No rule has this name.
    ValueError
        Its file lacks a name, or has one that no rule has.
    """
    if name not in names():
        raise KeyError(name)
    module = import_module(f"{__name__}.{name}")
    check_file(module, CreditRule)
    return cast("CreditRule", module)
