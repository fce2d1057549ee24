"""The grpcio of this environment."""

from typing import Any

from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

SCRIPT = "grpc_endpoint.py"
SENDER_TAKES = frozenset({"whole_messages"})
RECEIVER_TAKES = frozenset({"window"})

LARGEST_WINDOW_BYTES = 2**31 - 1 - 2**20
WHOLE_MESSAGES = "prioritize_finished_requests"


def check(spec: TransportSpec, *, sends: bool) -> None:
    """Refuse a window that gRPC would widen beyond what HTTP/2 allows.

    Raises
    ------
    ScenarioError
        The window is too large.
    """
    if not sends and spec.window is not None and spec.window > LARGEST_WINDOW_BYTES:
        raise ScenarioError.at(
            f"transport[{spec.name}].window",
            spec.window,
            f"gRPC adds up to 1 MiB; must be <= {LARGEST_WINDOW_BYTES} bytes",
        )


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
