"""Loading of the profile that a workload names."""

from functools import lru_cache
from pathlib import Path

from netcosim.errors import ScenarioError
from netcosim.scenario.model import WorkloadSpec
from netcosim.user_files import state_of
from netcosim.workload import Profile
from netcosim.workload.catalogue import load_profile
from netcosim.workload.importers import UnknownBatchError
from netcosim.workload.lint import check
from netcosim.workload.profile_import import import_profile
from netcosim.workload.scaled import UnscalableError, scaled


def load_workload(workload: WorkloadSpec, batch: int | None = None) -> Profile:
    """The profile of a workload, from the catalogue or from a file of any format that is known.

    Parameters
    ----------
    workload : one with a profile
    batch : examples of a step, for a file that does not tell; one that tells is read as it is, and
        its durations can be scaled

    Raises
    ------
    ScenarioError
        The workload has none, there is none of this name, or the linter finds an error in it.
    """
    where = f"workload[{workload.name}]"
    if workload.profile is None:
        raise ScenarioError(
            f"{where}: is a burst; to train, give it a 'profile' instead of 'set' or 'tensors'"
        )
    try:
        return scaled(_recorded(workload, batch, where), workload.total, workload.computation)
    except UnscalableError as problem:
        raise ScenarioError(f"{where}.{problem}") from None


def _recorded(workload: WorkloadSpec, batch: int | None, where: str) -> Profile:
    assert workload.profile is not None
    if workload.profile_is_file:
        path = Path(workload.profile)
        return _read(path, state_of(path), batch)
    try:
        return load_profile(workload.profile)
    except ScenarioError as problem:
        raise ScenarioError(f"{where}.{problem}") from None


@lru_cache(maxsize=32)
def _read(path: Path, _state: tuple[int | str, ...], batch: int | None) -> Profile:
    """The profile in a file of this state: read once, as simulations keep what it is made into."""
    try:
        profile = import_profile(path)
    except UnknownBatchError:
        if batch is None:
            raise
        profile = import_profile(path, batch=batch)
    check(profile, str(path))
    return profile
