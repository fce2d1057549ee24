"""A Ray of the sweep's own on this machine: started for it, gone with it."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netcosim.errors import EnvironmentRefusedError, StorageError
from netcosim.formatting import one_line
from netcosim.results.storage.directory import Directory
from ray_sweeps.evaluation import Evaluator
from ray_sweeps.runner.executor import Executor
from ray_sweeps.runner.leftovers import PREFIX, adopt_orphans, record, remove_leftovers
from ray_sweeps.runner.own_network import enter_own_network
from ray_sweeps.runner.quiet import unseen_stderr
from ray_sweeps.runner.ray_messages import Say
from ray_sweeps.runner.ray_process import ray_process
from ray_sweeps.runner.watcher import watched

_STORE_BYTES: Final = 150_000_000
"""Shared memory for what tasks are given and give back, beside the files that a sweep ships."""

_LISTENS: Final = (
    "note: this system gives no network of its own: until it ends, Ray listens on this machine's;"
    " who connects needs the secret of this run"
)


@contextmanager
def on_local_ray(
    results: Directory,
    processors: int,
    evaluator: Evaluator,
    say: Say,
    shipped_bytes: int = 0,
) -> Iterator[Executor]:
    """Execute tasks on a Ray on so many processors, started for them; it ends with the context.

    This process gets a network of its own first, where that can be had.

    Parameters
    ----------
    results : gets a record of what is started
    evaluator : of the tasks
    say : told if there is no such network, so that Ray listens on the machine's
    shipped_bytes : of all that is sent to each machine once

    Raises
    ------
    EnvironmentRefusedError
        It does not start.
    """
    with _prepared(results, say) as folder:
        place = LocalRay(str(folder), processors, _STORE_BYTES + 2 * shipped_bytes)
        with ray_process(place, evaluator, say) as executor:
            record(results, folder)
            yield executor


@contextmanager
def local_ray(results: Directory, processors: int, say: Say) -> Iterator[None]:
    """Start a Ray as above, and connect this process to it."""
    with (
        _prepared(results, say) as folder,
        LocalRay(str(folder), processors, _STORE_BYTES).connected(say),
    ):
        record(results, folder)
        yield


@dataclass(frozen=True, slots=True)
class LocalRay:
    """A Ray on this machine, in an empty folder, as a process starts it."""

    folder: str
    processors: int
    store_bytes: int

    @contextmanager
    def connected(self, say: Say) -> Iterator[None]:
        """Start it, connect to it, and end it with the context.

        Raises
        ------
        EnvironmentRefusedError
            It does not start.
        """
        import ray

        try:
            try:
                with unseen_stderr():
                    ray.init(
                        address="local",
                        num_cpus=self.processors,
                        object_store_memory=self.store_bytes,
                        include_dashboard=False,
                        log_to_driver=False,
                        logging_level="error",
                        _temp_dir=str(Path(self.folder, "r")),  # Ray lets all write into its own
                        _node_ip_address="127.0.0.1",
                    )
            except Exception as problem:  # noqa: BLE001 - Ray raises bare ones here
                said = one_line(str(problem)).rstrip(".")
                raise EnvironmentRefusedError(f"Ray does not start: {said}; try --serial") from None
            yield
        finally:
            ray.shutdown()


@contextmanager
def _prepared(results: Directory, say: Say) -> Iterator[Path]:
    """Make this machine ready for a Ray: network, settings, a folder for it that is watched."""
    alone = enter_own_network()
    if not alone:
        say(_LISTENS)
    _settings(alone=alone)
    remove_leftovers(results)
    adopt_orphans()
    with watched(results.path):
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # in a short path: sockets are in it
        try:
            record(results, folder)
            yield folder
        finally:
            remove_leftovers(results)
            with suppress(StorageError):
                record(results, folder)  # what a Ray that broke has left beside: orphans by now
            remove_leftovers(results)
            shutil.rmtree(folder, ignore_errors=True)


def _settings(*, alone: bool) -> None:
    """Settings that Ray reads from the environment, before it is imported."""
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_BACKEND_LOG_LEVEL": "error",
        "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # its lines on tasks begun again; the sweep tells of them
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    if alone:
        os.environ["RAY_AUTH_MODE"] = "disabled"
    else:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
