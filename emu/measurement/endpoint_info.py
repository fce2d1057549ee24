"""Releases of a connection's two ends, and the HTTP/2 settings that they announced."""

from collections.abc import Mapping
from typing import Any

from emu.capture import ConnectionReport, DirectionReport
from emu.plan import PlannedConnection
from h2model.protocol import SETTING_NAMES


def peers(
    planned: PlannedConnection, opened: Mapping[str, Any], report: ConnectionReport
) -> dict[str, Any]:
    """Release and announced settings of the data's sender and receiver.

    Parameters
    ----------
    planned
        The connection.
    opened
        What requester and responder told of themselves.
    report
        The connection as captured.

    Returns
    -------
    dict
        For `sender` and `receiver` the `release`, null where the end does not tell;
        `ping_delays_ms`, the delays between PINGs that its library logged, each when it changed;
        and `settings`: the values that each setting took on the wire, in order, by its name.
    """
    client = ("requester", report.to_server)
    server = ("responder", report.to_client)
    sender, receiver = (client, server) if planned.direction == "push" else (server, client)
    return {
        end: {
            "release": opened[role].get("release"),
            "ping_delays_ms": list(opened[role].get("ping_delays_ms", ())),
            "settings": announced(direction),
        }
        for end, (role, direction) in (("sender", sender), ("receiver", receiver))
    }


def announced(direction: DirectionReport) -> dict[str, list[int]]:
    """Values that one side's settings took in turn; a value repeated at once counts once."""
    found: dict[str, list[int]] = {}
    for change in direction.settings:
        name = SETTING_NAMES.get(change.number, str(change.number)).lower()
        values = found.setdefault(name, [])
        if values[-1:] != [change.value]:
            values.append(change.value)
    return found
