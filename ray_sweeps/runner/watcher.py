"""``python -m ray_sweeps.runner.watcher FOLDER``: outlives a driver that is killed, and cleans up.

It waits for the end of its standard input, which the driver holds open and the kernel closes
whatever happens to the driver. Then it removes what the record in the sweep's folder names.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netcosim.results.storage.directory import Directory
from ray_sweeps.runner.leftovers import remove_leftovers
from ray_sweeps.runner.own_module import started_module


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Have a process watch over this one; it ends with the context, or after this one."""
    watcher = started_module(
        "ray_sweeps.runner.watcher", str(folder.absolute()), stdin=subprocess.PIPE
    )
    try:
        yield
    finally:
        watcher.communicate()


def main(folder: Path) -> None:
    """Wait for the end of standard input, then remove what is left."""
    with Directory.open(folder) as results:
        sys.stdin.buffer.read()
        remove_leftovers(results)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
