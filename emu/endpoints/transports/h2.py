"""Our own endpoints on python h2: the discipline, the credit rule and the frames are ours."""

import sys
from typing import Any

from emu.endpoints.transports import own_script
from h2model import credit, disciplines
from h2model.candidates import speaks_grpc
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

SENDER_TAKES = frozenset({"discipline", "options", "frame_size"})
RECEIVER_TAKES = frozenset({"window", "connection_window", "credit", "frame_size"})
CAPABILITIES = (12,)
"""CAP_NET_ADMIN, over its host's network alone: socket buffers beyond the machine's maximum."""


def check(spec: TransportSpec, *, sends: bool) -> None:
    """Refuse an unknown discipline, option or credit rule.

    Raises
    ------
    ScenarioError
        Names the field, its value and what is allowed.
    """
    where = f"transport[{spec.name}]"
    if sends:
        if spec.discipline is None:
            allowed = ", ".join(disciplines.names())
            raise ScenarioError(f"{where}.discipline: an h2 sender needs one of {allowed}")
        try:
            disciplines.load(spec.discipline)
        except ValueError as problem:
            raise ScenarioError(f"{where}.discipline: {problem}") from None
        try:
            disciplines.resolve_options(spec.discipline, spec.options)
        except ValueError as problem:
            raise ScenarioError(f"{where}.options: {problem}") from None
    elif spec.credit is not None and spec.credit not in credit.names():
        raise ScenarioError.at(
            f"{where}.credit", spec.credit, f"must be one of {', '.join(credit.names())}"
        )


def missing(spec: TransportSpec, *, sends: bool) -> str | None:
    """Need nothing but the project's own environment."""
    return None


def command(spec: TransportSpec, *, sends: bool) -> tuple[str, ...]:
    """Our script, with the project's own Python."""
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
    """Need nothing."""
    return {}
