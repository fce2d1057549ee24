"""The pictures of a simulation, as PNG."""

from collections.abc import Sequence

from netcosim.report import style
from netcosim.report.training.curves import overlaid, throughput
from netcosim.report.training.single import Bar, Panel, panels_png, single_png
from netcosim.report.training.utilisation import step_curve, time_bars, use_curve
from netcosim.results.training.findings import interval
from netcosim.results.training.summary import Series


def scaling_png(series: Series) -> bytes | None:
    """Draw throughput, time shares, step time and link utilisation; None without points."""
    if not series.points:
        return None
    if len(series.points) == 1:
        return single_png(series)
    figure = style.new_figure(style.WIDTH_IN, 8.9)
    throughput(figure.add_axes((0.065, 0.66, 0.71, 0.31)), series)
    time_bars(figure.add_axes((0.065, 0.36, 0.71, 0.225)), series)
    step_curve(figure.add_axes((0.065, 0.055, 0.335, 0.225)), series)
    use_curve(figure.add_axes((0.475, 0.055, 0.3, 0.225)), series)
    return style.png(figure)


def comparison_png(workload: str, several: Sequence[Series]) -> bytes | None:
    """Draw all series of a workload in one picture; None if there is nothing to compare."""
    shown = [series for series in several if series.points]
    if len(shown) < 2:
        return None
    counts = {point.workers for series in shown for point in series.points}
    if len(counts) == 1:
        return panels_png([[_transports(workload, shown, counts.pop())]])
    figure = style.new_figure(style.WIDTH_IN, 3.6)
    overlaid(figure.add_axes((0.065, 0.14, 0.68, 0.77)), workload, shown)
    return style.png(figure)


def _transports(workload: str, several: Sequence[Series], workers: int) -> Panel:
    """Throughput of each transport with the only number of workers."""
    colours = style.model_colours([series.transport for series in several])
    who = "1 worker" if workers == 1 else f"{workers} workers"
    rates = [(series.transport, series.points[0].examples_per_s) for series in several]
    return Panel(
        title=f"{workload}, {who}: throughput, examples/s",
        bars=[
            Bar(
                label=style.shortened(name),
                value=rate.mean,
                half=rate.half_width or 0.0,
                text=interval(rate).replace("+-", "\N{PLUS-MINUS SIGN}"),
                colour=colours[name],
            )
            for name, rate in rates
        ],
    )
