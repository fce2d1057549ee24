"""Throughput curves: a number on the horizontal axis, lines and panels for two other factors."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from netcosim.intervals import t_95
from ray_sweeps.analysis.design import Column, Design, crossed
from ray_sweeps.analysis.effects import Effects
from ray_sweeps.analysis.levels import short_number
from ray_sweeps.analysis.outcomes import Outcomes
from ray_sweeps.report.small_multiples import (
    MOST_LINES,
    MOST_PANELS,
    Line,
    Panel,
    XAxis,
    chosen,
    multiples_png,
)

_FEWEST: Final = 2

LEAST: Final = 0.005
"""Least spread of a factor's effects, as a share of the mean, for which it is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of the report: what it is called, title, how to read it, PNG."""

    name: str
    title: str
    text: str
    png: bytes


def named(column: Column) -> str:
    """Names of the factors of a column."""
    return ", ".join(column.names)


def by_spread(design: Design, effects: Effects | None) -> list[Column]:
    """Columns of a design, those with the largest effects first."""
    order = [] if effects is None else [each.names for each in effects.factors]
    return sorted(design.columns, key=lambda column: order.index(column.names))


def throughput_curves(outcomes: Outcomes) -> Picture | None:
    """Draw throughput by the number of workers, or by the factor that matters most.

    The next two factors by their effects are lines and panels; what is given is rather panels, and
    several of it if there are few. All others have the values of the fastest point. None if no
    factor has levels to draw.
    """
    design = outcomes.design
    if design is None or outcomes.effects is None:
        return None
    ranked = by_spread(design, outcomes.effects)
    x = _horizontal(ranked)
    if x is None:
        return None
    seen = {e.names for e in outcomes.effects.factors if e.spread >= LEAST}
    others = [c for c in ranked if c is not x and not c.drawn and c.names in seen]
    lines, panels = _lines_and_panels(others, set(outcomes.summary.given))
    shown = {name for c in (x, lines, panels) if c is not None for name in c.names}
    fixed = [c for c in ranked if not shown & set(c.names) and not c.drawn]
    best = int(design.rates.mean(axis=1).argmax())
    keep = np.ones(len(design.points), dtype=np.bool_)
    for column in fixed:
        keep &= column.codes == column.codes[best]
    drawn = [c for c in design.columns if c.drawn and c is not x]
    text = _text(outcomes, x, fixed, best, drawn)
    # Nobody chooses between panels of what is given: their scales may differ.
    own = panels is not None and set(panels.names) <= set(outcomes.summary.given)
    if own:
        text += " Each panel has a scale of its own."
    return _picture(design, keep, x, lines, panels, text, own_scales=own)


def _lines_and_panels(
    others: Sequence[Column], given: Set[str]
) -> tuple[Column | None, Column | None]:
    """The columns for lines and panels, of those that are left, by their effects."""
    conditions = [c for c in others if given & set(c.names)]
    chosen = [c for c in others if not given & set(c.names)]
    if not conditions or not chosen:
        return next(iter(others), None), next(iter(others[1:]), None)
    panels = conditions[0]
    for column in conditions[1:]:
        if panels.count * column.count <= MOST_PANELS:
            panels = crossed(panels, column)
    return chosen[0], panels


def _horizontal(ranked: Sequence[Column]) -> Column | None:
    """The column for the horizontal axis: workers, else numbers, else any."""
    with_levels = [c for c in ranked if c.count - (c.nothing is not None) >= _FEWEST]
    return min(
        with_levels,
        key=lambda c: ("workers" not in c.names, not c.numeric, c.drawn, ranked.index(c)),
        default=None,
    )


def intervals_text(outcomes: Outcomes) -> str:
    """Sentence that explains bars and bands of a picture."""
    design = outcomes.design
    if design is not None and len(design.runs) == 1:
        return "Single runs have no interval."
    return "Bars and bands are 95 % intervals over the runs."


def _text(
    outcomes: Outcomes,
    x: Column,
    fixed: Sequence[Column],
    best: int,
    drawn: Sequence[Column],
) -> str:
    parts = [intervals_text(outcomes)]
    if fixed:
        values = ", ".join(f"{named(c)} {c.texts[c.codes[best]]}" for c in fixed)
        parts.append(f"Here {values}, as at the fastest point.")
    if x.drawn:
        parts.append(f"{named(x)} was drawn: means over bins of equally many points.")
    if drawn:
        parts.append(f"Means over what was drawn of {', '.join(map(named, drawn))}.")
    return " ".join(parts)


def _picture(
    design: Design,
    keep: NDArray[np.bool_],
    x: Column,
    lines: Column | None,
    panels: Column | None,
    text: str,
    *,
    own_scales: bool,
) -> Picture | None:
    line_codes, panel_codes = _codes(lines, keep), _codes(panels, keep)
    some_lines = [line_codes[i] for i in chosen(len(line_codes), MOST_LINES)]
    some_panels = [panel_codes[i] for i in chosen(len(panel_codes), MOST_PANELS)]
    labels = [_label(lines, code) for code in some_lines]
    drawn = []
    for panel in some_panels:
        inside = keep & _is(panels, panel)
        found = [
            line
            for code, label in zip(some_lines, labels, strict=True)
            for line in [_curve(design, inside & _is(lines, code), x, label)]
            if line is not None
        ]
        if found:
            title = "" if panels is None else f"{named(panels)} {_label(panels, panel)}"
            drawn.append(Panel(title=title, lines=found))
    places = sorted({place for panel in drawn for line in panel.lines for place in line.x})
    if len(places) < _FEWEST:
        return None
    by_place = dict(zip(x.places, x.texts, strict=True))
    texts = [_tick(x, place, by_place[place]) for place in places]
    numeric = x.numeric and len(x.names) == 1
    image = multiples_png(
        drawn,
        XAxis(label=named(x), places=places, texts=texts, numeric=numeric),
        y_label="examples/s",
        legend="" if lines is None else named(lines),
        labels=labels,
        own_scales=own_scales,
    )
    for column, shown, codes in (
        (lines, some_lines, line_codes),
        (panels, some_panels, panel_codes),
    ):
        if column is not None and len(shown) < len(codes):
            text += f" Of {len(codes)} values of {named(column)} {len(shown)} are drawn."
    title = f"Throughput by {named(x)}"
    return Picture(name="throughput", title=title, text=text, png=image)


def _tick(x: Column, place: float, text: str) -> str:
    """A level's text; of a bin its middle."""
    if not x.numeric or len(x.names) > 1:
        return text
    return x.middle_texts[place] if x.drawn else short_number(place)


def _codes(column: Column | None, keep: NDArray[np.bool_]) -> list[int]:
    return [0] if column is None else sorted(set(column.codes[keep].tolist()))


def _label(column: Column | None, code: int) -> str:
    return "" if column is None else column.texts[code]


def _is(column: Column | None, code: int) -> NDArray[np.bool_] | bool:
    return True if column is None else column.codes == code


def _curve(design: Design, rows: NDArray[np.bool_], x: Column, label: str) -> Line | None:
    places, means, halves = [], [], []
    for code in range(x.count):
        here = rows & (x.codes == code)
        if code == x.nothing or not here.any():
            continue
        each = design.rates[here].mean(axis=0)
        runs = len(each)
        places.append(x.places[code])
        means.append(float(each.mean()))
        halves.append(float(t_95(runs - 1) * each.std(ddof=1) / runs**0.5) if runs > 1 else 0.0)
    return Line(label=label, x=places, y=means, half=halves) if places else None
