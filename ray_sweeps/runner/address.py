"""The address of a Ray cluster's head, as a person gives it."""

from typing import Final

from netcosim.errors import ScenarioError

AUTO: Final = "auto"
"""The cluster that this machine is of."""


def check_address(text: str) -> tuple[str, int] | None:
    """Take HOST:PORT apart; None for `AUTO`.

    Raises
    ------
    ScenarioError
        It is neither.
    """
    if text == AUTO:
        return None
    host, _, port = text.rpartition(":")
    number = int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else 0
    if not host or "/" in text or not 0 < number < 65536:
        raise ScenarioError.at("--address", text, "must be HOST:PORT of a Ray head, or auto")
    return host.strip("[]"), number
