"""grpcio: the project's own release, or another one from `./dev grpc-releases`."""

from typing import Any

from emu.endpoints.releases import interpreter, newest, not_ready
from emu.endpoints.transports import own_script
from h2model.parameters import order_of
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

SENDER_TAKES = frozenset({"sender_release", "whole_messages"})
RECEIVER_TAKES = frozenset({"receiver_release", "window"})
CAPABILITIES = ()

LARGEST_WINDOW_BYTES = 2**31 - 1 - 2**20
WHOLE_MESSAGES = "prioritize_finished_requests"
DISABLE_FLOW_CONTROL = "GRPC_EXPERIMENTAL_DISABLE_FLOW_CONTROL"

_KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
    "MALLOC_ARENA_MAX": "1",
}
"""glibc's allocator keeps what is freed: else each copy of a message is made on pages that the
kernel must first find and clear, which takes several times as long as the copy and varies."""

RFC_WINDOW_BYTES = 65535
"""What HTTP/2 begins with (RFC 9113, section 6.9.2)."""

# First release, and first release no more: read off the wire at both edges and at a few releases
# between (docs/how-to/grpc-releases.md); one between two that behave alike is taken to do so, too.
_VARIABLE_OBEYED = ((1, 13), (1, 48))
_WINDOW_TAKEN_BACK = ((1, 52), (1, 74))
_OWN_OFF_SINCE = (1, 74)
_WHOLE_MESSAGES_SINCE = (1, 74)


def check(spec: TransportSpec, *, sends: bool) -> None:
    """Refuse what would take no effect in this end's release.

    Raises
    ------
    ScenarioError
        Names the setting, its value and what is allowed.
    """
    release = _release(spec, sends=sends) or newest()
    if sends:
        _check_whole_messages(spec, release)
    elif not spec.flow_control:
        _check_off(spec, release)
    elif spec.window is not None:
        _check_window(spec, spec.window, release)


def _check_whole_messages(spec: TransportSpec, release: str) -> None:
    if spec.whole_messages and order_of(release) < _WHOLE_MESSAGES_SINCE:
        raise ScenarioError.at(
            f"transport[{spec.name}].whole_messages",
            True,
            f"grpcio {release} does not know it; needs a sender_release from 1.74 on",
        )


def _check_off(spec: TransportSpec, release: str) -> None:
    if not _off_by_variable(spec) and order_of(release) < _OWN_OFF_SINCE:
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
    if window_bytes != RFC_WINDOW_BYTES and not holds_window(release):
        raise ScenarioError.at(
            where,
            window_bytes,
            f"grpcio {release} takes it back with its second SETTINGS; must be"
            f" {RFC_WINDOW_BYTES} bytes, or the receiver_release up to 1.51 or from 1.74 on",
        )


def holds_window(release: str | None) -> bool:
    """Whether a receiver of this release keeps to a window that it is given."""
    return not _within(_WINDOW_TAKEN_BACK, release)


def missing(spec: TransportSpec, *, sends: bool) -> str | None:
    """Say why this end's release can't be started here."""
    return not_ready(_release(spec, sends=sends))


def command(spec: TransportSpec, *, sends: bool) -> tuple[str, ...]:
    """Our script, with the Python that has the release."""
    return interpreter(_release(spec, sends=sends)), own_script("grpc_endpoint.py")


def settings(spec: TransportSpec, *, sends: bool) -> dict[str, Any]:
    """Windows; both ends get them, because the probe that would move them runs at both."""
    return {
        "flow_control": spec.flow_control,
        "window_bytes": spec.window,
        "release": _release(spec, sends=sends),
    }


def environment(spec: TransportSpec, *, sends: bool) -> dict[str, str]:
    """Quiet, and with what only the environment can say.

    Experiments are read once, when the library is loaded (C-core, src/core/lib/experiments).
    """
    found = {"GRPC_VERBOSITY": "ERROR", "GRPC_ENABLE_FORK_SUPPORT": "0"} | _KEEP_MEMORY
    if sends and spec.whole_messages:
        found["GRPC_EXPERIMENTS"] = WHOLE_MESSAGES
    if _off_by_variable(spec):
        found[DISABLE_FLOW_CONTROL] = "1"
    return found


def _release(spec: TransportSpec, *, sends: bool) -> str | None:
    return spec.sender_release if sends else spec.receiver_release


def _off_by_variable(spec: TransportSpec) -> bool:
    """Whether flow control is off, and both ends are of releases that obey the variable.

    At one end alone it breaks the connection: a receiver then gives no credit, and a sender sends
    frames larger than its peer allows.
    """
    return (
        not spec.flow_control
        and (spec.sender, spec.receiver) == ("grpc", "grpc")
        and _within(_VARIABLE_OBEYED, spec.sender_release)
        and _within(_VARIABLE_OBEYED, spec.receiver_release)
    )


def _within(releases: tuple[tuple[int, int], tuple[int, int]], release: str | None) -> bool:
    first, gone = releases
    return first <= order_of(release or newest()) < gone
