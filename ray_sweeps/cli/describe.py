"""A sweep in words, for ``--plan`` and before it begins."""

from netcosim.formatting import one_line, short_size, short_time
from netcosim.units import format_rate
from ray_sweeps.cost import Estimate
from ray_sweeps.space import Factor, Space
from ray_sweeps.sweep_file import Sweep

_MOST_SHOWN = 8


def describe(sweep: Sweep, space: Space, cost: Estimate, processors: int) -> list[str]:
    """Describe a sweep without running it, line by line."""
    base, training = sweep.base, sweep.base.training
    lines = [
        f"sweep       {sweep.name}: {one_line(sweep.description)}".rstrip(": "),
        f"scenario    {base.name}: {base.cluster.topology},"
        f" {format_rate(base.cluster.link.rate)}, {base.waiting_rule},"
        f" {training.steps} steps of each worker, {training.warmup} of them warm-up",
    ]
    lines += [f"factor      {factor_text(factor)}" for factor in space.factors]
    lines += [
        f"prices      {price.name}: worker {price.worker:g}, server {price.server:g}"
        f" {one_line(price.unit)}".rstrip()
        for price in sweep.prices
    ]
    about = "" if cost.counted else "about "
    lines.append(
        f"in all      {about}{cost.points:,} points, {cost.runs // max(1, cost.points)} run(s) of"
        f" each: {about}{cost.runs:,} runs"
    )
    if cost.failing:
        lines.append(f"note        some points fail: {one_line(cost.failing)}")
    return [*lines, f"takes       {cost_text(cost, processors)}"]


def factor_text(factor: Factor) -> str:
    """A factor's name and values, some of them if there are many."""
    if factor.values is None:
        return f"{factor.name}: drawn"
    shown = [str(value) for value in factor.values[:_MOST_SHOWN]]
    more = len(factor.values) - len(shown)
    return f"{factor.name}: {', '.join(shown)}{f' and {more} more' if more else ''}"


def cost_text(cost: Estimate, processors: int) -> str:
    """Time and disk, about."""
    who = "1 processor" if processors == 1 else f"{processors} processors"
    kernels = [kernel for kernel in cost.kernels if not kernel.is_kept()]
    which = "1 kernel" if len(kernels) == 1 else f"{len(kernels)} kernels"
    compiled = f", {which} to be compiled before" if kernels else ""
    return (
        f"about {short_time(cost.elapsed_s(processors))} on {who}"
        f" ({cost.run_s:.2g} s a run, from {cost.sampled} of the points){compiled},"
        f" {short_size(cost.disk_bytes)} of disk"
    )
