"""Records of a network's measurement, as they are stored."""

from dataclasses import asdict, dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class PathMeasured:
    """One server and one worker: goodput in bits per second one way and both ways at once.

    ``down`` is from server to worker; ``both_down`` is what it gets while ``up`` is busy, too.
    Where a worker was measured with another worker, that one is named as its server, and `links` is
    the worker's own link. All rates are of frames that came back to back, pauses left out.

    Attributes
    ----------
    queued_bytes : unacknowledged bytes of a blocked server: the median of SIOCOUTQ whenever it
        could not write
    down_agreeing, up_agreeing : the share of windows that agree on the rate; where too few do
        (below 0.1), the machine never filled the link, and the rate is the configured one
    down_lost, up_lost : the share of time in which the link stood still, in the best reading
    down_unexplained, up_unexplained : the share of the time in which every processor was free, that
        the link stood still
    steal : the share of processor time that the hypervisor took meanwhile
    readings : how many were taken, of all ways together
    """

    server: str
    worker: str
    links: tuple[str, ...]
    rate_bps: int
    loss: float
    expected_bps: int
    down_bps: int
    up_bps: int
    both_down_bps: int
    both_up_bps: int
    round_trip_min_ns: int
    round_trip_median_ns: int
    queued_bytes: int
    queued_max_bytes: int
    congestion_control: str
    jitter_ns: int = 0
    down_agreeing: float = 1.0
    up_agreeing: float = 1.0
    down_lost: float = 0.0
    up_lost: float = 0.0
    down_unexplained: float = 0.0
    up_unexplained: float = 0.0
    steal: float = 0.0
    readings: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareMeasured:
    """Shares of all workers while they pull from one server: bytes of each in the same window.

    `expected_bps` is each worker's max-min fair goodput; `jain` is Jain's index of what workers got
    while the links were busy, each divided by what was expected; `total_bps` and the shares of time
    are as those of a `PathMeasured`, of all workers together.
    """

    server: str
    fair: bool
    loss: float
    bytes_by_worker: dict[str, int]
    expected_bps: dict[str, int]
    total_bps: int
    jain: float
    jitter_ns: int = 0
    agreeing: float = 1.0
    lost: float = 0.0
    unexplained: float = 0.0
    steal: float = 0.0
    readings: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A network as measured, and what the processors did meanwhile.

    `steal` is the share of their time that the hypervisor gave to others, `idle` the share that
    was unused; `rounds` is how many rounds of pairs side by side there were.
    """

    paths: tuple[PathMeasured, ...]
    shares: tuple[ShareMeasured, ...]
    steal: float
    idle: float
    rounds: int = 0

    def record(self) -> Json:
        """Plain values, ready for JSON."""
        return asdict(self)
