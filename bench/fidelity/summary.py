"""Summary of the scores by family and rate, as a section of Markdown."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean, median

from bench.fidelity.scores import Row
from netcosim.formatting import percent

_SLOW = ("50mbit", "100mbit", "200mbit")


def summary_section(rows: Sequence[Row]) -> list[str]:
    """A table of families and rates, and the figures over all cells; nothing without a score."""
    scored = [row for row in rows if row.scored]
    if not scored:
        return []
    observed = [row for row in rows if row.not_run is None]
    rates = sorted({row.rate for row in scored}, key=lambda rate: (len(rate), rate))
    headings = ("family", "cells", "met", "median of the means", *rates)
    return [
        "## Summary",
        "",
        "Cells whose order errors met their targets at PREDICT; the median over cells of the mean"
        " order error.",
        "",
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(
            f"| {' | '.join(_family(family, scored, rates))} |"
            for family in dict.fromkeys(row.family for row in scored)
        ),
        "",
        *(f"- {line}" for line in (*_evidence(observed), *_overall(scored))),
        "",
    ]


def _family(family: str, rows: Iterable[Row], rates: Sequence[str]) -> list[str]:
    mine = [row for row in rows if row.family == family]
    by_rate = [[row for row in mine if row.rate == rate] for rate in rates]
    columns = [f"{_met(some)} of {len(some)}, {_typical(some)}" if some else "" for some in by_rate]
    return [family, str(len(mine)), str(_met(mine)), _typical(mine), *columns]


def _evidence(rows: Sequence[Row]) -> Iterator[str]:
    """Lines on judged bursts, grades of cells, and the steal of the processors' time."""
    bursts = ((row.judged_bursts, row.shown_bursts, row.invalid_bursts) for row in rows)
    judged, shown, invalid = (sum(each) for each in zip(*bursts, strict=True))
    yield (
        f"{judged} bursts are judged, {shown} shown, as a pause delayed an input of the models,"
        f" and {invalid} invalid"
    )
    grades = Counter(row.grade for row in rows if row.judged_bursts)
    listed = ", ".join(f"{grades[grade]} {grade}" for grade in ("A", "B", "C"))
    none = sum(not row.judged_bursts for row in rows)
    yield f"grades of the cells: {listed}; {none} have no judged burst"
    if steal := [share for row in rows for share in row.steal]:
        yield (
            f"the hypervisor took {percent(mean(steal))} of the processors' time on average"
            f" (median burst {percent(median(steal))}, max {percent(max(steal))})"
        )


def _overall(rows: Sequence[Row]) -> list[str]:
    alone = [row for row in rows if row.link == "fair" and "several" not in row.family]
    agree = [row for row in rows if row.clocks_agree]
    odd = ", ".join(row.key for row in rows if not row.clocks_agree)
    slow = [row for row in alone if row.rate in _SLOW]
    fast = [row for row in alone if row.rate not in _SLOW]
    exact = [row for row in rows if row.rate in _SLOW and "several" not in row.family]
    exact = [row for row in exact if _figure(row, "orders_equal") == _figure(row, "bursts")]
    orders, bursts = (sum(_figure(r, name) for r in rows) for name in ("orders_equal", "bursts"))
    lines = [
        f"one connection on a fair link: {_met(slow)} of {len(slow)} cells met their targets up to"
        f" 200 Mbit/s, {_met(fast)} of {len(fast)} above; those of the time error beside them"
        f" {_met_in_time(slow)} and {_met_in_time(fast)}",
        f"{orders} of {bursts} bursts came in exactly the predicted order",
        f"order error and time error name the same discipline in {len(agree)} of {len(rows)} cells"
        + (f"; not in {odd}" if odd else ""),
    ]
    if exact:
        typical, worst = (
            median(float(row.levels["PREDICT"]["wire"][key]) for row in exact)
            for key in ("mean", "max")
        )
        lines.append(
            f"the {len(exact)} cells of one connection up to 200 Mbit/s in which every burst did:"
            f" time error mean {percent(typical)}, max {percent(worst)} (medians over cells)"
        )
    return lines


def _met(rows: Iterable[Row]) -> int:
    return sum(not row.missed for row in rows)


def _met_in_time(rows: Iterable[Row]) -> int:
    return sum(not row.missed_in_time for row in rows)


def _typical(rows: Iterable[Row]) -> str:
    return percent(median(float(row.levels["PREDICT"]["order"]["mean"]) for row in rows))


def _figure(row: Row, name: str) -> int:
    return int(row.levels["PREDICT"][name])
