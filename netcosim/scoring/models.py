"""Scores of models as they stand in a summary."""

from collections.abc import Collection, Iterable
from dataclasses import asdict

from netcosim.compare import ModelScore
from netcosim.metrics import ErrorStats
from netcosim.results.streams.summary import BurstErrors, Errors, ModelResult
from netcosim.trace import PREDICT


def model_results(
    scores: Iterable[ModelScore], first_bursts: Collection[int] = ()
) -> tuple[ModelResult, ...]:
    """The scores as they stand in the summary: PREDICT first, then best first."""
    results = [_result(score, first_bursts) for score in scores]
    return tuple(
        sorted(
            results,
            key=lambda r: (r.level != PREDICT, r.level, r.order.mean, r.wire.mean, r.model),
        )
    )


def _result(score: ModelScore, first_bursts: Collection[int]) -> ModelResult:
    later = {burst.burst for burst in score.by_burst} - {*first_bursts}
    return ModelResult(
        model=score.model,
        level=score.level,  # the record itself refuses other levels
        bursts=score.bursts,
        orders_equal=score.orders_equal,
        order=_errors(score.order),
        order_first=_known_errors(score.order_of(first_bursts)),
        order_later=_known_errors(score.order_of(later)),
        share=_known_errors(score.share),
        by_burst=tuple(
            BurstErrors(first=burst.burst in first_bursts, **asdict(burst))
            for burst in score.by_burst
        ),
        wire=_errors(score.wire),
        wall=_errors(score.wall),
        wire_secondary=_errors(score.wire_secondary),
        delivered=_known_errors(score.delivered),
        delivered_secondary=_known_errors(score.delivered_secondary),
    )


def _known_errors(stats: ErrorStats | None) -> Errors | None:
    return None if stats is None else _errors(stats)


def _errors(stats: ErrorStats) -> Errors:
    return Errors(
        streams=stats.streams,
        mean=stats.mean,
        median=stats.median,
        p95=stats.p95,
        p99=stats.p99,
        max=stats.max,
    )
