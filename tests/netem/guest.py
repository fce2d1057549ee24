"""A kernel with netem on a machine whose own has none: Debian's user-mode Linux.

The guest's root is the machine's own over hostfs, read-only, so that it runs this checkout with
this Python. It has one processor, no network but what it makes itself, and lives inside private
namespaces: its processes end with the test that wants it.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emu import isolate
from tests import inside
from tests.netem import init

PACKAGE = "user-mode-linux"
KERNEL = "linux.uml"
# bridge stands on ipv6; modprobe knows.
SHAPING = ("ipv6", "bridge", "veth", "sch_htb", "cls_u32")
NETEM = ("sch_netem",)
MEMORY_MIB = 768

Json = dict[str, Any]


def missing() -> str | None:
    """What to install so that the guest can be booted; None if it can."""
    if shutil.which(KERNEL) is not None and init.MODULES.is_dir():
        return None
    return (
        "this kernel lacks netem (sch_netem), and there is no kernel to boot that has it: "
        f"install the package {PACKAGE} (apt-get install {PACKAGE})"
    )


def order(target: str, *, modules: Sequence[str], **arguments: Any) -> Json:
    """To load modules and call ``module:function`` in namespaces of the guest's own."""
    return {
        "modules": list(modules),
        "command": inside.command(target, **arguments),
        "folder": str(inside.ROOT),
    }


def answers(orders: Sequence[Json], *, timeout_s: float) -> list[Any]:
    """Boot the guest, have it work off the orders, and return what their functions returned."""
    found = inside.inside(
        "tests.netem.guest:boot", orders=list(orders), limit_s=timeout_s, timeout_s=timeout_s + 10
    )
    results = found["results"]
    for each, result in zip(orders, results, strict=False):
        words = " ".join(each["command"][4:])
        assert result["code"] == 0, f"guest: {words}: {result['code']}:\n{result['stderr'][-4000:]}"
    assert len(results) == len(orders), (
        f"guest: {len(results)} of {len(orders)} orders done ({found['end']}):\n"
        f"{found['console'][-4000:]}"
    )
    return [json.loads(result["stdout"].splitlines()[-1]) for result in results]


def boot(orders: list[Json], limit_s: float) -> Json:
    """Boot the guest and wait for its end; call it inside private namespaces."""
    folder = isolate.scratch_dir() / "guest"
    folder.mkdir()
    (folder / "orders.json").write_text(json.dumps(orders))
    # The kernel's command line is split at blanks: a file carries what may have some.
    start = folder / "init"
    words = [sys.executable, "-I", "-S", str(init.__file__), str(folder)]
    start.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
    start.chmod(0o755)
    with (folder / "console").open("wb") as console:
        try:
            code = subprocess.run(
                _command(start, folder),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)},
                check=False,
                timeout=limit_s,
            ).returncode
            end = f"{KERNEL} ended with {code}"
        except subprocess.TimeoutExpired:
            end = f"stopped after {limit_s:g} s"
    results = folder / "results.json"
    return {
        "end": end,
        "console": (folder / "console").read_text(errors="replace"),
        "results": json.loads(results.read_text()) if results.exists() else [],
    }


def _command(start: Path, folder: Path) -> list[str]:
    return [
        KERNEL,
        f"mem={MEMORY_MIB}M",
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={start}"),
        *("con=null", "con0=null,fd:1", "ssl=null", f"uml_dir={folder}", "quiet"),
    ]
