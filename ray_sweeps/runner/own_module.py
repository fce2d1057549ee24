"""Processes of this program's own: modules of this checkout, started apart from terminals.

Ctrl-C is not for it, and what it or its libraries write is seen by nobody.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def started_module(
    module: str, *arguments: str, stdin: int = subprocess.DEVNULL, passed: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a module; it has the descriptors that are passed, by their numbers."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=passed,
        start_new_session=True,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    """Environment of this process, with this checkout where modules are looked for."""
    root = str(Path(__file__).parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
