"""Kinds of endpoints, one file each: the settings of a transport that each end has.

Emulator and simulator refuse the same settings here. The registry is the folder; a file offers the
fields of a transport that it has as sender and as receiver, and a function::

    SENDER_HAS, RECEIVER_HAS: frozenset of fields of a transport
    INSTEAD: mapping from a field that it lacks to what to do instead
    STUDIED: the implementation whose releases `h2model.parameters` has; None: it does as configured
    OURS: whether it is of our own: its discipline decides right before the socket, it keeps to a
        bound on what is behind that decision, to its windows, and without gRPC's framing
    def check(spec, *, sends: bool, newest: str) -> None   # ScenarioError for a value it can't take
"""

import pkgutil
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Final, Protocol, cast

from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

_OF_FLOW_CONTROL: Final = ("connection_window", "credit")


class Kind(Protocol):
    """Interface of a file of this package: a kind of endpoint."""

    SENDER_HAS: frozenset[str]
    RECEIVER_HAS: frozenset[str]
    INSTEAD: Mapping[str, str]
    STUDIED: str | None
    OURS: bool

    def check(self, spec: TransportSpec, *, sends: bool, newest: str) -> None:
        """Refuse values that this end can't take; `newest` is the release that is not named."""


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
        raise ScenarioError.at(field, name, f"must be one of {', '.join(names())}")
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


def _given(spec: TransportSpec) -> dict[str, object]:
    """The settings that not every end has, and that this transport was given."""
    fields: dict[str, object] = {
        "sender_release": spec.sender_release,
        "receiver_release": spec.receiver_release,
        "sender_script": spec.sender_script,
        "receiver_script": spec.receiver_script,
        "window": spec.window,
        "connection_window": spec.connection_window,
        "credit": spec.credit,
        "frame_size": spec.frame_size,
        "discipline": spec.discipline,
        "options": str(spec.options) if spec.options else None,
        "whole_messages": spec.whole_messages or None,
    }
    return {field: value for field, value in fields.items() if value is not None}
