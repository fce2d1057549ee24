"""From a cell's scores to one sentence for a person."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from netcosim.compare import ModelScore
from netcosim.results.summary import ModelResult

DISCRIMINATING: Final = 0.05
"""Models whose predicted ends differ by less, as a share of the burst, count as the same."""

FITS: Final = 0.05
"""A model whose ends are off by more on average does not fit."""

Ranked = Sequence[ModelScore] | Sequence[ModelResult]
Separations = Mapping[frozenset[str], float]


def verdict(
    subject: str,
    ranked: Ranked,
    spread: float,
    separations: Separations = MappingProxyType({}),
    configured: str | None = None,
) -> str:
    """Say which model a cell follows, or why it can't be said.

    Parameters
    ----------
    subject
        What was run, such as ``h2 with flow control on``.
    ranked
        The PREDICT scores, best first.
    spread
        The largest mean difference between two models' predicted ends, as a share of the burst.
    separations
        The same for each pair of models; a pair that is not given counts as different.
    configured
        The discipline that our own sender was told to follow, if it was.
    """
    if not ranked:
        return f"{subject}: no valid burst, so no model could be judged."
    best = ranked[0]
    if len(ranked) > 1 and spread < DISCRIMINATING:
        return (
            f"{subject}: this cell cannot tell the models apart; their ends differ by"
            f" {percent(spread)} at most, and the nearest, {best.model}, is off by"
            f" {percent(best.wire.mean)} on average."
        )
    if best.wire.mean > FITS:
        return (
            f"{subject} fits none of the models: the nearest, {best.model}, is off by"
            f" {percent(best.wire.mean)} on average (max {percent(best.wire.max)})."
        )
    return _follows(subject, ranked, separations, configured)


def _follows(subject: str, ranked: Ranked, separations: Separations, configured: str | None) -> str:
    best, *others = ranked
    alike = [
        m for m in others if separations.get(frozenset((best.model, m.model)), 1.0) < DISCRIMINATING
    ]
    apart = [m for m in others if m not in alike]
    text = (
        f"{subject} follows {best.model}: ends off by {percent(best.wire.mean)} on average"
        f" (max {percent(best.wire.max)})"
    )
    if apart:
        text += f", next best {apart[0].model} {percent(apart[0].wire.mean)}"
    text += "."
    if alike:
        close = ", ".join(f"{m.model} ({percent(m.wire.mean)})" for m in alike)
        text += f" No evidence against {close}: predicted within {percent(DISCRIMINATING)} of it."
    if configured in [m.model for m in apart]:
        text += f" It was configured to follow {configured}."
    return text


def percent(fraction: float) -> str:
    """A fraction as per cent with two or three digits, such as ``0.12 %`` or ``9.8 %``."""
    value = 100 * fraction
    if value == 0:
        return "0 %"
    if value < 0.01:
        return "<0.01 %"
    digits = 2 if value < 1 else 1 if value < 10 and value != round(value) else 0
    return f"{value:.{digits}f} %"
