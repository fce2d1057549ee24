"""Packet capture with tcpdump, and analysis of captures: TCP, HTTP/2 frames, credit, gaps."""

from emu.capture.analyse import analyse_capture
from emu.capture.gaps import Cause, Gap
from emu.capture.report import (
    CaptureReport,
    ConnectionReport,
    DirectionReport,
    StreamReport,
    gaps_between,
)

__all__ = [
    "CaptureReport",
    "Cause",
    "ConnectionReport",
    "DirectionReport",
    "Gap",
    "StreamReport",
    "analyse_capture",
    "gaps_between",
]
