"""What one stored cell comes to: the errors of its right model by level, and of the wrong ones."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import mean, median
from typing import Any, Final

from bench.cells.listing import Listed
from bench.cells.store import Store
from emu.again import Again, predict_again
from emu.delivered import first_bursts
from h2model.candidates import followed, parameter_digests
from netcosim.compare import score
from netcosim.results.cells import model_separations
from netcosim.results.folder import ResultsFolder
from netcosim.results.run_record import RunRecord
from netcosim.results.summary import CellSummary, Errors, ModelResult
from netcosim.results.verdict import DISCRIMINATING
from netcosim.trace import StreamRow

LEVELS: Final = ("PREDICT", "EXPLAIN", "ORACLE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Bounds of the errors at PREDICT, in %; None where nothing was promised."""

    mean: float
    p99: float | None
    max: float
    secondary_mean: float = 1.0
    secondary_max: float = 5.0

    def missed(self, right: ModelResult) -> list[str]:
        """Which bounds a model's errors exceed."""
        wire, late = right.wire, right.wire_secondary
        held = {
            "mean": (wire.mean, self.mean),
            "p99": (wire.p99, self.p99),
            "max": (wire.max, self.max),
            "secondary mean": (late.mean, self.secondary_mean),
            "secondary max": (late.max, self.secondary_max),
        }
        return [
            name
            for name, (value, bound) in held.items()
            if bound is not None and 100 * value > bound
        ]

    def held_by(self, wire: Mapping[str, float] | None) -> bool:
        """Whether primary errors are within the bounds."""
        if wire is None:
            return False
        bounds = {"mean": self.mean, "p99": self.p99, "max": self.max}
        return all(b is None or 100 * wire[key] <= b for key, b in bounds.items())


NATIVE: Final = Target(mean=0.5, p99=None, max=3.0)
"""For the old releases at both ends."""

TARGET: Final = Target(mean=0.3, p99=1.0, max=2.0)


@dataclass(slots=True, kw_only=True)
class Row:
    """One cell's line in the table; what is not known is None.

    Attributes
    ----------
    key, family, workload, direction, rate, link, transport : as listed
    not_run : why there is no observation
    right : the discipline that the sender is known or was told to follow
    best : the one with the smallest mean error at PREDICT
    valid_bursts, invalid_bursts, stalls, counted, ratios : as in a summary
    levels : by level the right model's errors and exact orders
    warm : its primary errors at PREDICT without the first bursts of connections
    wrong : the nearest model whose ends differ from the right one's by 5 % or more
    wrong_mean : its mean primary error
    separation : the largest mean difference of another model's ends from the right one's
    evidence : whether that is 5 % or more, and the cell counts
    delivered, delivered_secondary : errors of the delivered ends at PREDICT
    ends_ms : measured wire ends, averages over the bursts: of the message that was ready first, the
        median one, the mean
    missed : the targets that PREDICT misses
    seconds : wall time of the cell's bursts
    parameters : digests of the parameter files that the predictions rest on
    """

    key: str
    family: str
    workload: str
    direction: str
    rate: str
    link: str
    transport: str
    not_run: str | None = None
    right: str | None = None
    best: str | None = None
    valid_bursts: int = 0
    invalid_bursts: int = 0
    stalls: int = 0
    counted: bool = False
    ratios: dict[str, float | None] = field(default_factory=dict)
    levels: dict[str, Any] = field(default_factory=dict)
    warm: dict[str, float] | None = None
    wrong: str | None = None
    wrong_mean: float | None = None
    separation: float = 0.0
    evidence: bool = False
    delivered: dict[str, float] | None = None
    delivered_secondary: dict[str, float] | None = None
    ends_ms: dict[str, float] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    seconds: float | None = None
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        """Whether there is a prediction of a valid burst to speak of."""
        return "PREDICT" in self.levels


def empty_row(cell: Listed, not_run: str | None) -> Row:
    """The line of a cell without an observation."""
    return Row(
        key=cell.key,
        family=cell.family,
        workload=cell.workload,
        direction=cell.direction,
        rate=cell.rate,
        link=cell.link,
        transport=cell.transport,
        not_run=not_run,
    )


