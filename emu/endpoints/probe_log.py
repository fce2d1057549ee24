"""What gRPC's log says of its BDP probe: the delays between PINGs, which it draws in part."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {"GRPC_TRACE": "bdp_estimator", "GRPC_VERBOSITY": "DEBUG"}
)
"""Environment variables that have C-core log each estimate, on standard error."""

_LOGGED: Final = re.compile(rb"[DI]\d{4} \d\d:")
"""Beginning of a line of C-core's log that tells of no trouble."""

_DELAY: Final = re.compile(rb"update_inter_time to (\d+)ms")


class ProbeLog:
    """Reads the probe's delays out of an endpoint's standard error, line by line.

    Attributes
    ----------
    delays_ms : the delays so far
    rest : what was written of the line that is not whole
    """

    def __init__(self) -> None:
        self.delays_ms: list[int] = []
        self.rest = b""

    def take(self, data: bytes) -> bytes:
        """Read what was written; the whole lines that are not the probe's log."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        kept = b""
        for line in lines:
            if (found := _DELAY.search(line)) is not None:
                self.delays_ms.append(int(found.group(1)))
            if not _LOGGED.match(line) and b"Log level" not in line:
                kept += line + b"\n"
        return kept
