"""Scores of one stored cell: errors of its right model by level, and of the nearest wrong one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import mean, median
from typing import Any, Final

from bench.common.outcomes import Outcome, outcome_of
from bench.fidelity.listing import Listed
from bench.fidelity.store import Store
from emu.rerun import rerun
from h2model.candidates import followed, parameter_digests
from netcosim.results.streams.summary import CellSummary, Errors, ModelResult
from netcosim.scoring.bounds import DISCRIMINATING, MARGIN
from netcosim.scoring.separations import Separations, model_separations
from netcosim.trace import PREDICT, StreamRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Bounds of the errors at PREDICT, in %; None where nothing was promised.

    `mean`, `p99` and `max` are those of the order error, and of the time error beside it.
    """

    mean: float
    p99: float | None
    max: float
    secondary_mean: float = 1.0
    secondary_max: float = 5.0

    def missed(self, errors: Errors | None) -> list[str]:
        """Names of the bounds that the errors exceed, of positions or of ends."""
        if errors is None:
            return []
        held = {"mean": self.mean, "p99": self.p99, "max": self.max}
        return [
            name
            for name, bound in held.items()
            if bound is not None and 100 * getattr(errors, name) > bound
        ]

    def missed_in_time(self, right: ModelResult) -> list[str]:
        """Names of the bounds that a model's time errors exceed."""
        late = right.wire_secondary
        secondary = {
            "secondary mean": (late.mean, self.secondary_mean),
            "secondary max": (late.max, self.secondary_max),
        }
        return [
            *self.missed(right.wire),
            *(name for name, (value, bound) in secondary.items() if 100 * value > bound),
        ]


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
    right : the discipline that the sender is known or configured to follow, else the best one
    best : the one with the smallest mean order error at PREDICT
    best_in_time : the one with the smallest mean time error
    outcome : of the verdict, by `right`
    clocks_agree : whether the best ones are the same, or predict the same within a point
    judged_bursts, shown_bursts, invalid_bursts, stalls, counted, ratios : as in a summary
    grade, lost_share, unexplained_share : as in a summary; None in observations of older releases,
        whose time errors are those of the wall clock
    levels : by level the right model's errors and exact orders
    warm : its order errors at PREDICT without the first bursts of connections
    wrong : the nearest model whose positions differ from the right one's by 5 % or more
    wrong_mean : its mean order error
    separation : the largest mean difference of another model's positions from the right one's
    evidence : whether that is 5 % or more, and the cell counts
    delivered, delivered_secondary : errors of the delivered ends at PREDICT
    ends_ms : measured wire ends, averages over the bursts: of the message that was ready first, the
        median one, the mean
    missed : the bounds of the order error that PREDICT misses
    missed_warm : likewise without first bursts of connections
    missed_in_time : the bounds of the time error that it misses
    seconds : wall time of the cell's bursts
    steal : the share of processor time that the hypervisor took, burst by burst
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
    best_in_time: str | None = None
    outcome: Outcome = "missing"
    clocks_agree: bool = True
    judged_bursts: int = 0
    shown_bursts: int = 0
    invalid_bursts: int = 0
    grade: str | None = None
    lost_share: float | None = None
    unexplained_share: float | None = None
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
    missed_warm: list[str] = field(default_factory=list)
    missed_in_time: list[str] = field(default_factory=list)
    seconds: float | None = None
    steal: list[float] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        """True if there is a prediction of a judged burst."""
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
    """Predict an observed cell with today's models, and score them.

    Raises
    ------
    StorageError, ScenarioError
        The observation can't be read.
    """
    with store.open(cell) as folder:
        again = rerun(folder)
        measured, record = folder.read_trace(), folder.read_run()
    (summary,) = again.summary.cells
    row = empty_row(cell, None)
    row.judged_bursts, row.shown_bursts = summary.judged_bursts, summary.shown_bursts
    row.invalid_bursts = summary.invalid_bursts
    row.grade, row.lost_share = summary.grade, summary.lost_share
    row.unexplained_share = summary.unexplained_share
    row.stalls, row.counted = summary.stalls, summary.counted
    row.ratios = summary.ratios.model_dump()
    row.right = followed(cell.scenario.transport[0]) or summary.best
    row.outcome = outcome_of(summary.answer, row.right)
    row.parameters = parameter_digests(cell.scenario.transport[0])
    row.seconds = sum(record.phases_s.values()) if record else None
    row.steal = [round(burst.steal, 4) for burst in record.validity] if record else []
    judged = [r for r in measured if r.valid]
    if not judged:
        return row
    apart = model_separations(judged, again.predicted)
    _levels(row, summary, cell)
    _nearest(row, summary, apart)
    row.ends_ms = _ends_ms(judged)
    _wrong(row, summary, apart)
    return row


def _ends_ms(measured: Sequence[StreamRow]) -> dict[str, float]:
    bursts: dict[int, list[StreamRow]] = {}
    for each in measured:
        bursts.setdefault(each.burst, []).append(each)
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
            "order": _figures(result.order),
            "share": _known(result.share),
            "wire": _figures(result.wire),
            "wall": _figures(result.wall),
            "secondary": _figures(result.wire_secondary),
            "orders_equal": result.orders_equal,
            "bursts": result.bursts,
        }
        if result.level == PREDICT:
            target = target_of(cell.family)
            row.missed = target.missed(result.order)
            row.missed_warm = target.missed(result.order_later)
            row.missed_in_time = target.missed_in_time(result)
            row.warm = _known(result.order_later)
            row.delivered = _known(result.delivered)
            row.delivered_secondary = _known(result.delivered_secondary)


def _nearest(row: Row, summary: CellSummary, apart: Separations) -> None:
    """The nearest model by order and by time."""
    models = [model for model in summary.models if model.level == PREDICT]
    row.best = summary.models[0].model
    row.best_in_time = min(models, key=lambda model: model.wire.mean).model
    pair = frozenset((row.best, row.best_in_time))
    row.clocks_agree = len(pair) == 1 or apart[pair] < MARGIN


def _wrong(row: Row, summary: CellSummary, apart: Separations) -> None:
    if row.right is None:
        return
    others = {
        other: distance
        for pair, distance in apart.items()
        if row.right in pair
        for other in pair - {row.right}
    }
    row.separation = max(others.values(), default=0.0)
    row.evidence = row.separation >= DISCRIMINATING and row.counted
    for result in summary.models:  # best first
        if result.level == PREDICT and others.get(result.model, 0.0) >= DISCRIMINATING:
            row.wrong, row.wrong_mean = result.model, result.order.mean
            return


def _known(errors: Errors | None) -> dict[str, float] | None:
    return None if errors is None else _figures(errors)


def _figures(errors: Errors) -> dict[str, float]:
    return {key: round(value, 8) for key, value in errors.model_dump().items()}


def as_json(row: Row) -> Mapping[str, Any]:
    """The line as plain data."""
    return asdict(row)
