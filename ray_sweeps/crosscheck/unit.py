"""Units of work of a cross-check and their results: plain data that can be pickled.

A unit has the content of its run's files with it, so that it can be checked on any machine.
"""

from dataclasses import dataclass
from typing import Literal

from netcosim.trace import StreamRow

Buffers = Literal["all", "none", "unbound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScore:
    """Score at PREDICT of one of the emulator's models, as an earlier program wrote it.

    Errors are fractions; `order` and `time` are means over the cell's streams, `order_max` and
    `time_max` the largest.
    """

    model: str
    source: str
    streams: int
    order: float
    order_max: float
    time: float
    time_max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One cell of one run of the emulator.

    Attributes
    ----------
    run : name of the run: its folder, or COLLECTION#RUN
    cell : workload/transport
    scenario : text of the run's scenario
    record : content of its ``run.json``
    trace, lost : tables as Parquet, with the rows of this cell alone; `lost` is None if the run
        has none
    stored : scores of the emulator's models that are stored of this cell, best first
    buffers : which connections have the kernel buffer that the run's record tells, in simulation:
        "all", "none", or "unbound", those without windows
    """

    run: str
    cell: str
    scenario: str
    record: bytes
    trace: bytes
    lost: bytes | None = None
    stored: tuple[StoredScore, ...] = ()
    buffers: Buffers = "unbound"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFacts:
    """Facts of a cell by which results are grouped, and what the simulator was fed.

    Attributes
    ----------
    network : topology and link model
    rate_bps : of the cluster's links, as configured
    release : kinds and gRPC releases of both ends
    exchange : pull, pull-back, push or both
    discipline : simulated, with options that are not its own; empty where none was simulated
    rate_share : measured goodput over what the configured rate allows TCP; 1.0 where none was
        measured
    rate_measured : whether it was
    both_busy : factor that is left of a port's rate while its other direction is busy
    window_bytes : stream window as simulated; None: never binds, or nothing was simulated
    buffer_bytes : of each connection's kernel, as simulated; None: none, or nothing was simulated
    window_moved : whether the receiver changed its initial window while the run went on
    framing : bytes of HTTP/2 frame headers and of gRPC's prefix, which are not simulated, over the
        messages' bytes
    """

    scenario: str
    workload: str
    transport: str
    network: str
    servers: int
    workers: int
    rate_bps: int
    release: str
    exchange: str
    discipline: str = ""
    rate_share: float = 1.0
    rate_measured: bool = False
    both_busy: float = 1.0
    window_bytes: int | None = None
    buffer_bytes: int | None = None
    window_moved: bool = False
    framing: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstCheck:
    """One burst: whether it could be compared, and its errors as fractions.

    `first` says whether it was the first on its connections. `reason` is a key of
    `ray_sweeps.crosscheck.comparable.REASONS`, empty where the burst is compared; `detail` says
    more. Errors are None where the burst was not simulated. `end` is the signed error of the
    burst's last end, predicted less measured, over the measured one.
    """

    burst: int
    first: bool = True
    reason: str = ""
    detail: str = ""
    streams: int = 0
    length_ns: int = 0
    order_mean: float | None = None
    order_max: float | None = None
    order_equal: bool | None = None
    time_mean: float | None = None
    time_max: float | None = None
    end: float | None = None

    @property
    def compared(self) -> bool:
        """True if its errors count."""
        return not self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCheck:
    """One simulated stream against the measured one: a row of ``streams.parquet``.

    Attributes
    ----------
    first : whether the burst was the first on its connections
    bound : whether some stream of the burst ran out of credit with data left
    compared : whether it counts; `reason` says why not
    way : server to worker, or worker to server
    predicted_ns, measured_ns : last DATA byte at the receiver, from the burst's zero; measured on
        the clock of link work
    wall_ns : measured on the wall clock
    length_ns : of the burst: its last measured end
    time_error : predicted less measured end, over the burst's length
    relative_error : the same over the stream's own measured end; None for streams that end in the
        first tenth of the burst
    predicted_position, measured_position : share of its connection's bytes carried by its end
    """

    run: str
    cell: str
    workload: str
    transport: str
    release: str
    network: str
    rate_bps: int
    exchange: str
    way: str
    discipline: str
    burst: int
    first: bool
    bound: bool
    compared: bool
    reason: str
    connection: int
    stream: int
    tensor: str
    size_bytes: int
    ready_ns: int
    predicted_ns: int
    measured_ns: int
    wall_ns: int
    length_ns: int
    time_error: float
    relative_error: float | None
    predicted_position: float
    measured_position: float

    @property
    def order_error(self) -> float:
        """Distance of the predicted position from the measured one."""
        return abs(self.predicted_position - self.measured_position)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCheck:
    """Result of a unit.

    Attributes
    ----------
    run, cell : as in the unit
    problem : why nothing could be read of it, in a line; empty if it could
    facts : None with a problem
    bursts : all bursts that the run measured
    streams : of those that were simulated
    stored : the stored score of the simulated discipline, else of the emulator's best model
    typical : measured and simulated rows of its compared burst with the median time error
    """

    run: str
    cell: str
    problem: str = ""
    facts: CellFacts | None = None
    bursts: tuple[BurstCheck, ...] = ()
    streams: tuple[StreamCheck, ...] = ()
    stored: StoredScore | None = None
    typical: tuple[tuple[StreamRow, ...], tuple[StreamRow, ...]] = ((), ())
