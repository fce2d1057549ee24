"""Summary of a cell from its rows: measured figures, errors of each model, verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from netcosim.compare import score
from netcosim.formatting import percent
from netcosim.results.streams.lost import LostRow, work_clocks
from netcosim.results.streams.summary import Answer, CellSummary, ModelResult, cut_share
from netcosim.scenario.unstudied_releases import not_studied_text
from netcosim.scoring.bounds import DISCRIMINATING, MOST_CUT
from netcosim.scoring.decision import Limits, decide, undecided_between
from netcosim.scoring.facts import CellFacts, grade_of
from netcosim.scoring.figures import cell_ratios, measured_figures
from netcosim.scoring.models import model_results
from netcosim.scoring.separations import Separations, model_separations
from netcosim.scoring.verdict import verdict
from netcosim.trace import PREDICT, StreamRow
from netcosim.work_clock import Connection, WorkClock, on_work_clock


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Rows of a cell's bursts that are scored, and of its predictions.

    `measured` is on the wall clock, `on_work_clock` the same on the clock of link work.
    """

    judged_bursts: int
    measured: tuple[StreamRow, ...]
    on_work_clock: tuple[StreamRow, ...]
    predictions: tuple[StreamRow, ...]
    clocks: Mapping[Connection, WorkClock]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scores:
    """Errors of a cell's models, and how far they are apart."""

    models: tuple[ModelResult, ...]
    separations: Separations

    @property
    def ranked(self) -> list[ModelResult]:
        """Scores at PREDICT, best first."""
        return [model for model in self.models if model.level == PREDICT]

    @property
    def separation(self) -> float:
        """The largest separation of two models."""
        return max(self.separations.values(), default=0.0)


def summarise_cell(
    facts: CellFacts,
    measured: Iterable[StreamRow],
    predicted: Iterable[StreamRow],
    lost: Iterable[LostRow] = (),
) -> CellSummary:
    """Score every model on the cell's judged bursts and summarise the measurements.

    Where a pause delayed an input in every burst, the figures are of those, and nothing is decided.

    Parameters
    ----------
    facts
        The cell and its settings.
    measured, predicted
        Rows of traces; those of other cells and of bursts that are not judged are passed over.
    lost
        Time that links lost; what pauses explain is cut out of measured times.

    Raises
    ------
    ValueError
        A prediction lacks a stream of its burst, or has one that was not measured.
    """
    evidence = _evidence(facts, measured, predicted, lost)
    scores = _scores(facts, evidence)
    figures = measured_figures(evidence.on_work_clock)
    limits = _limits(facts, evidence)
    answer = _answer(facts, evidence, scores, limits)
    return CellSummary(
        cell=facts.cell,
        workload=facts.workload,
        transport=facts.transport,
        sender=facts.sender,
        sender_release=facts.sender_release,
        receiver_release=facts.receiver_release,
        not_studied=facts.not_studied,
        receiver=facts.receiver,
        direction=facts.direction,
        flow_control=facts.flow_control,
        window_bytes=facts.window_bytes,
        configured_discipline=facts.configured_discipline,
        judged_bursts=evidence.judged_bursts,
        shown_bursts=len(facts.shown_bursts),
        invalid_bursts=facts.invalid_bursts,
        grade=grade_of(facts.lost_share),
        lost_share=facts.lost_share,
        unexplained_share=facts.unexplained_share,
        streams=figures.streams,
        burst_bytes=figures.burst_bytes,
        burst_length_ns=figures.burst_length_ns,
        goodput_bps=figures.goodput_bps,
        utilisation=figures.goodput_bps / facts.capacity_bps if facts.capacity_bps else 0.0,
        stalls=round(figures.stalls),
        link_stall_ns=figures.link_stall_ns,
        visits=figures.visits,
        counted=not facts.windowed or figures.stalls > 0,
        ratios=cell_ratios(facts, evidence.on_work_clock),
        models=scores.models,
        best=answer.model,
        separation=scores.separation,
        discriminating=scores.separation >= DISCRIMINATING,
        answer=answer,
        verdict=_sentence(facts, scores, answer, limits),
    )


def _evidence(
    facts: CellFacts,
    measured: Iterable[StreamRow],
    predicted: Iterable[StreamRow],
    lost: Iterable[LostRow],
) -> _Evidence:
    """The judged bursts; where there are none, those that are shown."""
    rows = [row for row in measured if row.cell == facts.cell]
    seen = [row for row in rows if row.valid]
    judged_bursts = len({row.burst for row in seen})
    if not seen:
        seen = [replace(row, valid=True) for row in rows if row.burst in facts.shown_bursts]
    clocks = work_clocks(row for row in lost if row.cell == facts.cell)
    return _Evidence(
        judged_bursts=judged_bursts,
        measured=tuple(seen),
        on_work_clock=tuple(on_work_clock(seen, clocks)),
        predictions=tuple(row for row in predicted if row.cell == facts.cell),
        clocks=clocks,
    )


def _scores(facts: CellFacts, evidence: _Evidence) -> _Scores:
    scored = score(evidence.measured, evidence.predictions, evidence.clocks)
    return _Scores(
        models=model_results(scored, facts.first_bursts),
        separations=model_separations(evidence.on_work_clock, evidence.predictions),
    )


def _limits(facts: CellFacts, evidence: _Evidence) -> Limits:
    bound = {row.burst for row in evidence.measured if row.credit_stops}
    return Limits(
        shown=len(facts.shown_bursts),
        unbound=frozenset(row.burst for row in evidence.measured) - bound,
        without_windows=facts.without_windows,
    )


def _answer(facts: CellFacts, evidence: _Evidence, scores: _Scores, limits: Limits) -> Answer:
    if not evidence.judged_bursts:
        return undecided_between(scores.ranked)
    return decide(scores.ranked, scores.separations, facts.configured_discipline, limits)


def _sentence(facts: CellFacts, scores: _Scores, answer: Answer, limits: Limits) -> str:
    """The verdict, and releases of which no rule is known."""
    text = verdict(
        facts.subject,
        answer,
        scores.ranked,
        scores.separation,
        grade_of(facts.lost_share),
        facts.configured_discipline,
        limits,
    )
    cut = cut_share(facts.lost_share, facts.unexplained_share)
    if cut > MOST_CUT:
        text += f" Pauses of the machine took {percent(cut)} of its bursts' time: do not trust it."
    unknown = not_studied_text(facts.not_studied)
    return text if unknown is None else f"{text} {unknown}."
