"""Releases of a connection's two ends, and the HTTP/2 settings that they announced."""

from collections.abc import Mapping
from typing import Any, Final

from emu.capture import ConnectionReport, DirectionReport
from emu.plan import PlannedConnection

SETTINGS: Final = {
    1: "header_table_size",
    2: "enable_push",
    3: "max_concurrent_streams",
    4: "initial_window_size",
    5: "max_frame_size",
    6: "max_header_list_size",
}
"""Names of HTTP/2 settings (RFC 9113, section 6.5.2); others go by their number."""


def peers(
    planned: PlannedConnection, opened: Mapping[str, Any], report: ConnectionReport
) -> dict[str, Any]:
    """Release and announced settings of the data's sender and receiver.

    Parameters
    ----------
    planned
        The connection.
    opened
        The `connected` events of requester and responder.
    report
        The connection as captured.

    Returns
    -------
    dict
        For `sender` and `receiver` the `release`, null where the end does not tell, and
        `settings`: the values that each setting took on the wire, in order, by its name.
    """
    client = ("requester", report.to_server)
    server = ("responder", report.to_client)
    sender, receiver = (client, server) if planned.direction == "push" else (server, client)
    return {
        end: {"release": opened[role].get("release"), "settings": announced(direction)}
        for end, (role, direction) in (("sender", sender), ("receiver", receiver))
    }


def announced(direction: DirectionReport) -> dict[str, list[int]]:
    """Values that one side's settings took in turn; a value repeated at once counts once."""
    found: dict[str, list[int]] = {}
    for change in direction.settings:
        values = found.setdefault(SETTINGS.get(change.number, str(change.number)), [])
        if values[-1:] != [change.value]:
            values.append(change.value)
    return found
