"""Cross-check of folders that are runs of training jobs."""

from collections.abc import Sequence
from pathlib import Path

from netcosim.cli import output
from netcosim.errors import InterruptedRunError, NetcosimError, StorageError
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.directory import Directory
from ray_sweeps.crosscheck.training.check import Checked, check_run
from ray_sweeps.crosscheck.training.output import print_check, write_check
from ray_sweeps.crosscheck.training.record import TrainingCrosscheck
from ray_sweeps.crosscheck.wording import counted
from sim.kernels.compiled import engine_hash


def are_training(folders: Sequence[Path]) -> bool:
    """True if these are runs of training jobs, False if none is; what can't be read is either.

    Raises
    ------
    StorageError
        Some are, some are not.
    """
    kinds = [_is_training(folder) for folder in folders]
    if True in kinds and False in kinds:
        other = folders[kinds.index(False)]
        raise StorageError(f"{other}: is no run of a training job; others are: one kind at a time")
    return True in kinds


def _is_training(folder: Path) -> bool | None:
    """True for a folder of a training job; None where that can't be read."""
    try:
        with ResultsFolder.open(folder) as results:
            return results.world() == "job"
    except NetcosimError:
        return None


def check_training(
    folders: Sequence[Path], out: Directory, lines: list[str], *, page: bool
) -> Path | None:
    """Check runs, print what was found, write it; the page's path.

    Raises
    ------
    StorageError
        No run could be checked; the first one's reason.
    InterruptedRunError
        Runs that were checked by then are written, without a page.
    """
    checked: list[Checked] = []
    first: NetcosimError | None = None
    interrupted = False
    different = {folder.resolve(): folder for folder in reversed(folders)}
    for folder in reversed(different.values()):
        try:
            checked += check_run(folder, lines)
        except NetcosimError as problem:
            first = first or problem
            lines.append(str(problem))
        except KeyboardInterrupt:
            interrupted = True
            break
    if not checked:
        if interrupted:
            raise KeyboardInterrupt
        if first is not None:
            lines.remove(str(first))
        raise first or StorageError("nothing to compare")
    found = TrainingCrosscheck(
        engine=engine_hash(),
        lines=tuple(lines),
        cells=tuple(each.check for each in checked),
    )
    if interrupted:
        write_check(out, found, checked, page=False)
        done = counted(len(checked), "cell")
        raise InterruptedRunError(f"interrupted; what was done ({done}) is in {out.path}")
    print_check(found, output(highlight=False))
    return write_check(out, found, checked, page=page)
