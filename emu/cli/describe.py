"""Describe a run's plan as text, for ``--plan``."""

from collections.abc import Iterator
from typing import Final

from emu.duration import expected_seconds
from emu.plan import Plan, distinct_receivers
from h2model.candidates import not_studied
from netcosim.formatting import short_time
from netcosim.scenario import LinkSpec, ProcessorSpec, TrainingSpec
from netcosim.scenario.unstudied_releases import not_studied_text
from netcosim.units import format_duration, format_rate, format_size

_WORTH_SAYING_S: Final = 600.0


def describe(plan: Plan) -> list[str]:
    """Describe a plan, line by line."""
    cluster = plan.scenario.cluster
    lines = [
        f"scenario    {plan.scenario.name}: {plan.scenario.description}".rstrip(": "),
        f"network     {cluster.topology}, {len(plan.net.servers)} server(s), "
        f"{len(plan.net.workers)} worker(s), in private namespaces",
    ]
    lines += [
        f"  link      {link.name}: {link.a} - {link.b}, {', '.join(_properties(link.link))}"
        for link in plan.net.links
    ]
    if plan.is_virtual:
        costs = "" if cluster.processor == ProcessorSpec() else " but for each message's cost"
        lines.append(f"clock       virtual: a guest for each cell; processors take no time{costs}")
    lines += [
        f"receiver    {receiver}: calibrated before the cells"
        for receiver in (() if plan.is_virtual else distinct_receivers(plan.cells))
    ]
    for cell in plan.cells:
        connections = plan.connections(cell)
        streams = sum(len(c.messages) for c in connections)
        lines.append(
            f"cell        {cell.name}: {cell.workload.direction}, {len(connections)} connection(s),"
            f" {streams} streams, {format_size(cell.burst_bytes)} a worker, about"
            f" {plan.burst_seconds(cell):.1f} s a burst, {plan.scenario.repetitions} bursts"
        )
    lines += [
        f"not studied {name}: {text}; no rule of it is taken for known"
        for name, text in _not_studied(plan)
    ]
    if plan.scenario.training != TrainingSpec():
        lines.append("training    not used: it is for the simulator; here bursts are measured")
    lines += [f"not run     {one.cell}: {one.reason}" for one in plan.not_run]
    takes_s = expected_seconds(plan)
    also = f" ({short_time(takes_s)})" if takes_s >= _WORTH_SAYING_S else ""
    takes = f"takes about {takes_s:.0f} s{also}; needs root"
    lines.append(takes if plan.cells else "no cell can be run here")
    return lines


def _properties(link: LinkSpec) -> Iterator[str]:
    """Rate and model of a link, and its delay, jitter, loss and queue if set."""
    yield from (format_rate(link.rate), link.model)
    for name, value in (("delay", link.delay), ("jitter", link.jitter)):
        if value:
            yield f"{name} {format_duration(value)}"
    if link.loss:
        yield f"loss {link.loss:g}"
    if link.queue is not None:
        yield f"queue {format_size(link.queue)}"


def _not_studied(plan: Plan) -> Iterator[tuple[str, str]]:
    """Transports in use whose releases were not studied, each with the nearest studied ones."""
    used = {cell.transport.name: cell.transport for cell in plan.cells}
    for name, transport in used.items():
        text = not_studied_text(not_studied(transport))
        if text is not None:
            yield name, text
