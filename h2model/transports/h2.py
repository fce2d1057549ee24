"""Our own h2 endpoints: discipline, credit rule and frame size are configured."""

from types import MappingProxyType
from typing import Final

from h2model import credit, disciplines
from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import TransportSpec

SENDER_HAS: Final = frozenset({"discipline", "options", "frame_size"})
RECEIVER_HAS: Final = frozenset({"window", "connection_window", "credit", "frame_size"})
STUDIED: Final = None
BOUNDS_UNACKNOWLEDGED: Final = True
KEEPS_WINDOWS: Final = True
WRITES_EACH: Final = False
GRPC_FRAMING: Final = False
INSTEAD: Final = MappingProxyType(
    {"whole_messages": "an h2 sender has no such setting; give it the discipline fifo"}
)


def check(spec: TransportSpec, *, sends: bool, newest: str) -> None:
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
        raise ScenarioError.at(f"{where}.credit", spec.credit, unknown(spec.credit, credit.names()))
