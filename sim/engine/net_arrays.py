"""Arrays of links, random draws and speeds, and of what a run keeps and bounds."""

from collections.abc import Sequence

import numpy as np

from netcosim.training.plan import Draws
from netcosim.training.speed import SpeedTrace
from sim.engine.control import Control
from sim.kernels import arrays
from sim.kernels.arrays import Floats, Ints, Net
from sim.plan import Network, Sending

UNBOUNDED = 2**62
NOBODY_WAITS = 2**62
_JOINS = {"step": arrays.BY_STEP, "tensor": arrays.BY_TENSOR}


def make_net(
    network: Network,
    sending: Sending,
    draws: Draws,
    control: Control,
    speeds: Sequence[SpeedTrace | None],
    gate_rates: Ints | None = None,
) -> Net:
    """Build the arrays of links, random draws and what the run keeps; without gates no rates.

    Raises
    ------
    ValueError
        Factors for other workers or steps than are drawn: compiled code would read past them.
    """
    workers, steps = draws.step.shape
    if draws.factor.shape not in ((workers, steps), (workers, 1)):
        allowed = f"must be ({workers}, {steps}) or ({workers}, 1)"
        raise ValueError(f"factor: shape {draws.factor.shape}: {allowed}")
    delayed = bool(network.delay_ns.any())
    server = network.server_bps.astype(np.float64)
    ports = np.concatenate([server, network.worker_bps.astype(np.float64)]) / 8e9
    start, time, work = _speed_arrays(speeds)
    window = UNBOUNDED if sending.window_bytes is None else sending.window_bytes
    connection = sending.connection_window_bytes
    bound, join = control.staleness, control.join
    return Net(
        ns_per_byte=np.tile(8e9 / server, 2),
        capacity=np.stack([ports, ports]),
        both_busy=np.array([network.both_busy]),
        bucket=network.bucket_bytes * np.tile(8e9 / server, 2),
        delay_ns=network.delay_ns.astype(np.float64),
        window=np.array([window, UNBOUNDED if connection is None else connection]),
        budget=np.array([sending.chunk_bytes]),
        buffer=np.array(
            [sending.buffer_bytes, sending.buffer_bytes > 0 and sending.writes_each], dtype=np.int64
        ),
        option=np.array(sending.options, dtype=np.int64),
        draw=draws.step.astype(np.int32, copy=False),
        factor=draws.factor,
        speed_start=start,
        speed_time=time,
        speed_work=work,
        staleness=np.array([NOBODY_WAITS if bound is None else bound]),
        flag=np.array(
            [
                control.keep_operations,
                control.keep_chunks,
                control.stop_at_steps,
                control.count_from,
                delayed,
                control.stop_at_last,
                arrays.NO_JOIN if join is None else _JOINS[join.by],
                0 if join is None else join.first,
                control.in_parts,
            ],
            dtype=np.int64,
        ),
        gate_option=np.array(sending.schedule_options, dtype=np.int64),
        gate_rate=np.zeros((0, 1), dtype=np.int64) if gate_rates is None else gate_rates,
    )


def _speed_arrays(speeds: Sequence[SpeedTrace | None]) -> tuple[Ints, Floats, Floats]:
    times = [np.empty(0) if s is None else s.time_ns for s in speeds]
    works = [np.empty(0) if s is None else s.work_ns for s in speeds]
    start = np.concatenate([[0], np.cumsum([len(t) for t in times])]).astype(np.int64)
    return start, np.concatenate([*times, np.empty(0)]), np.concatenate([*works, np.empty(0)])
