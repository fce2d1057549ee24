"""Text of a cross-check for people, in the terminal and on the page."""

from netcosim.formatting import percent
from ray_sweeps.crosscheck.record import Beside, Crosscheck


def headline(found: Crosscheck) -> str:
    """The result in a sentence or two."""
    measured = sum(len(cell.bursts) for cell in found.cells)
    cells = counted(len(found.cells), "cell")
    if found.errors is None:
        return f"None of {counted(measured, 'measured burst')} of {cells} could be compared."
    errors = found.errors
    return (
        f"{found.compared_bursts} of {counted(measured, 'measured burst')} of {cells} were"
        f" compared, {counted(found.compared_streams, 'stream')}: their simulated ends are off by"
        f" {percent(errors.time.mean)} of the burst's length on average"
        f" (median {percent(errors.time.median)}, p95 {percent(errors.time.p95)},"
        f" max {percent(errors.time.max)}), the bursts' last ends by {percent(errors.end.mean)};"
        f" {errors.orders_equal} bursts came in exactly the simulated order."
    )


def beside_text(found: Beside) -> str:
    """The simulator beside the emulator's stored scores, in a sentence."""
    return (
        f"In the median of {counted(found.cells, 'cell')} with a stored score streams are off by"
        f" {percent(found.time)} in time and {percent(found.order)} in order; the emulator's own"
        f" models, which know buffers and credit, too, by {percent(found.stored_time)} and"
        f" {percent(found.stored_order)}."
    )


def signed_percent(fraction: float) -> str:
    """A fraction as per cent with its sign: ``+0.12 %``, ``-3.4 %``."""
    text = percent(abs(fraction))
    if fraction == 0 or text.startswith("<"):
        return text
    return f"{'+' if fraction > 0 else '-'}{text}"


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
