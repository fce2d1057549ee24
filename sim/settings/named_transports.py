"""Transports by name, for ``--transport`` and notebooks: a scenario's own, and usual ones."""

import re
from collections.abc import Iterable
from typing import Any, Final

from h2model import disciplines
from h2model.parameters import releases
from netcosim.errors import ScenarioError
from netcosim.nearest import listed, nearest
from netcosim.scenario import Scenario, TransportSpec

_GRPC: Final = {"sender": "grpc", "receiver": "grpc"}
_USUAL: Final[dict[str, dict[str, Any]]] = {
    "grpc": {},
    "grpc-off": {"flow_control": False},
    "whole-messages": {"flow_control": False, "whole_messages": True},
}
"""Settings of gRPC at both ends, in the newest release that was studied."""

_RELEASE: Final = re.compile(r"grpc-([0-9][0-9.]*)", re.ASCII)


def usual_transports() -> dict[str, str]:
    """Names of usual transports, each with what it is."""
    own = ", ".join(disciplines.names())
    return {
        "grpc": "gRPC in the newest release that was studied, flow control on",
        "grpc-off": "the same with flow control off",
        "whole-messages": "the same with flow control off, one message after the other",
        "grpc-RELEASE": f"gRPC of a release at both ends: {', '.join(releases('grpc'))}",
        "h2-DISCIPLINE": f"this project's own HTTP/2 sender, flow control on: {own}",
    }


def choose_transports(names: Iterable[str], scenario: Scenario) -> list[dict[str, Any]]:
    """Transports of these names, as a scenario file would hold them; the scenario's own first.

    Raises
    ------
    ScenarioError
        There is none of this name.
    """
    own = {transport.name: transport for transport in scenario.transport}
    return [_chosen(name, own) for name in dict.fromkeys(names)]


def _chosen(name: str, own: dict[str, TransportSpec]) -> dict[str, Any]:
    if name in own:
        found: dict[str, Any] = own[name].model_dump(mode="json", exclude_none=True)
        return found
    if name in _USUAL:
        return {"name": name, **_GRPC, **_USUAL[name]}
    if release := _RELEASE.fullmatch(name):
        both = {"sender_release": release[1], "receiver_release": release[1]}
        return {"name": name, **_GRPC, **both}
    kind, _, discipline = name.partition("-")
    if kind == "h2" and discipline in disciplines.names():
        return {"name": name, "sender": "h2", "receiver": "h2", "discipline": discipline}
    known = [*own, *(n for n in usual_transports() if n not in own)]
    meant = nearest(name, [*own, *_USUAL, *(f"h2-{each}" for each in disciplines.names())])
    asked = "" if meant is None else f"; did you mean {meant}?"
    raise ScenarioError.at("--transport", name, f"unknown{asked or ';'} allowed: {listed(known)}")
