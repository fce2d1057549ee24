"""Main effects: a panel for each factor, its levels against the mean."""

from typing import TYPE_CHECKING, Final

from netcosim.report import style
from netcosim.report.streams.timeline import plain
from ray_sweeps.analysis.effects import Effect
from ray_sweeps.analysis.levels import NOT_VARIED
from ray_sweeps.analysis.outcomes import Outcomes
from ray_sweeps.report.curves import Picture, intervals_text
from ray_sweeps.report.small_multiples import XAxis, chosen, draw_x_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST: Final = 6
_COLUMNS: Final = 3
_PANEL_IN: Final = 1.35
_MOST_TICKS: Final = 8
_LONGEST: Final = 14
_COLOURS: Final = {"means": "#0072B2", "least squares": "#0072B2", "confounded": "#8f979e"}


def effects_picture(outcomes: Outcomes) -> Picture | None:
    """Draw the largest main effects; None if no factor varies."""
    if outcomes.effects is None:
        return None
    shown = outcomes.effects.factors[:_MOST]
    columns = min(_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    room = 40 if columns < _COLUMNS else 28
    below_in = 0.72 if any(_is_tight(effect, room) for effect in shown) else 0.34
    row_in = _PANEL_IN + 0.3 + below_in
    height = rows * row_in
    figure = style.new_figure(style.WIDTH_IN, height)
    tops = [100 * (lv.effect + (lv.half_width or 0.0)) for e in shown for lv in e.levels]
    lows = [100 * (lv.effect - (lv.half_width or 0.0)) for e in shown for lv in e.levels]
    pad = 0.08 * (max(tops) - min(lows)) or 1.0
    for number, effect in enumerate(shown):
        row, column = divmod(number, columns)
        width_in = (style.WIDTH_IN - 0.62 - 0.15) / columns
        axes = figure.add_axes(
            (
                (0.62 + column * width_in) / style.WIDTH_IN,
                (height - (row + 1) * row_in + below_in) / height,
                (width_in - (0.35 if columns > 1 else 0)) / style.WIDTH_IN,
                _PANEL_IN / height,
            )
        )
        _draw(axes, effect, room)
        axes.set_ylim(min(*lows, 0) - pad, max(*tops, 0) + pad)
        if column == 0:
            axes.set_ylabel("% of the mean")
        else:
            axes.tick_params(labelleft=False)
    return Picture(
        name="effects",
        title="What each factor does",
        text=_text(outcomes, len(outcomes.effects.factors) - len(shown)),
        png=style.png(figure),
    )


def _text(outcomes: Outcomes, left_out: int) -> str:
    found = outcomes.effects
    assert found is not None
    how = (
        "a mean over all values of the others, as each combination is there equally often"
        if found.balanced
        else "by least squares of all factors together, as combinations are not there equally often"
    )
    parts = [
        f"Throughput at each value above or below the mean of {found.grand_mean:.4g} examples/s,"
        f" {how}. {intervals_text(outcomes)}"
    ]
    if any(effect.drawn for effect in found.factors):
        parts.append("What was drawn is in bins that hold equally many points.")
    if any(effect.method == "confounded" for effect in found.factors):
        parts.append("Grey: bare means, as these points can't tell this factor from others.")
    if left_out:
        parts.append(f"{left_out} factors of smaller effect are in summary.json.")
    if found.left_out:
        parts.append(f"{found.left_out} points lack a run that the others have, and are left out.")
    return " ".join(parts)


def _draw(axes: "Axes", effect: Effect, room: int) -> None:
    names = style.shortened(", ".join(effect.names), room - 8)
    rho = effect.rank_correlation
    note = "" if rho is None else f"  (rank corr. {rho:+.2f})"
    style.tidy(axes, plain(names + note))
    axes.axhline(0, color="#9aa5ae", linewidth=0.9, zorder=1)
    spaced = _is_spaced(effect)
    x = [level.place for level in effect.levels] if spaced else list(range(len(effect.levels)))
    axes.errorbar(
        x,
        [100 * level.effect for level in effect.levels],
        yerr=[100 * (level.half_width or 0.0) for level in effect.levels],
        color=_COLOURS[effect.method],
        linewidth=1.4 if effect.numeric else 0,
        elinewidth=1.2,
        marker="o",
        markersize=4.5,
        capsize=2.5,
        zorder=3,
    )
    if spaced:
        _number_axis(axes, effect)
        return
    axes.set_xlim(-0.5, len(x) - 0.5)
    texts = _tick_texts(effect)
    tight = _is_tight(effect, room)
    axes.set_xticks(
        list(texts),
        list(texts.values()),
        rotation=30 if tight else 0,
        ha="right" if tight else "center",
        rotation_mode="anchor" if tight else None,
        fontsize=7.5,
    )


def _is_spaced(effect: Effect) -> bool:
    """True if levels are drawn at their numbers: of many, or medians of bins, none of them null."""
    numbers = effect.numeric and len(effect.names) == 1
    many = effect.drawn or len(effect.levels) > _MOST_TICKS
    return numbers and many and all(level.text != NOT_VARIED for level in effect.levels)


def _tick_texts(effect: Effect) -> dict[int, str]:
    places = chosen(len(effect.levels), _MOST_TICKS)
    return {i: plain(style.shortened(effect.levels[i].text, _LONGEST)) for i in places}


def _is_tight(effect: Effect, room: int) -> bool:
    """True if texts of the levels must be turned to have room."""
    return not _is_spaced(effect) and sum(len(t) + 2 for t in _tick_texts(effect).values()) > room


def _number_axis(axes: "Axes", effect: Effect) -> None:
    axis = XAxis(
        label="",
        places=[level.place for level in effect.levels],
        texts=[level.place_text for level in effect.levels],
        numeric=True,
    )
    draw_x_axis(axes, axis)
