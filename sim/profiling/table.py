"""Printed result of a measurement: a step's time by layer and phase, and warnings."""

import statistics
from collections.abc import Callable, Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from netcosim.cli.columns import Column, print_columns
from netcosim.formatting import one_line
from sim.profiling.attribute import Attributed
from sim.profiling.measure import Measured
from sim.profiling.records import RecordedLayer, StepRecord, Structure

MOST_LAYERS: Final = 20
SUSPICIOUS: Final = 0.1
"""Relative difference of watched and unwatched steps, or spread of steps, beyond which to warn."""

_MS: Final = 1e6
_MIB: Final = 2**20


def print_measured(measured: Measured, console: Console) -> None:
    """Print the layers that take longest, the passes, and how far the figures can be trusted."""
    _print_layers(measured, console)
    console.print(
        "(medians in ms; between: before the layer going forward, behind it going back)\n"
    )
    for line in summary(measured):
        console.print(Text(line), soft_wrap=True)
    for line in warnings(measured):
        console.print(Text(one_line(line)), soft_wrap=True)


def _print_layers(measured: Measured, console: Console) -> None:
    """Print a row for each of the longest layers, and one for all others."""
    found = sorted(_rows(measured), key=lambda row: -row[0])
    rows: list[list[str]] = []
    for total, layer, forward, backward, between in found[:MOST_LAYERS]:
        size_bytes = sum(tensor.size_bytes for tensor in layer.tensors)
        times = [f"{ns / _MS:.3f}" for ns in (forward, backward, between)]
        size = f"{size_bytes / _MIB:.2f}" if size_bytes else ""
        share = f"{total / measured.step_ns:.1%}"
        rows.append([one_line(layer.name), one_line(layer.kind), size, *times, share])
    if len(found) > MOST_LAYERS:
        left = sum(row[0] for row in found[MOST_LAYERS:])
        rest = f"{len(found) - MOST_LAYERS} more"
        rows.append([rest, "", "", "", "", "", f"{left / measured.step_ns:.1%}"])
    headings = ("layer", "module", "MiB", "forward", "backward", "between", "of a step")
    print_columns(
        [
            Column(
                heading=heading,
                cells=[row[place] for row in rows],
                rank=(0, 4, 3, 1, 1, 2, 0)[place],
                justify="left" if place < 2 else "right",
                folds=place < 2,
            )
            for place, heading in enumerate(headings)
        ],
        console,
    )


def _rows(measured: Measured) -> Iterator[tuple[float, RecordedLayer, float, float, float]]:
    """Per layer, medians: all, the layer, forward, backward, between layers."""
    columns = [
        [statistics.median(values) for values in zip(*rows, strict=True)]
        for rows in (
            [step.forward_ns for step in measured.steps],
            [step.backward_ns for step in measured.steps],
            [[*map(sum, zip(s.before_ns, s.behind_ns, strict=True))] for s in measured.steps],
        )
    ]
    for layer, *times in zip(measured.structure.layers, *columns, strict=True):
        yield sum(times), layer, times[0], times[1], times[2]


def summary(measured: Measured) -> Iterator[str]:
    """Totals of a measurement, line by line."""
    layers = measured.structure.layers
    tensors = measured.structure.tensors
    size_bytes = sum(tensor.size_bytes for tensor in tensors)
    times = [record.step_ns / _MS for record in measured.records]
    yield (
        f"model       {len(layers)} layers, {len(tensors)} tensors,"
        f" {size_bytes / _MIB:.2f} MiB each way"
    )
    yield (
        f"step        {_ms(measured, lambda s: s.step_ns)} (median of {len(times)};"
        f" {min(times):.3f} to {max(times):.3f} ms, standard deviation"
        f" {statistics.pstdev(times) / statistics.fmean(times):.1%})"
    )
    forward = _share(measured, lambda s: s.forward_other_ns, lambda s: s.forward_total_ns)
    backward = _share(measured, lambda s: sum(s.behind_ns), lambda s: s.backward_total_ns)
    yield (
        f"forward     {_ms(measured, lambda s: s.forward_total_ns)},"
        f" {forward:.1%} of it in no layer"
    )
    yield f"loss        {_ms(measured, lambda s: s.loss_ns)}"
    yield (
        f"backward    {_ms(measured, lambda s: s.backward_total_ns)},"
        f" {backward:.1%} of it in no layer"
    )
    yield f"optimizer   {_ms(measured, lambda s: s.optimizer_ns)}"
    yield (
        f"watching    steps that were not watched took {measured.plain_step_ns / _MS:.3f} ms"
        f" (median of {len(measured.plain_ns)}): watched ones"
        f" {measured.step_ns / measured.plain_step_ns - 1:+.1%}"
    )
    early, late = readiness(measured)
    yield (
        f"gradients   ready from {early:.2%} of a step before the end of their operation to"
        f" {late:.2%} after; the profile has them at its end"
    )


def readiness(measured: Measured) -> tuple[float, float]:
    """Largest lead and lag of gradients against their operations' ends, as shares of a step."""
    offsets: dict[str, list[float]] = {}
    for record in measured.records:
        for name, end_ns in _ends(measured.structure, record).items():
            if name in record.ready_ns:
                offset = (record.ready_ns[name] - end_ns) / record.step_ns
                offsets.setdefault(name, []).append(offset)
    medians = [statistics.median(found) for found in offsets.values()] or [0.0]
    return max(0.0, -min(medians)), max(0.0, *medians)


def _ends(structure: Structure, record: StepRecord) -> dict[str, int]:
    """Per tensor, when the operation ended in which the profile has its gradient."""
    spans = sorted(record.backward, key=lambda span: span.start_ns)
    starts = [*(span.start_ns for span in spans), record.backward_end_ns]
    last = {span.layer: number for number, span in enumerate(spans)}
    found = {tensor.name: starts[0] for tensor in structure.tensors_behind}
    for i, layer in enumerate(structure.layers):
        if i in last:
            found |= {tensor.name: spans[last[i]].end_ns for tensor in layer.tensors}
            found |= {tensor.name: starts[last[i] + 1] for tensor in layer.tensors_before}
    return found


def warnings(measured: Measured) -> Iterator[str]:
    """Remarks and warnings on the reliability of the figures, line by line."""
    yield from (f"note: {remark}" for remark in measured.structure.remarks)
    off = measured.step_ns / measured.plain_step_ns - 1
    if abs(off) > SUSPICIOUS:
        yield (
            f"warning: watched steps differ from others by {off:+.0%}: the layers are too short to"
            " be watched, or the machine was busy; take a larger batch or more steps"
        )
    times = [record.step_ns for record in measured.records]
    if len(times) > 1 and statistics.pstdev(times) > SUSPICIOUS * statistics.fmean(times):
        yield (
            f"warning: steps vary by {statistics.pstdev(times) / statistics.fmean(times):.0%}:"
            " the machine may have been busy, or warmed up for too short"
        )


def _median(measured: Measured, of: Callable[[Attributed], int]) -> float:
    return statistics.median(of(step) for step in measured.steps)


def _ms(measured: Measured, of: Callable[[Attributed], int]) -> str:
    return f"{_median(measured, of) / _MS:.3f} ms"


def _share(
    measured: Measured, part: Callable[[Attributed], int], whole: Callable[[Attributed], int]
) -> float:
    return statistics.median(part(step) / max(1, whole(step)) for step in measured.steps)
