"""A Ray cluster of three nodes on this machine that loses nodes and processes while a sweep runs.

``python -m bench.sweeps.three_nodes SEED SWEEP.toml FOLDER``: starts the cluster in a network of
its own, and the sweep on it. Once each, at moments drawn from the seed, a node is
removed without grace, a process that makes runs is killed, and the driver is killed and the sweep
resumed. Prints what was lost; returns the last exit code.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ray_sweeps.runner.own_network import enter_own_network

_NODES: Final = 3
_LONGEST_S: Final = 4.0
_POLL_S: Final = 0.2


def main(arguments: Sequence[str]) -> int:
    """Start the cluster, run the sweep on it, lose things; return the sweep's exit code."""
    if not enter_own_network():
        raise SystemExit("three_nodes: no network of its own can be had here")
    os.environ |= {
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_BACKEND_LOG_LEVEL": "error",
    }
    from ray.cluster_utils import Cluster

    seed, sweep, folder = arguments
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False},
    )
    others = [cluster.add_node(num_cpus=1) for _ in range(_NODES - 1)]
    try:
        return _swept(cluster, others, random.Random(int(seed)), sweep, folder)
    finally:
        cluster.shutdown()


def _swept(cluster: Any, others: list[Any], chance: random.Random, sweep: str, folder: str) -> int:
    """Run the sweep to its end, whatever is lost."""
    driver = _driver(cluster, sweep, "--out", folder)
    lost = chance.sample(["node", "process", "driver"], 3)
    while (code := _waited(driver, _POLL_S)) is None:
        if not lost or not any(Path(folder, "runs").glob("*.parquet")):
            continue
        if (code := _waited(driver, chance.uniform(0.0, _LONGEST_S))) is not None:
            break
        what = lost.pop()
        _tell(f"losing a {what}")
        if what == "driver":
            driver.kill()
            driver.wait()
            driver = _driver(cluster, "--resume", folder)
        elif what == "process":
            _kill_one(chance)
        else:
            cluster.remove_node(others.pop(), allow_graceful=False)
            cluster.add_node(num_cpus=1)
    _tell(f"the sweep has ended, {len(lost)} losses before their time")
    return code


def _driver(cluster: Any, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "ray_sweeps.run", *arguments]
    return subprocess.Popen([*command, "--address", cluster.address, "--no-report"])


def _waited(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _kill_one(chance: random.Random) -> None:
    """Kill one of this cluster's processes that execute a task, if one does."""
    found = [
        int(path.name)
        for path in Path("/proc").iterdir()
        if path.name.isdecimal() and _executes(path) and _same_network(path)
    ]
    if found:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(sorted(found)), signal.SIGKILL)


def _executes(process: Path) -> bool:
    """True if Ray has named a process after the task that it executes."""
    try:
        return (process / "cmdline").read_bytes().startswith(b"ray::_")
    except OSError:
        return False


def _same_network(process: Path) -> bool:
    try:
        return (process / "ns/net").readlink() == Path("/proc/self/ns/net").readlink()
    except OSError:
        return False


def _tell(what: str) -> None:
    sys.stderr.write(f"three_nodes: {what}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
