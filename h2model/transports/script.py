"""Endpoint scripts of users: the scenario's settings are passed on, not enforced."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from h2model import credit
from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import TransportSpec

SENDER_HAS: Final = frozenset({"sender_script", "options", "frame_size", "whole_messages"})
RECEIVER_HAS: Final = frozenset(
    {"receiver_script", "window", "connection_window", "credit", "frame_size"}
)
STUDIED: Final = None
BOUNDS_UNACKNOWLEDGED: Final = False
KEEPS_WINDOWS: Final = False
WRITES_EACH: Final = False
GRPC_FRAMING: Final = True
INSTEAD: Final[Mapping[str, str]] = MappingProxyType({})


def check(spec: TransportSpec, *, sends: bool, newest: str) -> None:
    """Refuse an unknown credit rule.

    Raises
    ------
    ScenarioError
        Names the field, its value and what is allowed.
    """
    if not sends and spec.credit is not None and spec.credit not in credit.names():
        allowed = unknown(spec.credit, credit.names())
        raise ScenarioError.at(f"transport[{spec.name}].credit", spec.credit, allowed)