def score_cell(cell: Listed, store: Store) -> Row:
    """Predict an observed cell with the models of today, and score them.

    Raises
    ------
    StorageError, ScenarioError
        The observation can't be read.
    """
    with ResultsFolder.open(store.folder(cell)) as folder:
        again = predict_again(folder)
        measured, record = folder.read_trace(), folder.read_run()
    (summary,) = again.summary.cells
    row = empty_row(cell, None)
    row.valid_bursts, row.invalid_bursts = summary.judged_bursts, summary.invalid_bursts
    row.stalls, row.counted = summary.stalls, summary.counted
    row.ratios = summary.ratios.model_dump()
    row.right = followed(cell.scenario.transport[0]) or summary.best
    row.best = summary.best
    row.parameters = parameter_digests(cell.scenario.transport[0])
    row.seconds = sum(record.phases_s.values()) if record else None
    _levels(row, summary, cell)
    row.warm = _warm(row.right, measured, again, record)
    row.ends_ms = _ends_ms([r for r in measured if r.valid])
    _wrong(row, summary, [r for r in measured if r.valid], again)
    return row


def _ends_ms(measured: Sequence[StreamRow]) -> dict[str, float]:
    bursts: dict[int, list[StreamRow]] = {}
    for each in measured:
        bursts.setdefault(each.burst, []).append(each)
    if not bursts:
        return {}
    ends = [[each.wire_end_ns / 1e6 for each in rows] for rows in bursts.values()]
    first = [
        min(rows, key=lambda each: each.ready_ns).wire_end_ns / 1e6 for rows in bursts.values()
    ]
    found = {
        "first": mean(first),
        "median": mean(median(each) for each in ends),
        "mean": mean(mean(each) for each in ends),
    }
    return {key: round(value, 3) for key, value in found.items()}


def target_of(family: str) -> Target:
    """The bounds of a family of transports."""
    return NATIVE if family.startswith(("grpc 1.39", "grpc 1.17")) else TARGET


def _levels(row: Row, summary: CellSummary, cell: Listed) -> None:
    for result in summary.models:
        if result.model != row.right:
            continue
        row.levels[result.level] = {
            "wire": _figures(result.wire),
            "secondary": _figures(result.wire_secondary),
            "orders_equal": result.orders_equal,
            "bursts": result.bursts,
        }
        if result.level == "PREDICT":
            row.missed = target_of(cell.family).missed(result)
            row.delivered = _known(result.delivered)
            row.delivered_secondary = _known(result.delivered_secondary)


def _warm(
    right: str | None, measured: Sequence[StreamRow], again: Again, record: RunRecord | None
) -> dict[str, float] | None:
    """Errors of the bursts whose connection had carried one before."""
    if record is None:
        return None
    first = first_bursts({v.burst: v.attempt for v in record.validity})
    later = [row for row in measured if row.valid and row.burst not in first]
    claims = [r for r in again.predicted if r.model == right and r.level == "PREDICT"]
    found = score(later, claims)
    return {key: round(value, 8) for key, value in asdict(found[0].wire).items()} if found else None


def _wrong(row: Row, summary: CellSummary, measured: list[StreamRow], again: Again) -> None:
    if row.right is None or not measured:
        return
    apart = {
        other: distance
        for pair, distance in model_separations(measured, again.predicted).items()
        if row.right in pair
        for other in pair - {row.right}
    }
    row.separation = max(apart.values(), default=0.0)
    row.evidence = row.separation >= DISCRIMINATING and row.counted
    for result in summary.models:  # best first
        if result.level == "PREDICT" and apart.get(result.model, 0.0) >= DISCRIMINATING:
            row.wrong, row.wrong_mean = result.model, result.wire.mean
            return


def _known(errors: Errors | None) -> dict[str, float] | None:
    return None if errors is None else _figures(errors)


def _figures(errors: Errors) -> dict[str, float]:
    return {key: round(value, 8) for key, value in errors.model_dump().items()}


def as_json(row: Row) -> Mapping[str, Any]:
    """The line as plain data."""
    return asdict(row)
