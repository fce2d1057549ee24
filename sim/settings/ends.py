"""Which settings a transport's two ends have; the emulator refuses the same others."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from h2model import credit
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

_SENDER_HAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "grpc": ("sender_release",),
        "h2": ("frame_size",),
        "script": ("sender_script", "frame_size"),
    }
)
_RECEIVER_HAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "grpc": ("receiver_release",),
        "h2": ("connection_window", "credit", "frame_size"),
        "script": ("receiver_script", "connection_window", "credit", "frame_size"),
    }
)
_ALL: Final = sorted(
    {field for table in (_SENDER_HAS, _RECEIVER_HAS) for has in table.values() for field in has}
)
"""All other settings every transport has, or `sim.settings.sending` looks at them."""

_OF_FLOW_CONTROL: Final = ("connection_window", "credit")


def check_ends(transport: TransportSpec) -> None:
    """Refuse settings that would be passed over.

    Raises
    ------
    ScenarioError
        A kind of end that there is not, a setting that neither end has, or a credit rule that is
        not there.
    """
    where = f"transport[{transport.name}]"
    for end, known in (("sender", _SENDER_HAS), ("receiver", _RECEIVER_HAS)):
        if getattr(transport, end) not in known:
            allowed = f"must be one of {', '.join(known)}"
            raise ScenarioError.at(f"{where}.{end}", getattr(transport, end), allowed)
    has = (*_SENDER_HAS[transport.sender], *_RECEIVER_HAS[transport.receiver])
    for field in _ALL:
        value = getattr(transport, field)
        if value is not None and field not in has:
            both = f"{transport.sender} sender and {transport.receiver} receiver"
            raise ScenarioError.at(f"{where}.{field}", value, f"{both} have no such setting")
    for field in _OF_FLOW_CONTROL:
        value = getattr(transport, field)
        if value is not None and not transport.flow_control:
            allowed = "has no meaning with flow_control = false"
            raise ScenarioError.at(f"{where}.{field}", value, allowed)
    if transport.credit is not None and transport.credit not in credit.names():
        allowed = f"must be one of {', '.join(credit.names())}"
        raise ScenarioError.at(f"{where}.credit", transport.credit, allowed)
