"""Results of models with given errors, and how far the models are predicted apart."""

import itertools
from collections.abc import Sequence

import numpy as np

from netcosim.metrics import summarise
from netcosim.results.streams.summary import BurstErrors, Errors, ModelResult
from netcosim.scoring.separations import Separations


def errors_of(values: Sequence[float], largest: float | None = None) -> Errors:
    found = summarise(np.array(values))
    most = max(values) if largest is None else largest
    return Errors(
        streams=found.streams,
        mean=found.mean,
        median=found.median,
        p95=found.p95,
        p99=found.p99,
        max=most,
    )


def result(
    model: str,
    *order_means: float,
    first: Sequence[int] = (),
    largest: float | None = None,
    time: float | Sequence[float] = 0.001,
) -> ModelResult:
    """A model with these mean order errors, burst by burst; `first` are first on connections."""
    times = [time] * len(order_means) if isinstance(time, float) else time
    in_time = errors_of(times)
    by_first = {
        told: [e for i, e in enumerate(order_means) if (i in first) is told]
        for told in (True, False)
    }
    return ModelResult(
        model=model,
        level="PREDICT",
        bursts=len(order_means),
        orders_equal=0,
        order=errors_of(order_means, largest),
        order_first=errors_of(by_first[True]) if by_first[True] else None,
        order_later=errors_of(by_first[False]) if by_first[False] else None,
        share=None,
        by_burst=tuple(
            BurstErrors(
                burst=i,
                first=i in first,
                order_mean=e,
                order_max=3 * e,
                time_mean=times[i],
                time_max=times[i],
                order_equal=e == 0,
            )
            for i, e in enumerate(order_means)
        ),
        wire=in_time,
        wall=in_time,
        wire_secondary=in_time,
        delivered=None,
    )


def ranked(*models: ModelResult) -> list[ModelResult]:
    return sorted(models, key=lambda m: (m.order.mean, m.model))


def separations(spread: float = 0.3, **pairs: float) -> Separations:
    """Separations of all pairs: `spread`, but for those given, such as two_visit__fifo."""
    names = ("two_visit", "fifo", "round_robin")
    found = {frozenset(pair): spread for pair in itertools.combinations(names, 2)}
    return found | {frozenset(pair.split("__")): far for pair, far in pairs.items()}


TWO_VISIT = result("two_visit", 0.0, 0.0, 0.0)
ROUND_ROBIN = result("round_robin", 0.1, 0.12, 0.09)
