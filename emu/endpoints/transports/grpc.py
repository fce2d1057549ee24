"""Launch parameters of gRPC endpoints: the project's grpcio, or one of `./dev grpc-releases`."""

from typing import Any

from emu.endpoints.releases import interpreter, newest, not_ready
from emu.endpoints.transports import own_script
from h2model.transports.grpc import off_by_variable
from netcosim.scenario import TransportSpec

CAPABILITIES = ()

WHOLE_MESSAGES = "prioritize_finished_requests"
DISABLE_FLOW_CONTROL = "GRPC_EXPERIMENTAL_DISABLE_FLOW_CONTROL"

_KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
    "MALLOC_ARENA_MAX": "1",
}
"""glibc's allocator keeps what is freed: else each copy of a message is made on pages that the
kernel must first find and clear, which takes several times as long as the copy and varies."""


def check(spec: TransportSpec, *, sends: bool) -> None:
    """Refuse nothing: no file is needed."""


def missing(spec: TransportSpec, *, sends: bool) -> str | None:
    """Say why this end's release can't be started here."""
    return not_ready(_release(spec, sends=sends))


def command(spec: TransportSpec, *, sends: bool) -> tuple[str, ...]:
    """The project's gRPC endpoint script, with the Python that has the release."""
    return interpreter(_release(spec, sends=sends)), own_script("grpc_endpoint.py")


def settings(spec: TransportSpec, *, sends: bool) -> dict[str, Any]:
    """Windows; both ends get them, because the probe that would move them runs at both."""
    return {
        "flow_control": spec.flow_control,
        "window_bytes": spec.window,
        "release": _release(spec, sends=sends),
    }


def environment(spec: TransportSpec, *, sends: bool) -> dict[str, str]:
    """Environment variables: quiet logs, kept memory, and switches that are no channel arguments.

    Experiments are read once, when the library is loaded (C-core, src/core/lib/experiments).
    """
    found = {"GRPC_VERBOSITY": "ERROR", "GRPC_ENABLE_FORK_SUPPORT": "0"} | _KEEP_MEMORY
    if sends and spec.whole_messages:
        found["GRPC_EXPERIMENTS"] = WHOLE_MESSAGES
    if off_by_variable(spec, newest()):
        found[DISABLE_FLOW_CONTROL] = "1"
    return found


def _release(spec: TransportSpec, *, sends: bool) -> str | None:
    return spec.sender_release if sends else spec.receiver_release
