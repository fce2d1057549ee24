"""The pictures of a simulation, as PNG."""

from collections.abc import Sequence

from netcosim.report import style
from netcosim.report.training.curves import overlaid, throughput
from netcosim.report.training.utilisation import step_curve, time_bars, use_curve
from netcosim.results.training.summary import Series


def scaling_png(series: Series) -> bytes | None:
    """Draw throughput and time shares, step time and link utilisation; None without points."""
    if not series.points:
        return None
    figure = style.new_figure(11, 7.0)
    throughput(figure.add_axes((0.06, 0.56, 0.42, 0.4)), series)
    time_bars(figure.add_axes((0.655, 0.56, 0.2, 0.4)), series)
    step_curve(figure.add_axes((0.06, 0.07, 0.42, 0.37)), series)
    use_curve(figure.add_axes((0.655, 0.07, 0.2, 0.37)), series)
    return style.png(figure)


def comparison_png(workload: str, several: Sequence[Series]) -> bytes | None:
    """Draw all series of a workload in one picture; None if there is nothing to compare."""
    if sum(bool(series.points) for series in several) < 2:
        return None
    figure = style.new_figure(11, 4.2)
    axes = figure.add_axes((0.06, 0.13, 0.72, 0.78))
    overlaid(axes, workload, several)
    return style.png(figure)
