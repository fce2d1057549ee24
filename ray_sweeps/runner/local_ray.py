"""A Ray of the sweep's own on this machine: started for it, gone with it."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from netcosim.errors import EnvironmentRefusedError
from netcosim.formatting import one_line
from netcosim.results.storage.directory import Directory
from ray_sweeps.runner.leftovers import PREFIX, record, remove_leftovers
from ray_sweeps.runner.own_network import enter_own_network
from ray_sweeps.runner.quiet import unseen_stderr
from ray_sweeps.runner.watcher import watched

_STORE_BYTES: Final = 150_000_000
"""Shared memory for what tasks are given and give back, beside the files that a sweep ships."""

_LISTENS: Final = (
    "note: this system gives no network of its own: until it ends, Ray listens on this machine's;"
    " who connects needs the secret of this run"
)


@contextmanager
def local_ray(
    results: Directory, processors: int, say: Callable[[str], None], shipped_bytes: int = 0
) -> Iterator[None]:
    """Start a Ray on so many processors, connect to it, and end it with the context.

    This process gets a network of its own first, where that can be had.

    Parameters
    ----------
    results : gets a record of what is started
    say : told if there is none, so that Ray listens on the machine's
    shipped_bytes : of all that is sent to each machine once

    Raises
    ------
    EnvironmentRefusedError
        It does not start.
    """
    alone = enter_own_network()
    if not alone:
        say(_LISTENS)
    _settings(alone=alone)
    remove_leftovers(results)
    with watched(results.path):
        with _started(results, processors, _STORE_BYTES + 2 * shipped_bytes):
            yield
        remove_leftovers(results)


@contextmanager
def _started(results: Directory, processors: int, store_bytes: int) -> Iterator[None]:
    """Start Ray in a temporary folder, and record what is started."""
    import ray

    folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # in a short path: sockets are in it
    try:
        record(results, folder)
        try:
            with unseen_stderr():
                ray.init(
                    address="local",
                    num_cpus=processors,
                    object_store_memory=store_bytes,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level="error",
                    _temp_dir=str(folder / "r"),  # Ray lets everybody write into its own
                    _node_ip_address="127.0.0.1",
                )
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as problem:
            said = one_line(str(problem))
            raise EnvironmentRefusedError(f"Ray does not start: {said}; try --serial") from None
        record(results, folder)
        yield
    finally:
        ray.shutdown()
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
