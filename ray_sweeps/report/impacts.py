"""Straggler impact: throughput with over without, a line for each synchronisation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ray_sweeps.analysis.findings import configuration_text
from ray_sweeps.analysis.levels import ordered, short_number, value_text
from ray_sweeps.analysis.outcomes import Outcomes
from ray_sweeps.analysis.stragglers import (
    ENSEMBLE,
    SYNCHRONISATION,
    Impact,
    binned,
    summed_up,
)
from ray_sweeps.evaluation import FACTOR
from ray_sweeps.report.curves import Picture, intervals_text
from ray_sweeps.report.small_multiples import (
    MOST_PANELS,
    Line,
    Panel,
    XAxis,
    chosen,
    multiples_png,
)

_MOST_AXES: Final = 3
_PLACE: Final = "place"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Across:
    """Quantity of the horizontal axis: its name, and the ratios with a column `place`."""

    name: str
    rows: pl.DataFrame
    texts: dict[float, str] | None


def impact_pictures(outcomes: Outcomes) -> list[Picture]:
    """Draw the impact by each intensity or share of slow workers, and of several ensembles.

    Without intensities, and for a comparison of ensembles, it is drawn by number of workers.
    """
    impact = outcomes.impact
    if impact is None:
        return []
    numeric = [name for name in impact.numeric() if _counts(impact.ratios, name) > 1]
    across = [
        _Across(name=name, rows=binned(impact, name), texts=None) for name in numeric[:_MOST_AXES]
    ]
    ensembles = impact.ratios.get_column(FACTOR + ENSEMBLE, default=None)
    if not across or (ensembles is not None and ensembles.n_unique() > 1):
        across.append(_by_workers(impact))
    return [_picture(outcomes, impact, one, numeric) for one in across]


def _counts(rows: pl.DataFrame, name: str) -> int:
    return rows[FACTOR + name].drop_nulls().n_unique()


def _by_workers(impact: Impact) -> _Across:
    """The impact by number of workers; with one number, by ensembles."""
    rows = impact.ratios
    if "workers" in rows.columns and rows["workers"].n_unique() > 1:
        return _Across(
            name="workers",
            rows=rows.with_columns(pl.col("workers").cast(pl.Float64).alias(_PLACE)),
            texts=None,
        )
    column = FACTOR + ENSEMBLE
    if column not in rows.columns:
        return _Across(
            name="stragglers", rows=rows.with_columns(pl.lit(0.0).alias(_PLACE)), texts={0.0: "all"}
        )
    values = ordered(rows[column].unique().to_list())
    places = {value: float(place) for place, value in enumerate(values)}
    return _Across(
        name=ENSEMBLE,
        rows=rows.with_columns(
            pl.col(column)
            .replace_strict(list(places), list(places.values()), return_dtype=pl.Float64)
            .alias(_PLACE)
        ),
        texts={place: value_text(value) for value, place in places.items()},
    )


def _picture(outcomes: Outcomes, impact: Impact, across: _Across, numeric: list[str]) -> Picture:
    by = _panel_factor(impact, across, numeric, outcomes.summary.given)
    rows, fixed = _slice(outcomes, impact, across, by)
    names = sorted(rows[SYNCHRONISATION].unique().to_list())
    grouping = [*([FACTOR + by] if by else []), SYNCHRONISATION, _PLACE]
    found = summed_up(Impact(ratios=rows, factors=impact.factors, without=0, unmatched=0), grouping)
    values: list[Any] = ordered(rows[FACTOR + by].unique().to_list()) if by else [None]
    shown = [values[i] for i in chosen(len(values), MOST_PANELS)]
    panels = []
    for value in shown:
        mine = found.filter(pl.col(FACTOR + by).eq_missing(pl.lit(value))) if by else found
        panels.append(
            Panel(
                title=f"{by} {value_text(value)}" if by else "",
                lines=[line for name in names for line in _lines(mine, name)],
            )
        )
    places = sorted(found[_PLACE].unique().to_list())
    texts = [
        short_number(place) if across.texts is None else across.texts[place] for place in places
    ]
    image = multiples_png(
        panels,
        XAxis(label=across.name, places=places, texts=texts, numeric=across.texts is None),
        y_label="of the throughput without",
        legend="synchronisation",
        labels=names,
        mark=1.0,
    )
    return Picture(
        name=f"stragglers-{across.name}",
        title=f"What stragglers do, by {across.name}",
        text=_text(outcomes, impact, found, by, len(values) - len(shown), fixed),
        png=image,
    )


def _panel_factor(
    impact: Impact, across: _Across, numeric: list[str], conditions: Sequence[str]
) -> str | None:
    """The factor of the panels: ensembles, if several are drawn, another number, what is given.

    Numbers vary within one ensemble each, and are no panels where several are drawn.
    """
    names = (*numeric, *impact.factors, *conditions)
    counts = {name: _counts(across.rows, name) for name in names}
    others = [name for name in numeric if name != across.name and 1 < counts[name] <= MOST_PANELS]
    ensembles = [
        name
        for name in impact.factors
        if name == ENSEMBLE and name != across.name and counts[name] > 1
    ]
    given = [n for n in conditions if n != across.name and 1 < counts[n] <= MOST_PANELS]
    return next(iter([*ensembles, *others, *given]), None)


def _slice(
    outcomes: Outcomes, impact: Impact, across: _Across, by: str | None
) -> tuple[pl.DataFrame, str]:
    """Ratios where factors that are not drawn as such have the fastest point's values.

    Factors of stragglers stay as they are. If there is nothing at these values, all ratios.
    """
    best = outcomes.summary.best[0].best.factors
    columns = () if outcomes.design is None else outcomes.design.columns
    drawn = {name for column in columns if column.drawn for name in column.names}
    free = {*impact.factors, across.name, SYNCHRONISATION, by, *drawn}
    fixed = {name: value for name, value in best.items() if name not in free}
    if not fixed:
        return across.rows, ""
    kept = across.rows.filter(
        [pl.col(FACTOR + name).eq_missing(pl.lit(value)) for name, value in fixed.items()]
    )
    if kept.is_empty():
        return across.rows, ""
    return kept, configuration_text(fixed)


def _lines(found: pl.DataFrame, name: str) -> list[Line]:
    mine = found.filter(pl.col(SYNCHRONISATION) == name).sort(_PLACE)
    if mine.is_empty():
        return []
    return [
        Line(
            label=name,
            x=mine[_PLACE].to_list(),
            y=mine["ratio"].to_list(),
            half=mine["half_width"].fill_null(0.0).to_list(),
        )
    ]


def _text(
    outcomes: Outcomes,
    impact: Impact,
    found: pl.DataFrame,
    by: str | None,
    left_out: int,
    fixed: str,
) -> str:
    parts = [
        "Throughput over that of the same point without stragglers, run by run."
        f" {intervals_text(outcomes)}"
    ]
    if fixed:
        parts.append(f"Here {fixed}, as at the fastest point.")
    most = found["points"].max()
    if isinstance(most, int) and most > 1:
        parts.append(f"Each mark is a mean over up to {most} points that differ in other factors.")
    if left_out:
        parts.append(f"{left_out} more values of {by} are in points.csv.")
    if impact.unmatched:
        parts.append(f"{impact.unmatched} points with stragglers have no partner without.")
    return " ".join(parts)
