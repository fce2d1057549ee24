"""Records of cells that are kept in the repository, to be read and predicted again without root.

Of one worker's record and of the run it has what the simulator and the cross-check read: no
pictures, no pages, nothing of the machine.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.common.record import RESULTS
from netcosim.results.folder import OPERATIONS, SCENARIO, SEAL, STEPS, SUMMARY
from netcosim.results.storage.directory import storage_errors
from netcosim.results.training.seal import SealedPoint, load_seal
from sim.compiling import compile_missing
from sim.compiling.builds import Listener
from sim.sealing.predict import kernels_needed, predict
from sim.sealing.record import read_record

RECORDS: Final = RESULTS / "crosscheck"
"""A cell's in one folder: `record`, and `run` with its seal."""

RECORD, RUN = "record", "run"
_FILES: Final = (SCENARIO, SUMMARY, OPERATIONS, STEPS, SEAL)


def keep_record(folder: Path, kept: Path) -> None:
    """Keep what is needed of a cell's results; what was kept of it before is replaced.

    Raises
    ------
    StorageError
        It can't be written.
    """
    new = kept.with_name(f".{kept.name}")
    with storage_errors(kept, "can't be written"):
        shutil.rmtree(new, ignore_errors=True)
        for part in (RECORD, RUN):
            shutil.copytree(folder / part / "jobs", new / part / "jobs")
            for name in _FILES:
                if (folder / part / name).exists():
                    shutil.copyfile(folder / part / name, new / part / name)
        shutil.rmtree(kept, ignore_errors=True)
        new.rename(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A cell that was predicted again from its kept record.

    Attributes
    ----------
    equal : all figures are those that were sealed, to the last digit
    farthest : the largest difference of a throughput, over the sealed one; others may differ more
    """

    cell: str
    equal: bool
    farthest: float


def replay(folders: Sequence[Path], listener: Listener) -> list[Replayed]:
    """Predict again what was sealed, from kept records.

    Raises
    ------
    StorageError
        A folder can't be read, or its seal was changed.
    """
    records = {folder: read_record(folder / RECORD) for folder in folders}
    compile_missing(
        [k for record in records.values() for _, a in record.cells for k in kernels_needed(a)],
        listener,
    )
    found = []
    for folder, record in records.items():
        path = folder / RUN / SEAL
        ((_, assumed),) = record.cells
        with storage_errors(path, "can't be read"):
            data = path.read_bytes()
        (sealed,) = load_seal(data, path).cells
        again = [predict(assumed, point.workers) for point in sealed.points]
        pairs = list(zip(sealed.points, again, strict=True))
        found.append(
            Replayed(
                cell=folder.name,
                equal=all(one == other for one, other in pairs),
                farthest=max(_difference(one, other) for one, other in pairs),
            )
        )
    return found


def _difference(sealed: SealedPoint, again: SealedPoint) -> float:
    return abs(again.examples_per_s / sealed.examples_per_s - 1)
