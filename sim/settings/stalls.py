"""Flow-control stalls of real connections that the simulation leaves out."""

from h2model.protocol import UNLIMITED_BYTES
from netcosim.training.plan import Ints
from netcosim.units import format_duration, format_rate, format_size
from sim.plan import Sending


def unseen_stalls(sending: Sending, server_bps: Ints, worker_bps: Ints, delay_ns: Ints) -> str:
    """Describe a window that is below the bandwidth-delay product of a worker's path.

    Parameters
    ----------
    sending : of every connection
    server_bps : (servers,) rate of each server's port
    worker_bps : (workers,) rate of each worker's port
    delay_ns : (workers,) one way between the worker and any server

    Returns
    -------
    A clause for a person, of the worker whose path holds most; empty if every window is wide
    enough.
    """
    windows = (sending.window_bytes, sending.connection_window_bytes)
    window_bytes = min((w for w in windows if w is not None), default=UNLIMITED_BYTES)
    rates_bps = worker_bps.clip(max=server_bps.max())
    held_bytes = rates_bps / 8e9 * 2 * delay_ns
    most = int(held_bytes.argmax())
    if held_bytes[most] <= window_bytes:
        return ""
    path = f"{format_rate(int(rates_bps[most]))}, {format_duration(2 * int(delay_ns[most]))}"
    return (
        f"a window of {format_size(window_bytes)} is less than what the path of w{most} holds"
        f" ({held_bytes[most] / 1e3:.0f} kB: {path} there and back); a real connection may stall"
        " there, a simulated one does not"
    )
