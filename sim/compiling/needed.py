"""Kernels that the runs of a cell need."""

from collections.abc import Iterator, Sequence

from sim.compiling.kernel import Kernel
from sim.experiment.cell import TrainingCell
from sim.experiment.one_step_more import steps_more
from sim.experiment.run import conditions_of
from sim.fast.shape import asks_discipline


def kernels_of(
    cell: TrainingCell,
    workers: Sequence[int],
    *,
    traced: bool,
    recommending: bool = False,
    compared: bool = True,
) -> tuple[Kernel, ...]:
    """Kernels of a cell's runs with these numbers of workers, in the order of their first use.

    The cell's first plan is made for it, and where a recommendation is asked for, those of the
    cells with one step more. Of many numbers of workers the first and the last stand for all. A
    trace is made by the generic engine. Unless they are compared, one worker without stragglers is
    not simulated.
    """
    found = list(_kernels_of(cell, workers, traced=traced, compared=compared))
    most = workers[-1]
    for more in steps_more(cell, most) if recommending else ():
        found += _kernels_of(more.cell, (most,), traced=False, compared=False)
    return tuple(dict.fromkeys(found))


def _kernels_of(
    cell: TrainingCell, workers: Sequence[int], *, traced: bool, compared: bool
) -> Iterator[Kernel]:
    sending = cell.sending
    share, extended = cell.network(1).share, cell.needs_extended
    generic = Kernel(sending.discipline, share, extended, sending.schedule)
    fast = Kernel(sending.discipline if asks_discipline(sending) else None)
    if compared:
        yield generic if cell.why_generic(1) else fast  # of one worker without stragglers
        if cell.plans(0).plan.servers == 1:
            yield generic  # of its phases
    for count in dict.fromkeys((workers[0], workers[-1])):
        why = cell.why_generic(count) or conditions_of(cell, count, 0, 1.0).why_generic
        yield generic if why else fast
    if traced:
        yield generic
