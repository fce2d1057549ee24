"""The grpcio of this environment."""

from typing import Any

from netcosim.scenario import TransportSpec

SCRIPT = "grpc_endpoint.py"
SENDER_TAKES = frozenset({"whole_messages"})
RECEIVER_TAKES = frozenset({"window"})

WHOLE_MESSAGES = "prioritize_finished_requests"


def check(spec: TransportSpec, *, sends: bool) -> None:
    """Have nothing to refuse beyond settings that aren't taken."""


def settings(spec: TransportSpec, *, sends: bool) -> dict[str, Any]:
    """Windows; both ends get them, because the probe that would move them runs at both."""
    return {"flow_control": spec.flow_control, "window_bytes": spec.window}


def environment(spec: TransportSpec, *, sends: bool) -> dict[str, str]:
    """Quiet, and with the experiment that finishes one message before the next if asked for.

    Experiments are read once, when the library is loaded (C-core, src/core/lib/experiments).
    """
    quiet = {"GRPC_VERBOSITY": "ERROR", "GRPC_ENABLE_FORK_SUPPORT": "0"}
    if sends and spec.whole_messages:
        return quiet | {"GRPC_EXPERIMENTS": WHOLE_MESSAGES}
    return quiet
