"""A kernel with netem on a machine whose own has none: one that is booted for the test.

Its root is the machine's own, read-only, so that it runs this checkout with this Python. It has
one processor, no network but what it makes itself, and lives inside private namespaces: its
processes end with the test that wants it. There are two kinds, and the first that can run here
is taken: user-mode Linux starts faster and runs at nearly the processor's own speed.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from emu.isolation import isolate
from tests import inside
from tests.emu.netem import emulated, usermode

# What a network takes, and what it takes for delay, jitter and loss. bridge stands on ipv6;
# modprobe knows.
SHAPING = ("ipv6", "bridge", "veth", "sch_htb", "cls_u32")
NETEM = ("sch_netem",)

Json = dict[str, Any]


class Kind(Protocol):
    """Interface of `usermode` and `emulated`."""

    def missing(self, cpuinfo: str) -> str | None:
        """Reason not to boot on the processor of this ``/proc/cpuinfo``; None if it can."""

    def command(self, folder: Path) -> list[str]:
        """Boot it with the machine's root, to work off the orders in `folder`."""


KINDS: dict[str, Kind] = {"user-mode Linux": usermode, "qemu": emulated}


def missing(cpuinfo: str | None = None) -> str | None:
    """Reason why no guest can be booted, and what installs one; None if one can."""
    found = reasons(cpuinfo)
    if None in found.values():
        return None
    said = "; ".join(f"{name}: {reason}" for name, reason in found.items())
    return (
        "this kernel lacks netem (sch_netem), and there is no kernel to boot that has it, "
        f"which ./dev test installs ({said})"
    )


def reasons(cpuinfo: str | None = None) -> dict[str, str | None]:
    """Reason why each kind can't be booted, or None; on this machine's processor by default."""
    text = Path("/proc/cpuinfo").read_text() if cpuinfo is None else cpuinfo
    return {name: kind.missing(text) for name, kind in KINDS.items()}


def chosen(found: Mapping[str, str | None]) -> str:
    """Name the first kind that has no reason against it."""
    return next(name for name, reason in found.items() if reason is None)


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
        "tests.emu.netem.guest:boot",
        orders=list(orders),
        limit_s=timeout_s,
        timeout_s=timeout_s + 10,
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
    kind = chosen(reasons())
    with (folder / "console").open("wb") as console:
        try:
            code = subprocess.run(
                KINDS[kind].command(folder),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)},
                check=False,
                timeout=limit_s,
            ).returncode
            end = f"{kind} ended with {code}"
        except subprocess.TimeoutExpired:
            end = f"{kind} stopped after {limit_s:g} s"
    results = folder / "results.json"
    return {
        "end": end,
        "console": (folder / "console").read_text(errors="replace"),
        "results": json.loads(results.read_text()) if results.exists() else [],
    }
