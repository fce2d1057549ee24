"""Records of cells that are kept in the repository, to be read and predicted again without root.

Of one worker's record and of the run it has what the simulator and the cross-check read: no
pictures, no pages, nothing of the machine.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.common.record import RESULTS
from netcosim.errors import StorageError
from netcosim.results.folder import OPERATIONS, SCENARIO, SEAL, STEPS, SUMMARY
from netcosim.results.storage.directory import storage_errors
from netcosim.results.training.seal import Seal, load_seal
from ray_sweeps.crosscheck.training.check import check_again
from sim.compiling import compile_missing
from sim.compiling.builds import Listener
from sim.sealing.predict import kernels_needed
from sim.sealing.record import read_record
from sim.sealing.seal import seal_of

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
    same : all figures are those that were sealed, to the last digit
    same_simulator : the simulator's source is that of the seal
    farthest : the largest difference of a throughput, over the sealed one
    """

    cell: str
    same: bool
    same_simulator: bool
    farthest: float


def replay(folders: Sequence[Path], listener: Listener) -> Iterator[Replayed]:
    """Predict again what was sealed, from kept records.

    Raises
    ------
    StorageError
        A folder can't be read, or its seal was changed.
    """
    for folder, again in _predicted_again(folders, listener):
        path = folder / RUN / SEAL
        with storage_errors(path, "can't be read"):
            sealed = load_seal(path.read_bytes(), path)
        changed = sealed.record_sha256.items() ^ again.record_sha256.items()
        if changed:
            name = min(name for name, _ in changed)
            raise StorageError(
                f"{folder}: {name}: is not that of the record that was predicted from"
            )
        pairs = [
            (one, other)
            for before, after in zip(sealed.cells, again.cells, strict=True)
            for one, other in zip(before.points, after.points, strict=True)
        ]
        yield Replayed(
            cell=folder.name,
            same=sealed.cells == again.cells,
            same_simulator=sealed.simulator == again.simulator,
            farthest=max(abs(b.examples_per_s / a.examples_per_s - 1) for a, b in pairs),
        )


def check_with_these_sources(
    folders: Sequence[Path], listener: Listener
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Compare kept runs with predictions by the present sources: the cell's part of the record.

    Such predictions come after the measurement; only cells for development may be read so.

    Raises
    ------
    StorageError
        A folder can't be read.
    """
    for folder, again in _predicted_again(folders, listener):
        (found,) = check_again(folder / RUN, again, [])
        cell = json.loads(found.check.model_dump_json())
        yield folder, cell | {"run": str(folder.relative_to(RESULTS.parent.parent) / RUN)}


def _predicted_again(folders: Sequence[Path], listener: Listener) -> Iterator[tuple[Path, Seal]]:
    records = {folder: read_record(folder / RECORD) for folder in folders}
    compile_missing(
        [k for record in records.values() for _, a in record.cells for k in kernels_needed(a)],
        listener,
    )
    for folder, record in records.items():
        yield folder, seal_of(record)
