"""Picture of epochs by Yan's model: over servers and replicas, and what they are made of."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from netcosim.report import style
from netcosim.report.write import font_cache
from sim.analytic.yan.model import Configuration, Problem, terms
from sim.analytic.yan.search import Found

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS: Final = (
    ("compute_s", "compute", "#08519c"),
    ("update_s", "update", "#6baed6"),
    ("messages_s", "messages between segments", "#009E73"),
    ("reads_s", "reads of parameters", "#e6550d"),
)
_MOST_NUMBERS: Final = 400


def epoch_png(problem: Problem, listed: Mapping[str, Found]) -> bytes:
    """Epoch over servers and replicas, layers split as the first has them; a bar of terms each."""
    with font_cache():
        figure = style.new_figure(style.WIDTH_IN, 6.6)
        shape = next(iter(listed.values())).configuration
        _heat(figure.add_axes((0.08, 0.5, 0.88, 0.43)), problem, shape)
        _bars(figure.add_axes((0.2, 0.1, 0.76, 0.27)), listed)
        return style.png(figure)


def _heat(axes: "Axes", problem: Problem, shape: Configuration) -> None:
    """Draw the epoch of each number of servers and replicas that the machines allow."""
    from matplotlib.colors import LogNorm

    most = problem.machine.count
    values = np.full((most, most), np.nan)
    for servers in range(1, most):
        for replicas in range(1, (most - servers) // shape.workers + 1):
            one = replace(shape, servers=servers, replicas=replicas)
            values[servers, replicas] = terms(problem, one).epoch_s
    style.tidy(axes, f"epoch, s; a replica has {shape.workers} workers")
    axes.grid(visible=False)
    if np.isnan(values).all():
        style.note(axes, "No server and replica have room together.")
        return
    rows, columns = (np.flatnonzero(~np.isnan(values).all(axis=axis)) for axis in (1, 0))
    shown = values[np.ix_(rows, columns)]
    most_s = max(float(np.nanmax(shown)), 1e-300)
    scale = LogNorm(max(float(np.nanmin(shown)), 1e-6 * most_s), 1.5 * most_s, clip=True)
    kept = np.ma.masked_invalid(shown)
    axes.imshow(kept, aspect="auto", origin="lower", cmap="Blues", norm=scale)
    axes.set_xticks(range(len(columns)), [str(c) for c in columns])
    axes.set_yticks(range(len(rows)), [str(r) for r in rows])
    axes.set_xlabel("replicas")
    axes.set_ylabel("servers")
    if shown.size > _MOST_NUMBERS:
        return
    for (row, column), value in np.ndenumerate(shown):
        if np.isfinite(value):
            colour = "white" if scale(value) > 0.6 else "#222222"
            text = f"{value:.3g}"
            axes.text(column, row, text, ha="center", va="center", fontsize=6, color=colour)


def _bars(axes: "Axes", listed: Mapping[str, Found]) -> None:
    """Draw each configuration's parts of its epoch, one beside the other."""
    style.tidy(axes, "what an epoch is made of, s", legend_above=True)
    left = np.zeros(len(listed))
    for field, text, colour in PARTS:
        lengths = np.array([float(getattr(found.terms, field)) for found in listed.values()])
        axes.barh(range(len(listed)), lengths, left=left, color=colour, label=text, height=0.7)
        left += lengths
    texts = [f"{name}: {found.configuration.resources}" for name, found in listed.items()]
    axes.set_yticks(range(len(listed)), texts)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("<workers, replicas, servers>; 1 is the fastest")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=len(PARTS), fontsize=7.5, frameon=False
    )
