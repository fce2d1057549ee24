"""Kernels that the runs of a cell need."""

from collections.abc import Iterator, Sequence

from sim.compiling.kernel import Kernel
from sim.experiment.cell import TrainingCell
from sim.experiment.run import conditions_of
from sim.fast.shape import asks_discipline


def kernels_of(cell: TrainingCell, workers: Sequence[int], *, traced: bool) -> tuple[Kernel, ...]:
    """Kernels of a cell's runs with these numbers of workers, in the order of their first use.

    The cell's first plan is made for it. Of many numbers of workers the first and the last stand
    for all. A trace is made by the generic engine.
    """
    return tuple(dict.fromkeys(_kernels_of(cell, workers, traced=traced)))


def _kernels_of(cell: TrainingCell, workers: Sequence[int], *, traced: bool) -> Iterator[Kernel]:
    sending = cell.sending
    generic = Kernel(sending.discipline, cell.network(1).share)
    fast = Kernel(sending.discipline if asks_discipline(sending) else None)
    fits = cell.plans(0).shape is not None
    yield fast if fits else generic  # of one worker without stragglers
    for count in dict.fromkeys((workers[0], workers[-1])):
        yield fast if fits and not conditions_of(cell, count, 0, 1.0).why_generic else generic
    if traced:
        yield generic
