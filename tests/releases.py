"""The gRPC releases that this machine can have: built once, kept in the checkout."""

import functools
import subprocess
import sys
from pathlib import Path

from emu.endpoints.releases import folder, not_ready

ROOT = Path(__file__).resolve().parents[1]
OLD = ("1.59.5", "1.39.0", "1.17.0")


@functools.cache
def provided() -> dict[str, str | None]:
    """Each release that a scenario of the tests names, and why it can't be had here, if so.

    Nothing but a missing interpreter may stand in the way.
    """
    tool = ROOT / "tools" / "grpc_releases.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--quiet"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    for release in OLD:
        note = folder() / f"{release}.not-ready"
        if not_ready(release) is not None:
            assert note.read_text().startswith("no Python 3.")
    return {release: not_ready(release) for release in OLD}
