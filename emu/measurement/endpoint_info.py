"""Who the two ends of a connection were, and what they announced to each other."""

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
"""RFC 9113, section 6.5.2; others by their number."""


def peers(
    planned: PlannedConnection, opened: Mapping[str, Any], report: ConnectionReport
) -> dict[str, Any]:
    """The sender and the receiver of the data.

    Parameters
    ----------
    planned
        The connection.
    opened
        What requester and responder said when they were connected.
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
    """The values that one side's settings took in turn; a value told again counts once."""
    found: dict[str, list[int]] = {}
    for change in direction.settings:
        values = found.setdefault(SETTINGS.get(change.number, str(change.number)), [])
        if values[-1:] != [change.value]:
            values.append(change.value)
    return found
