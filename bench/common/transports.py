"""Transports that several benchmarks simulate."""

from typing import Any, Final

WHOLE_MESSAGES: Final[dict[str, Any]] = {
    "name": "fifo",
    "sender": "h2",
    "receiver": "h2",
    "discipline": "fifo",
    "flow_control": False,
}
"""One message after the other, whole, without windows."""
