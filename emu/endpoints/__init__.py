"""Endpoints: from a transport's settings to two processes that run its bursts."""

from emu.endpoints.burst_logs import BurstLog, EndLog, PastScheduler, StreamLog, StreamRequest
from emu.endpoints.connection import Connection, open_connections, run_burst
from emu.endpoints.pairing import ConnectionPlan, EndPlan, Place, pair
from emu.endpoints.process import Popen

__all__ = [
    "BurstLog",
    "Connection",
    "ConnectionPlan",
    "EndLog",
    "EndPlan",
    "PastScheduler",
    "Place",
    "Popen",
    "StreamLog",
    "StreamRequest",
    "open_connections",
    "pair",
    "run_burst",
]
