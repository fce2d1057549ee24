"""Keys of points: hashes of what is simulated, however it was spelled, and by which engine."""

import functools
import hashlib
import json
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from h2model import transports
from h2model.parameters import releases
from netcosim.errors import ScenarioError
from netcosim.policies import load_synchronisation
from netcosim.policies.coordinators import resolved_coordination
from netcosim.results.host import hash_files
from netcosim.scenario import Scenario, StragglerSpec, TransportSpec, WorkloadSpec, load_workload
from netcosim.training.stragglers import resolved_options
from netcosim.user_files import PROFILE, SPEED_TRACE, FileKind, read_content, state_of
from netcosim.workload.catalogue import profile_bytes
from sim.experiment.axes import at_each_rate, worker_counts
from sim.experiment.link_share import with_share

KEY_DIGITS: Final = 32

_PACKAGES: Final = ("netcosim", "h2model", "topo", "sim")
_NOT_OF_THE_ENGINE: Final = (
    "netcosim/cli/",
    "netcosim/report/",
    "netcosim/schemas/",
    "netcosim/scoring/",
    "sim/cli/",
    "sim/profiling/",
)
_LIBRARIES: Final = ("numpy", "numba", "llvmlite")


@functools.cache
def engine() -> str:
    """Hash of all that figures rest on beside the scenario: 16 hexadecimal digits.

    That is the simulator's sources, the rules and data that it reads, and the libraries that
    compute. Not the processor: other ones give the same figures within 1e-9.
    """
    root = Path(__file__).parents[1]
    sources = hash_files(root, _PACKAGES, without=_NOT_OF_THE_ENGINE)
    libraries = {name: metadata.version(name) for name in _LIBRARIES}
    return _digest([sources, libraries])[:16]


def key_of(scenario: Scenario) -> str:
    """The key of a point, `KEY_DIGITS` hexadecimal digits; see `content_of`.

    Raises
    ------
    ScenarioError
        A file that it names can't be read, or a straggler's options are wrong.
    """
    return _digest(content_of(scenario))[:KEY_DIGITS]


def spelled_key(base: Scenario, changes: Mapping[str, object]) -> str:
    """The key of a point that is no valid scenario, by its spelling."""
    return _digest([base.model_dump(mode="json"), dict(changes)])[:KEY_DIGITS]


def content_of(scenario: Scenario) -> dict[str, Any]:
    """Content of a point as plain data, the same for every spelling of the point.

    Units are resolved and defaults filled in; a profile and a speed trace stand for their bytes.
    Left out are names, how many runs are made, and what only traces and reports have.

    Parameters
    ----------
    scenario : of one workload, one transport, one rate and one number of workers
    """
    (workers,) = worker_counts(scenario)
    (shared,) = at_each_rate(with_share(scenario)).values()
    data = shared.model_dump(
        mode="json",
        include={"seed", "cluster", "policy", "training"},
        exclude={"training": {"workers", "rates", "batch", "gap", "trace_steps"}},
    )
    training = scenario.training
    lead = load_synchronisation(training.synchronisation)(training.gap)
    data["cluster"]["workers"] = max(scenario.cluster.workers, workers)
    (workload,) = scenario.workload
    (transport,) = scenario.transport
    if scenario.coordination is not None:
        data["coordination"] = resolved_coordination(scenario.coordination)
    return {
        **data,
        "workers": workers,
        "lead": lead,
        "batch": _batch(workload, training.batch),
        "workload": _workload(workload),
        "transport": _transport(transport),
        "straggler": [_straggler(s, workers, i) for i, s in enumerate(scenario.straggler)],
    }


def _workload(workload: WorkloadSpec) -> dict[str, Any]:
    data = workload.model_dump(mode="json", exclude={"name", "profile"})
    if workload.profile is None:
        return data
    if workload.profile_is_file:
        return {**data, "profile": _file(Path(workload.profile), PROFILE)}
    return {**data, "profile": hashlib.sha256(profile_bytes(workload.profile)).hexdigest()}


def _batch(workload: WorkloadSpec, given: int | None) -> int | None:
    """Examples of a step; None of a burst, and where the profile can't be read."""
    if given is not None or workload.profile is None:
        return given
    try:
        return load_workload(workload).batch
    except ScenarioError:
        return None


def _transport(transport: TransportSpec) -> dict[str, Any]:
    data = transport.model_dump(mode="json", exclude={"name"})
    for end in transports.releases_not_named(transport):
        data[end] = releases("grpc")[-1]
    return data


def _straggler(spec: StragglerSpec, workers: int, place: int) -> dict[str, Any]:
    options = resolved_options(spec, f"straggler[{place}]")
    if isinstance(path := options.get("file"), str):
        options["file"] = _file(Path(path), SPEED_TRACE)
    return {"kind": spec.kind, "workers": spec.chosen(workers), "options": options}


def _file(path: Path, kind: FileKind) -> str:
    """SHA-256 of a file; its path, where it can't be read: a run of it says so."""
    try:
        return _hash_of(path, kind, state_of(path))
    except OSError:
        return f"unreadable {path}"


@functools.lru_cache(maxsize=256)
def _hash_of(path: Path, kind: FileKind, _state: tuple[int | str, ...]) -> str:
    return read_content(path, kind).digest


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
