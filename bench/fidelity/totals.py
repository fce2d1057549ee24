"""Figures over all cells, against the targets."""

from collections.abc import Sequence
from typing import Final

from bench.common.outcomes import Outcome
from bench.common.record import Figure, at_least, at_most
from bench.fidelity.scores import Row, target_of

LEAST_EVIDENCE = 20
LEAST_BURSTS = 5
MOST_SECONDS = 45


def totals(rows: Sequence[Row]) -> list[Figure]:
    """The worst cell of each family, the cells that met all targets, the evidence."""
    figures: list[Figure] = []
    for family in dict.fromkeys(row.family for row in rows):
        figures += _family(family, [row for row in rows if row.family == family])
    scored = [row for row in rows if row.scored]
    slow = max((row.seconds or 0.0 for row in scored), default=0.0)
    few = sum(_valid(row) < LEAST_BURSTS for row in scored)
    agree = sum(row.clocks_agree for row in scored)
    return [
        *figures,
        at_least(
            "cells that are evidence", sum(row.evidence for row in scored), "", LEAST_EVIDENCE
        ),
        *_verdicts(scored),
        Figure(
            name="cells in which order error and time error name the same discipline",
            value=agree,
            unit="",
            note=f"of {len(scored)}",
        ),
        at_most("the longest cell", slow, "s", MOST_SECONDS),
        at_most(f"cells with fewer than {LEAST_BURSTS} valid bursts", few, "", 0),
        at_most(
            "cells without an observation", sum(row.not_run is not None for row in rows), "", 0
        ),
        *_delivered(scored),
    ]


def _family(family: str, rows: Sequence[Row]) -> list[Figure]:
    scored = [row for row in rows if row.scored]
    if not scored:
        return [Figure(name=f"{family}: no cell was run", value=0, unit="")]
    target = target_of(family)
    in_order = sum(not row.missed for row in scored)
    in_time = sum(not row.missed_in_time for row in scored)
    warm = sum(row.warm is not None and not row.missed_warm for row in scored)
    of_all = f"of {len(scored)}"
    bounds = [
        ("order error, mean", "order", "mean", target.mean),
        ("order error, p99", "order", "p99", target.p99),
        ("order error, max", "order", "max", target.max),
        ("time error, mean", "wire", "mean", target.mean),
        ("time error, p99", "wire", "p99", target.p99),
        ("time error, max", "wire", "max", target.max),
        ("time error over the end, mean", "secondary", "mean", target.secondary_mean),
        ("time error over the end, max", "secondary", "max", target.secondary_max),
    ]
    figures = [
        at_least(
            f"{family}: cells that meet the bounds of order", in_order, "", len(scored), of_all
        ),
        Figure(name=f"{family}: likewise without first bursts", value=warm, unit="", note=of_all),
        Figure(
            name=f"{family}: cells that meet the bounds of time",
            value=in_time,
            unit="",
            note=of_all,
        ),
    ]
    for name, kind, key, bound in bounds:
        row = max(scored, key=lambda r: float(r.levels["PREDICT"][kind][key]))
        worst = 100 * float(row.levels["PREDICT"][kind][key])
        label = f"{family}: worst cell, {name}"
        if bound is None:
            figures.append(Figure(name=label, value=worst, unit="%", note=row.key))
        else:
            figures.append(at_most(label, worst, "%", bound, row.key))
    return figures


def _verdicts(rows: Sequence[Row]) -> list[Figure]:
    """Counts of the cells' verdicts by outcome; the rule that most senders follow is known."""
    found = {name: [row.key for row in rows if row.outcome == name] for name in _OUTCOMES}
    return [
        Figure(
            name=f"verdicts: {name}",
            value=len(keys),
            unit="",
            note=f"of {len(rows)}" if name == "right" else ", ".join(keys),
        )
        for name, keys in found.items()
    ]


_OUTCOMES: Final[tuple[Outcome, ...]] = ("right", "undecided", "fits none", "wrong", "missing")


def _valid(row: Row) -> int:
    return row.judged_bursts + row.shown_bursts


def _delivered(rows: Sequence[Row]) -> list[Figure]:
    known = [row for row in rows if row.delivered is not None]
    if not known:
        return []
    return [
        at_most(f"delivered ends, worst cell, {key}", 100 * worst, "%", bound)
        for key, bound in (("mean", 1.0), ("p95", 2.0), ("max", 5.0))
        for worst in [max((r.delivered or {})[key] for r in known)]
    ]
