"""Records contention for the run's processors while its links are measured."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from emu.isolation import isolate
from emu.pauses.pauses import recording
from emu.pauses.recorder import CONTENTION
from netcosim.spans import Spans

Busy = Callable[[], Spans]
"""Returns the times so far in which some processor had no time for a process."""

_SETTLE_S: Final = 0.002


@contextlib.contextmanager
def watching_contention() -> Iterator[Busy]:
    """Record, within the context, when a process of the run has to wait for a processor.

    Raises
    ------
    CaptureError
        A recorder did not start.
    """
    with (
        tempfile.TemporaryDirectory(dir=isolate.scratch_dir()) as folder,
        recording(Path(folder), CONTENTION) as recorders,
    ):

        def busy() -> Spans:
            time.sleep(_SETTLE_S)
            return recorders.read().anywhere

        yield busy
