"""Emulated networks: built in Mininet, shaped, read back, measured, torn down."""

from emu.network.live import LiveNetwork, open_network
from emu.network.measure import Measured, measure_network
from emu.network.verify import measure_and_verify, verify

__all__ = [
    "LiveNetwork",
    "Measured",
    "measure_and_verify",
    "measure_network",
    "open_network",
    "verify",
]
