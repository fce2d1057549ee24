"""Engine inputs from a scenario: ports of the network, and the sending of connections."""

from sim.settings.conditions import conditions_on
from sim.settings.connection_text import release_notes, schedule_text, sender_text, windows_text
from sim.settings.network import MOST_LAID_OUT, network_of
from sim.settings.sending import CHUNK_BYTES, sending_of
from sim.settings.stalls import unseen_stalls

__all__ = [
    "CHUNK_BYTES",
    "MOST_LAID_OUT",
    "conditions_on",
    "network_of",
    "release_notes",
    "schedule_text",
    "sender_text",
    "sending_of",
    "unseen_stalls",
    "windows_text",
]
