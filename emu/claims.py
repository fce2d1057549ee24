"""What every model claims of many cells, the processors side by side.

It is done when nothing is measured any more: a processor that predicts is missing to a burst.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from emu.delivered import with_delivered
from emu.known import KnownCell
from emu.predictions import predict_cell
from netcosim.trace import StreamRow

_WORTH_BYTES: Final = 100_000_000
"""For fewer, more processes take longer to begin than they save: one predicts so much in 2 s."""


def claims_of(known: KnownCell) -> list[StreamRow]:
    """Wire ends and delivered ends of a cell, by every model and at every level."""
    first = frozenset(round_.connections[0].bursts[0].burst for round_ in known.rounds)
    return with_delivered(predict_cell(known), known.overhead, first)


def all_claims(cells: Sequence[KnownCell]) -> Iterator[list[StreamRow]]:
    """Yield the claims of each cell, in their order; the same whoever computes them."""
    processes = min(os.cpu_count() or 1, len(cells))
    if processes < 2 or _sent_bytes(cells) < _WORTH_BYTES:
        yield from map(claims_of, cells)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _leave_ctrl_c)
    try:
        asked = [pool.submit(claims_of, known) for known in cells]
        for each, known in zip(asked, cells, strict=True):
            yield _answer(each, known)
    finally:
        pool.shutdown(cancel_futures=True)


def _answer(asked: Future[list[StreamRow]], known: KnownCell) -> list[StreamRow]:
    """The answer of a process; own work where somebody killed it."""
    try:
        return asked.result()
    except BrokenProcessPool:
        return claims_of(known)


def _leave_ctrl_c() -> None:
    """It is for the process that asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _sent_bytes(cells: Iterable[KnownCell]) -> int:
    return sum(
        message.size_bytes
        for known in cells
        for round_ in known.rounds
        for connection in round_.connections
        for burst in connection.bursts
        for message in burst.messages
    )
