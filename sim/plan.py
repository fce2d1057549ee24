"""Network and multiplexing of a simulation, beside the plan of a worker's step."""

from dataclasses import dataclass

from netcosim.training.plan import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Ports, delays, and the strategy that shares links.

    Attributes
    ----------
    share : name of a strategy in `sim.shares`
    server_bps : (servers,) rate of each server's port, either direction
    worker_bps : (workers,) rate of each worker's port; only some strategies look at it
    delay_ns : (workers,) one way between the worker and any server
    both_busy : what is left of a port's rate, as a factor, while its other direction is busy
    bucket_bytes : of a server's port in either direction: what it carries at once after a rest, as
        far as the rest was long enough
    """

    share: str
    server_bps: Ints
    worker_bps: Ints
    delay_ns: Ints
    both_busy: float = 1.0
    bucket_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Calls that ask for tensors, where each node goes on by its own state.

    Attributes
    ----------
    up_bytes : (servers,) sent to each server as a worker requests a step's parameters
    down_bytes : (servers,) sent to the worker for its gradients, as that request arrives
    ahead : by operation, what part of a server's computation it does between a request's arrival
        and the time when it may answer, as far as its processor rests meanwhile; empty: nothing
    """

    up_bytes: tuple[int, ...]
    down_bytes: tuple[int, ...]
    ahead: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Multiplexing of every connection; a window of None is flow control off.

    `options` are in the order of the discipline's `OPTIONS`. No chunk is larger than `chunk_bytes`:
    it says how soon a discipline that preempts can do so. The `schedule` is that of all gates,
    with its parameters in the order of its `OPTIONS`. With a buffer the discipline chooses chunks
    ahead: the next one as soon as no more than `buffer_bytes` of chosen ones have not left the link
    with it, or none. It does so once all that is ready at a time is handed over, or, if it
    `writes_each`, after every message.
    """

    discipline: str
    options: tuple[int, ...]
    window_bytes: int | None
    connection_window_bytes: int | None = None
    chunk_bytes: int = 2**31 - 1
    schedule: str | None = None
    schedule_options: tuple[int, ...] = ()
    buffer_bytes: int = 0
    writes_each: bool = False
