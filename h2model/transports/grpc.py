"""grpcio endpoints: the settings that take effect in each release."""

from types import MappingProxyType
from typing import Final

from h2model.parameters import order_of
from h2model.protocol import DEFAULT_WINDOW_BYTES
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

SENDER_HAS: Final = frozenset({"sender_release", "whole_messages"})
RECEIVER_HAS: Final = frozenset({"receiver_release", "window"})
STUDIED: Final = "grpc"
BOUNDS_UNACKNOWLEDGED: Final = False
KEEPS_WINDOWS: Final = False
WRITES_EACH: Final = True
GRPC_FRAMING: Final = True
_DECIDES: Final = "a grpc sender has no such setting; its release decides"
INSTEAD: Final = MappingProxyType({"discipline": _DECIDES, "options": _DECIDES})

LARGEST_WINDOW_BYTES = 2**31 - 1 - 2**20

# First release, and first release no more: read off the wire at both edges and at a few releases
# between (docs/how-to/grpc-releases.md); one between two that behave alike is taken to do so, too.
_VARIABLE_OBEYED = ((1, 13), (1, 48))
_WINDOW_TAKEN_BACK = ((1, 52), (1, 74))
_OWN_OFF_SINCE = (1, 74)
_WHOLE_MESSAGES_SINCE = (1, 74)


def check(spec: TransportSpec, *, sends: bool, newest: str) -> None:
    """Refuse what would take no effect in this end's release.

    Raises
    ------
    ScenarioError
        Names the setting, its value and what is allowed.
    """
    release = _release(spec, sends=sends) or newest
    if sends:
        _check_whole_messages(spec, release)
    elif not spec.flow_control:
        _check_off(spec, release, newest)
    elif spec.window is not None:
        _check_window(spec, spec.window, release)


def _check_whole_messages(spec: TransportSpec, release: str) -> None:
    if spec.whole_messages and order_of(release) < _WHOLE_MESSAGES_SINCE:
        raise ScenarioError.at(
            f"transport[{spec.name}].whole_messages",
            True,
            f"grpcio {release} does not know it; needs a sender_release from 1.74 on",
        )


def _check_off(spec: TransportSpec, release: str, newest: str) -> None:
    if not off_by_variable(spec, newest) and order_of(release) < _OWN_OFF_SINCE:
        raise ScenarioError.at(
            f"transport[{spec.name}].flow_control",
            False,
            f"a receiver of grpcio {release} keeps its windows; needs a receiver_release from"
            " 1.74 on, or grpc at both ends with releases from 1.13 to 1.47",
        )


def _check_window(spec: TransportSpec, window_bytes: int, release: str) -> None:
    where = f"transport[{spec.name}].window"
    if window_bytes > LARGEST_WINDOW_BYTES:
        allowed = f"gRPC adds up to 1 MiB; must be <= {LARGEST_WINDOW_BYTES} bytes"
        raise ScenarioError.at(where, window_bytes, allowed)
    if window_bytes != DEFAULT_WINDOW_BYTES and not holds_window(release):
        raise ScenarioError.at(
            where,
            window_bytes,
            f"grpcio {release} takes it back with its second SETTINGS; must be"
            f" {DEFAULT_WINDOW_BYTES} bytes, or the receiver_release up to 1.51 or from 1.74 on",
        )


def holds_window(release: str) -> bool:
    """True if a receiver of this release keeps to a window that it is given."""
    return not _within(_WINDOW_TAKEN_BACK, release)


def _release(spec: TransportSpec, *, sends: bool) -> str | None:
    return spec.sender_release if sends else spec.receiver_release


def off_by_variable(spec: TransportSpec, newest: str) -> bool:
    """True if flow control is off, and both ends are of releases that obey the variable.

    At one end alone it breaks the connection: a receiver then gives no credit, and a sender sends
    frames larger than its peer allows.
    """
    return (
        not spec.flow_control
        and (spec.sender, spec.receiver) == ("grpc", "grpc")
        and _within(_VARIABLE_OBEYED, spec.sender_release or newest)
        and _within(_VARIABLE_OBEYED, spec.receiver_release or newest)
    )


def _within(releases: tuple[tuple[int, int], tuple[int, int]], release: str) -> bool:
    first, gone = releases
    return first <= order_of(release) < gone
