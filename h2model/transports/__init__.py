"""Kinds of endpoints, one file each: the settings of a transport that each end has.

Emulator and simulator refuse the same settings here. The registry is the folder; a file offers the
fields of a transport that it has as sender and as receiver, and a function::

    SENDER_HAS, RECEIVER_HAS: frozenset of fields of a transport
    INSTEAD: mapping from a field that it lacks to what to do instead
    STUDIED: the implementation whose releases `h2model.parameters` has; None: it does as configured
    BOUNDS_UNACKNOWLEDGED: as a sender it decides right before the socket what goes next, and keeps
        to a bound of unacknowledged bytes
    KEEPS_WINDOWS: as a receiver it has windows as long as flow control is on, and keeps to them
    WRITES_EACH: as a sender it writes what it can with every message that is handed over, not once
        all of a moment are
    GRPC_FRAMING: its messages carry gRPC's prefix
    def check(spec, *, sends: bool, newest: str) -> None   # ScenarioError for a value it can't take
"""

import pkgutil
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from typing import Final, Protocol, cast

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import TransportSpec

_OF_FLOW_CONTROL: Final = ("connection_window", "credit")


class Kind(Protocol):
    """Interface of a file of this package: a kind of endpoint."""

    SENDER_HAS: frozenset[str]
    RECEIVER_HAS: frozenset[str]
    INSTEAD: Mapping[str, str]
    STUDIED: str | None
    BOUNDS_UNACKNOWLEDGED: bool
    KEEPS_WINDOWS: bool
    WRITES_EACH: bool
    GRPC_FRAMING: bool

    def check(self, spec: TransportSpec, *, sends: bool, newest: str) -> None:
        """Refuse values that this end can't take; `newest` is the release that is not named."""


@cache
def names() -> tuple[str, ...]:
    """Names of all kinds, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str, field: str = "transport") -> Kind:
    """Find a kind; `field` says in an error where its name stands.

    Raises
    ------
    ScenarioError
        No kind has this name.
    """
    if name not in names():
        raise ScenarioError.at(field, name, unknown(name, names()))
    return cast(Kind, import_module(f"{__name__}.{name}"))


def check_transport(spec: TransportSpec, newest: str, also: Collection[str] = ()) -> None:
    """Refuse what the transport's two ends can't do together.

    Parameters
    ----------
    spec
        The transport.
    newest
        The release of grpcio that an end has which names none.
    also
        Fields that are taken although neither end has them.

    Raises
    ------
    ScenarioError
        Names the field, its value and what is allowed.
    """
    where = f"transport[{spec.name}]"
    sender = load(spec.sender, f"{where}.sender")
    receiver = load(spec.receiver, f"{where}.receiver")
    known = {*sender.SENDER_HAS, *receiver.RECEIVER_HAS, *also}
    for field, value in _given(spec).items():
        if field not in known:
            both = f"{spec.sender} sender and {spec.receiver} receiver have no such setting"
            raise ScenarioError.at(f"{where}.{field}", value, sender.INSTEAD.get(field, both))
        if not spec.flow_control and field in _OF_FLOW_CONTROL:
            allowed = "has no meaning with flow_control = false"
            raise ScenarioError.at(f"{where}.{field}", value, allowed)
    sender.check(spec, sends=True, newest=newest)
    receiver.check(spec, sends=False, newest=newest)


def releases_not_named(spec: TransportSpec) -> tuple[str, ...]:
    """Fields of the ends' releases that the transport's kinds have, and that it does not give.

    Raises
    ------
    ScenarioError
        A kind is unknown.
    """
    where = f"transport[{spec.name}]"
    ends = {
        "sender_release": load(spec.sender, f"{where}.sender").SENDER_HAS,
        "receiver_release": load(spec.receiver, f"{where}.receiver").RECEIVER_HAS,
    }
    return tuple(f for f, has in ends.items() if f in has and getattr(spec, f) is None)


def _given(spec: TransportSpec) -> dict[str, object]:
    """The settings that not every kind has, and that this transport was given."""
    kinds = [load(name) for name in names()]
    special = frozenset[str]().union(*(k.SENDER_HAS | k.RECEIVER_HAS for k in kinds))
    given = {f: getattr(spec, f) for f in TransportSpec.model_fields if f in special}
    return {
        field: str(value) if isinstance(value, Mapping) else value
        for field, value in given.items()
        if value not in (None, False, {})
    }
