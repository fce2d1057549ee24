"""Launch parameters of our own endpoints on python h2: discipline, credit rule, frame size."""

import sys
from typing import Any

from emu.endpoints.transports import own_script
from h2model.candidates import speaks_grpc
from netcosim.scenario import TransportSpec

CAPABILITIES = (12,)
"""CAP_NET_ADMIN, over its host's network alone: socket buffers beyond the machine's maximum."""


def check(spec: TransportSpec, *, sends: bool) -> None:
    """Refuse nothing: no file is needed."""


def missing(spec: TransportSpec, *, sends: bool) -> str | None:
    """Need nothing but the project's own environment."""
    return None


def command(spec: TransportSpec, *, sends: bool) -> tuple[str, ...]:
    """The project's h2 endpoint script, with the project's own Python."""
    return sys.executable, own_script("h2_endpoint.py")


def settings(spec: TransportSpec, *, sends: bool) -> dict[str, Any]:
    """Windows and credit for the receiver, discipline for the sender, frames for both."""
    common: dict[str, Any] = {
        "grpc": speaks_grpc(spec),
        "frame_size_bytes": spec.frame_size,
    }
    if sends:
        return common | {"discipline": spec.discipline, "options": dict(spec.options)}
    return common | {
        "flow_control": spec.flow_control,
        "window_bytes": spec.window,
        "connection_window_bytes": spec.connection_window,
        "credit": spec.credit,
    }


def environment(spec: TransportSpec, *, sends: bool) -> dict[str, str]:
    """No environment variables of its own."""
    return {}
