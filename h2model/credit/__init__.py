"""Credit rules: when a receiver widens a stream's window, and by how much. One file each.

A rule is one pure function, called after each DATA frame of a stream was consumed, except the
one that completes the message::

    def grant(received_bytes, granted_bytes, window_bytes, message_bytes) -> int

`received_bytes` are the flow-controlled bytes of the stream so far; `granted_bytes` all the
credit it was ever given, the initial window included; `window_bytes` is the initial window;
`message_bytes` the flow-controlled length of the whole message. The result is the size of the
WINDOW_UPDATE to send now, 0 for none (RFC 9113, sections 5.2 and 6.9).
"""

import pkgutil
from collections.abc import Callable
from importlib import import_module

GrantRule = Callable[[int, int, int, int], int]


def names() -> tuple[str, ...]:
    """Names of all credit rules, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> GrantRule:
    """Find the rule called `name`.

    Raises
    ------
    KeyError
        No rule has this name.
    """
    if name not in names():
        raise KeyError(name)
    rule: GrantRule = import_module(f"{__name__}.{name}").grant
    return rule
