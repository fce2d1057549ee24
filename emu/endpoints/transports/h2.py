"""Our own endpoints on python h2: the discipline, the credit rule and the frames are ours."""

from typing import Any

from h2model import credit, disciplines
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

SCRIPT = "h2_endpoint.py"
SENDER_TAKES = frozenset({"discipline", "options", "frame_size"})
RECEIVER_TAKES = frozenset({"window", "connection_window", "credit", "frame_size"})


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


def settings(spec: TransportSpec, *, sends: bool) -> dict[str, Any]:
    """Windows and credit for the receiver, discipline for the sender, frames for both."""
    common: dict[str, Any] = {
        "grpc": "grpc" in (spec.sender, spec.receiver),
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
