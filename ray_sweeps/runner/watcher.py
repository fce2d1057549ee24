"""``python -m ray_sweeps.runner.watcher FOLDER``: outlives a driver that is killed, and cleans up.

It waits for the end of its standard input, which the driver holds open and the kernel closes
whatever happens to the driver. Then it removes what the record in the sweep's folder names.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netcosim.results.storage.directory import Directory
from ray_sweeps.runner.leftovers import remove_leftovers


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Have a process watch over this one; it ends with the context, or after this one."""
    watcher = subprocess.Popen(
        [sys.executable, "-P", "-m", "ray_sweeps.runner.watcher", str(folder.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for it
        env=_environment(),
    )
    try:
        yield
    finally:
        watcher.communicate()


def _environment() -> dict[str, str]:
    """Environment of this process, with this checkout where modules are looked for."""
    root = str(Path(__file__).parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def main(folder: Path) -> None:
    """Wait for the end of standard input, then remove what is left."""
    with Directory.open(folder) as results:
        sys.stdin.buffer.read()
        remove_leftovers(results)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
