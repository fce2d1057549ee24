"""A Ray cluster that somebody has started: joined, its machines looked at, and left as it was."""

import os
import platform
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import netcosim
from netcosim.errors import EnvironmentRefusedError
from netcosim.formatting import one_line
from ray_sweeps.evaluation import Evaluator
from ray_sweeps.keys import engine
from ray_sweeps.runner import probe
from ray_sweeps.runner.address import check_address
from ray_sweeps.runner.executor import Executor
from ray_sweeps.runner.ray_messages import Say
from ray_sweeps.runner.ray_process import ray_process

_CONNECT_S: Final = 5.0
_PROBE_S: Final = 120.0
_LOST_S: Final = 60.0
_PACKAGES: Final = ("netcosim", "h2model", "topo", "sim", "ray_sweeps")


@contextmanager
def on_cluster(
    address: str, evaluator: Evaluator, say: Say, *, ship_code: bool = False
) -> Iterator[Executor]:
    """Execute tasks on a cluster; it is left with the context.

    Parameters
    ----------
    address : HOST:PORT of its head, or auto for one that this machine is of
    evaluator : of the tasks
    say : told of its machines
    ship_code : send this project's sources to the machines, which need only its libraries

    Raises
    ------
    ScenarioError
        This is no address.
    EnvironmentRefusedError
        Nobody answers there, or a machine has another release of the project or of Python.
    """
    _check_listens(address)
    with ray_process(JoinedCluster(address, ship_code), evaluator, say, address) as executor:
        yield executor


@dataclass(frozen=True, slots=True)
class JoinedCluster:
    """A cluster as a process joins it; parameters as above."""

    address: str
    ship_code: bool

    @contextmanager
    def connected(self, say: Say) -> Iterator[None]:
        """Join it, look at its machines; leave it with the context.

        Raises
        ------
        EnvironmentRefusedError
            It can't be joined, or a machine is not as this one.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
        import ray

        try:
            ray.init(
                address=self.address,
                runtime_env=_runtime_environment() if self.ship_code else None,
                log_to_driver=False,
                logging_level="error",
            )
        except Exception as problem:  # noqa: BLE001 - Ray raises bare ones here
            said = one_line(str(problem)).rstrip(".")
            raise EnvironmentRefusedError(
                f"--address {self.address}: can't be joined: {said}{_advice(said)}"
            ) from None
        try:
            _check_nodes(say)
            yield
        finally:
            ray.shutdown()


def _check_listens(address: str) -> None:
    """Refuse an address at which nobody listens, without waiting for Ray to."""
    if (place := check_address(address)) is None:
        return
    try:
        socket.create_connection(place, _CONNECT_S).close()
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise EnvironmentRefusedError(
            f"--address {address}: nobody answers there: {reason}; start a head with"
            " ray start --head"
        ) from None


def _advice(said: str) -> str:
    """Advice where Ray says no more than that it can't connect."""
    if "Failed to connect" not in said:
        return ""
    return (
        ": a sweep is started on a machine of the cluster, with the cluster's secret"
        " (RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=FILE)"
    )


def _runtime_environment() -> dict[str, Any]:
    """The project's sources, as Ray sends them to each machine."""
    root = Path(__file__).parents[2]
    others = [p.name for p in root.iterdir() if p.name not in _PACKAGES]
    return {"working_dir": str(root), "excludes": [f"/{name}" for name in others]}


def _check_nodes(say: Say) -> None:
    """Ask each machine for its versions.

    Raises
    ------
    EnvironmentRefusedError
        One does not answer, or has others than this machine.
    """
    import ray
    from ray import cloudpickle
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    cloudpickle.register_pickle_by_value(probe)
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    asked = [
        ray.remote(num_cpus=0)(probe.probe)
        .options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False))
        .remote()
        for node in nodes
    ]
    there = [node for node, answer in zip(nodes, asked, strict=True) if _answers(node, answer)]
    count = sum(int(node["Resources"]["CPU"]) for node in there)
    say(f"cluster of {len(there)} machine(s), {count} processors")


def _answers(node: dict[str, Any], answer: Any) -> bool:
    """Wait for a machine's answer and check it; False if the machine is lost meanwhile.

    Ray holds a machine that was lost for alive until it has not heard of it for some seconds.
    """
    import ray

    where = node["NodeManagerAddress"]
    try:
        _check_node(where, ray.get(answer, timeout=_PROBE_S))
    except ray.exceptions.RayError as problem:
        deadline_s = time.monotonic() + _LOST_S
        while time.monotonic() < deadline_s:
            if not any(n["Alive"] for n in ray.nodes() if n["NodeID"] == node["NodeID"]):
                return False
            time.sleep(0.5)
        said = one_line(str(problem))[:300]
        raise EnvironmentRefusedError(f"node {where}: does not answer: {said}") from None
    return True


def _check_node(where: str, found: dict[str, Any]) -> None:
    if found["python"] != platform.python_version():
        raise EnvironmentRefusedError(
            f"node {where}: has Python {found['python']}, this machine"
            f" {platform.python_version()}: take the same"
        )
    if "missing" in found:
        raise EnvironmentRefusedError(
            f"node {where}: netcosim can't be used there: {one_line(found['missing'])}:"
            f" {probe.AS_HERE}"
        )
    if found["engine"] != engine():
        raise EnvironmentRefusedError(
            f"node {where}: has netcosim {found['version']} with engine {found['engine']}, this"
            f" machine {netcosim.__version__} with {engine()}: {probe.AS_HERE}"
        )
