"""Work on many things, the machine's processors side by side."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield what `work` makes of each item, in their order.

    Processes begin anew, so the work, the items and the results must be picklable. What a process
    does not answer because somebody killed it is done here.
    """
    processes = min(os.cpu_count() or 1, len(items))
    if processes < 2:
        yield from map(work, items)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _leave_ctrl_c)
    try:
        asked = [pool.submit(work, item) for item in items]
        for each, item in zip(asked, items, strict=True):
            try:
                result = each.result()
            except BrokenProcessPool:
                result = work(item)
            yield result
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_ctrl_c() -> None:
    """It is for the process that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
