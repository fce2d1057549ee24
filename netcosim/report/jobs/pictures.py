"""Throughput of a training job by number of workers, as PNG."""

from netcosim.report import style
from netcosim.report.streams.timeline import plain
from netcosim.results.training.job_summary import JobSeries

MEASURED = "#0072B2"
_IDEAL = "#8a8a8a"


def throughput_png(series: JobSeries) -> bytes | None:
    """Draw the curve beside ideal scaling; None with fewer than two numbers of workers."""
    points = series.points
    if len(points) < 2:
        return None
    figure = style.new_figure(style.WIDTH_IN, 3.4)
    axes = figure.add_axes((0.07, 0.14, 0.9, 0.72))
    style.tidy(axes, plain(f"{series.cell}: throughput, examples/s"))
    counts = [point.workers for point in points]
    rates = [point.examples_per_s for point in points]
    alone = rates[0] / counts[0]
    ideal = [alone * count for count in counts]
    axes.plot(counts, ideal, color=_IDEAL, linestyle="--", label="ideal scaling")
    axes.plot(counts, rates, color=MEASURED, marker="o", label="measured")
    axes.set_ylim(0, 1.4 * max(rates))
    axes.set_xticks(counts)
    axes.set_xlabel("workers")
    axes.legend(loc="upper left", frameon=False)
    return style.png(figure)
