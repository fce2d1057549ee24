"""Run a test's function inside fresh private namespaces, as a run is.

    from tests.inside import inside
    result = inside("tests.emu.network.cases:walk", topology="star")

The function gets the keyword arguments and returns plain values; both travel as JSON. It runs
as root in a process of its own, so namespaces, interfaces and whatever it forgets go with it.
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from emu.isolation import isolate

ROOT = Path(__file__).resolve().parent.parent


def command(target: str, **arguments: Any) -> list[str]:
    """Return the command that calls ``module:function`` in namespaces and prints its result."""
    return [sys.executable, "-W", "error", "-m", "tests.inside", target, json.dumps(arguments)]


def inside(target: str, *, timeout_s: float = 240, **arguments: Any) -> Any:
    """Call ``module:function`` in namespaces; its result, or AssertionError with what it said."""
    done = subprocess.run(
        ["setpriv", "--pdeathsig", "KILL", *command(target, **arguments)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, f"{target} ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    isolate.ensure_isolated([sys.executable, "-W", "error", "-m", "tests.inside", *sys.argv[1:]])
    module, _, name = sys.argv[1].partition(":")
    result = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
