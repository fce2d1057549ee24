"""Implementations of an endpoint, one file each: how it is launched, which settings it takes.

A file offers the fields of a transport that it takes as sender and as receiver, and functions::

    SENDER_TAKES, RECEIVER_TAKES: frozenset of fields of a transport
    CAPABILITIES: tuple of int                      # of root's rights, what it can't do without
    def check(spec, *, sends: bool) -> None         # ScenarioError for a value it can't take
    def missing(spec, *, sends: bool) -> str | None # what this machine lacks for it
    def command(spec, *, sends: bool) -> tuple      # program and first arguments
    def settings(spec, *, sends: bool) -> dict      # the `settings` of its configuration
    def environment(spec, *, sends: bool) -> dict   # variables it is started with
"""

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import emu.remote
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec


class Implementation(Protocol):
    """What each file of this package offers."""

    SENDER_TAKES: frozenset[str]
    RECEIVER_TAKES: frozenset[str]
    CAPABILITIES: tuple[int, ...]

    def check(self, spec: TransportSpec, *, sends: bool) -> None:
        """Refuse values that this end can't take."""

    def missing(self, spec: TransportSpec, *, sends: bool) -> str | None:
        """Say what this machine lacks for this end, or nothing."""

    def command(self, spec: TransportSpec, *, sends: bool) -> tuple[str, ...]:
        """Give what starts this end; its configuration follows as the last argument."""

    def settings(self, spec: TransportSpec, *, sends: bool) -> dict[str, Any]:
        """Give the `settings` of this end's configuration."""

    def environment(self, spec: TransportSpec, *, sends: bool) -> dict[str, str]:
        """Give the variables this end is started with."""


def own_script(name: str) -> str:
    """The path of one of the project's endpoint scripts."""
    return str(Path(emu.remote.__file__).with_name(name))


def names() -> tuple[str, ...]:
    """Names of all implementations, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str, field: str = "transport") -> Implementation:
    """Find an implementation; `field` says in an error where its name stands.

    Raises
    ------
    ScenarioError
        No implementation has this name.
    """
    if name not in names():
        raise ScenarioError.at(field, name, f"must be one of {', '.join(names())}")
    return cast(Implementation, import_module(f"{__name__}.{name}"))
