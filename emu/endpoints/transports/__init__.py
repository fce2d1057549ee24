"""Launch parameters of the endpoint implementations, one file each.

The settings of each are in the file of the same name in `h2model.transports`. A file here
offers::

    CAPABILITIES: tuple of int                      # of root's rights, what it can't do without
    def check(spec, *, sends: bool) -> None         # ScenarioError for what is not there
    def missing(spec, *, sends: bool) -> str | None # what this machine lacks for it
    def command(spec, *, sends: bool) -> tuple      # program and first arguments
    def settings(spec, *, sends: bool) -> dict      # the `settings` of its configuration
    def environment(spec, *, sends: bool) -> dict   # variables it is started with
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import emu.remote
from netcosim.scenario import TransportSpec


class Implementation(Protocol):
    """Interface of each file of this package."""

    CAPABILITIES: tuple[int, ...]

    def check(self, spec: TransportSpec, *, sends: bool) -> None:
        """Refuse files that are not there, or can't be started."""

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


def load(name: str) -> Implementation:
    """Import the implementation of this name."""
    return cast(Implementation, import_module(f"{__name__}.{name}"))
