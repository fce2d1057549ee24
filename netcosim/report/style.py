"""Matplotlib style of the report's pictures, and their rendering as PNG."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI: Final = 144
WIDTH_IN: Final = 8.5
"""Of every picture: text of 8 points is about 10 pixels high where the page is 800 wide."""

MEASURED: Final = "#33475b"
STALL: Final = "#b8bfc6"
QUIET: Final = "#7a858f"

# Okabe and Ito's colours, which the colour-blind tell apart.
_CYCLE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8c6d31")


def model_colours(models: Sequence[str]) -> dict[str, str]:
    """A colour for each model, the same in all pictures of a report."""
    return {model: _CYCLE[i % len(_CYCLE)] for i, model in enumerate(models)}


def new_figure(width_in: float, height_in: float) -> "Figure":
    """An empty figure that never touches a display."""
    # matplotlib takes most of a second to import: it is imported only to draw.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def tidy(axes: "Axes", title: str, *, legend_above: bool = False) -> None:
    """Style axes: a title, small text, a thin frame, a quiet grid.

    `legend_above` leaves room for a line of a legend below the title.
    """
    pad = 20 if legend_above else 6
    axes.set_title(title, fontsize=9, loc="left", color="#222222", pad=pad)
    axes.locator_params(nbins=6)
    axes.tick_params(labelsize=8, colors="#444444", length=3)
    axes.xaxis.label.set_fontsize(8)
    axes.yaxis.label.set_fontsize(8)
    axes.grid(visible=True, color="#e6e9ec", linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#9aa5ae")


def note(axes: "Axes", text: str) -> None:
    """Show a sentence instead of a picture."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=QUIET, fontsize=9
    )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)


def shortened(name: str, most: int = 26) -> str:
    """A name as far as it has room in a picture: its beginning and its end."""
    half = (most - 2) // 2
    return name if len(name) <= most else f"{name[:half]}..{name[-half:]}"


def png(figure: "Figure") -> bytes:
    """The figure as PNG, the same bytes for the same figure."""
    target = io.BytesIO()
    metadata: Mapping[str, str | None] = {"Software": None}
    figure.savefig(target, format="png", metadata=metadata)
    return target.getvalue()
