"""Panels for a single number of workers, which has no curve: bars with their values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netcosim.formatting import percent
from netcosim.report import style
from netcosim.report.streams.timeline import plain
from netcosim.report.training.axes import time_unit
from netcosim.report.training.curves import LIMIT, SIMULATED, colours_of, limit_text
from netcosim.report.training.utilisation import DOWN, LEAST, PARTS, UP, WORKERS
from netcosim.results.training.bottleneck import FULL
from netcosim.results.training.findings import interval
from netcosim.results.training.summary import Point, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_IN: Final = 0.23
_MOST_LINKS: Final = 8
MEASURED: Final = "#6baed6"
_FAR: Final = 3.0
"""A link's limit is drawn up to so many times the other figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: its label, its value and that value as text, and half of its interval."""

    label: str
    value: float
    text: str
    colour: str
    half: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Bars below a title; the axis ends at `most`, if that is given."""

    title: str
    bars: Sequence[Bar]
    most: float | None = None
    mark: float | None = None

    @property
    def height_in(self) -> float:
        """Height of the bars, without the title."""
        return _ROW_IN * len(self.bars)


def single_png(series: Series) -> bytes:
    """Draw throughput, time shares, step times and utilisation of the only point as PNG."""
    (point,) = series.points
    return panels_png(
        [
            [throughput_panel(series, point), time_panel(point)],
            [steps_panel(point), use_panel(point)],
        ]
    )


def panels_png(rows: Sequence[Sequence[Panel]]) -> bytes:
    """Draw rows of one or two panels as PNG."""
    above, below = 0.36, 0.16
    heights = [max(panel.height_in for panel in row) for row in rows]
    whole = sum(heights) + len(rows) * (above + below)
    figure = style.new_figure(style.WIDTH_IN, whole)
    top = whole
    for row, height in zip(rows, heights, strict=True):
        top -= above
        for place, panel in enumerate(row):
            left = 1.65 + place * style.WIDTH_IN / 2
            width = style.WIDTH_IN / len(row) - 1.65 - 0.95
            bottom = top - panel.height_in
            axes = figure.add_axes(
                (
                    left / style.WIDTH_IN,
                    bottom / whole,
                    width / style.WIDTH_IN,
                    panel.height_in / whole,
                )
            )
            _draw(axes, panel)
        top -= height + below
    return style.png(figure)


def _draw(axes: "Axes", panel: Panel) -> None:
    style.tidy(axes, plain(panel.title))
    places = range(len(panel.bars))
    axes.barh(
        places,
        [bar.value for bar in panel.bars],
        height=0.7,
        color=[bar.colour for bar in panel.bars],
        xerr=[bar.half for bar in panel.bars] if any(bar.half for bar in panel.bars) else None,
        error_kw={"elinewidth": 1.1, "ecolor": "#222222"},
    )
    reached = max((bar.value + bar.half for bar in panel.bars), default=0.0)
    most = panel.most or 1.02 * reached or 1.0
    axes.set_xlim(0, most)
    axes.set_ylim(len(panel.bars) - 0.5, -0.5)
    axes.set_yticks(places, [plain(bar.label) for bar in panel.bars])
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    if panel.mark is not None:
        axes.axvline(panel.mark, color=LIMIT, linewidth=0.9, linestyle=":")
    for place, bar in zip(places, panel.bars, strict=True):
        axes.annotate(
            bar.text,
            (min(bar.value + bar.half, most), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color="#222222",
            annotation_clip=False,
        )


def throughput_panel(series: Series, point: Point) -> Panel:
    """Throughput as simulated, by formulas, with ideal scaling, and the fullest link's limit."""
    simulated = point.examples_per_s
    bars = [
        Bar(
            label="simulated",
            value=simulated.mean,
            half=simulated.half_width or 0.0,
            text=_number(interval(simulated)),
            colour=SIMULATED,
        )
    ]
    if point.as_measured is not None:
        measured = point.as_measured.examples_per_s
        bars.append(
            Bar(
                label=f"steps {point.as_measured.first}-{point.as_measured.last}",
                value=measured.mean,
                half=measured.half_width or 0.0,
                text=_number(interval(measured)),
                colour=MEASURED,
            )
        )
    found = {n: v * series.batch for n, v in sorted(point.baselines.items()) if v is not None}
    colours = colours_of(list(found))
    bars += [_rate(name, value, colours[name]) for name, value in found.items()]
    if point.workers > 1 or series.stragglers:
        ideal = series.alone.mean * series.batch * point.workers
        bars.append(_rate("ideal scaling", ideal, "#9aa5ae"))
    if series.limits_steps_per_s:
        name, rate = min(series.limits_steps_per_s.items(), key=lambda item: item[1])
        if rate * series.batch <= _FAR * max(bar.value for bar in bars):
            bars.append(_rate(limit_text(name), rate * series.batch, LIMIT))
    who = "1 worker" if point.workers == 1 else f"{point.workers} workers"
    return Panel(title=f"throughput with {who}, examples/s", bars=bars)


def time_panel(point: Point) -> Panel:
    """The worker's activities, as shares of its time."""
    shares = [(float(getattr(point.time, field)), text, c) for field, text, c in PARTS]
    return Panel(
        title="where a worker's time goes",
        bars=[
            Bar(label=text, value=share, text=percent(share), colour=colour)
            for share, text, colour in shares
            if share >= LEAST
        ],
    )


def steps_panel(point: Point) -> Panel:
    """Percentiles of the step time, and how long workers wait for the last of a round."""
    times = point.step_ns
    unit, factor = time_unit(times.median)
    found = [
        ("median", times.median, DOWN),
        ("95 % are shorter", times.p95, "#6baed6"),
        ("99 % are shorter", times.p99, "#6baed6"),
        ("longest", times.max, "#a6cbe3"),
    ]
    if point.straggler_ns is not None:
        found.append(("a round's first waits", point.straggler_ns, style.QUIET))
    return Panel(
        title=f"time of a step, {unit}",
        bars=[
            Bar(label=label, value=ns / factor, text=f"{ns / factor:.4g}", colour=colour)
            for label, ns, colour in found
        ],
    )


def use_panel(point: Point) -> Panel:
    """Utilisation of the links, the fullest where there are many, and of the workers."""
    links = sorted(point.link_utilisation, key=lambda link: -link.utilisation)[:_MOST_LINKS]
    left_out = len(point.link_utilisation) - len(links)
    several = len({link.server for link in point.link_utilisation}) > 1
    bars = [
        Bar(
            label=f"{f'server {link.server} ' if several else ''}{link.direction}link",
            value=min(1.0, link.utilisation),
            text=percent(link.utilisation),
            colour=DOWN if link.direction == "down" else UP,
        )
        for link in links
    ]
    share = point.worker_utilisation
    bars.append(Bar(label="workers compute", value=share, text=percent(share), colour=WORKERS))
    which = f", the {len(links)} fullest of {len(links) + left_out}" if left_out else ""
    title = f"used{which}; dotted: full"
    return Panel(title=title, bars=bars, most=1.0, mark=FULL)


def _rate(label: str, value: float, colour: str) -> Bar:
    return Bar(label=label, value=value, text=f"{value:.4g}", colour=colour)


def _number(text: str) -> str:
    return text.replace("+-", "\N{PLUS-MINUS SIGN}")
