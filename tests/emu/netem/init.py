"""The first and only program of the guest: mounts what a run needs, works off its orders, halts.

Runs as PID 1 of a kernel whose root is the machine's own, read-only. Its arguments name the folder
of the kernel's modules, and how to mount a folder of the machine: there it finds ``orders.json``
and leaves ``results.json``. An order loads kernel modules, in this order, and then runs a command.
Standard library only.
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRATCH = Path("/dev/shm")
EXCHANGE = SCRATCH / "exchange"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
POWER_OFF = 0x4321FEDC

libc = ctypes.CDLL(None, use_errno=True)
Json = dict[str, Any]


def command(modules: Path, *, kind: str, source: str, data: str) -> list[str]:
    """Start this as the guest's first program; the last three are mount(2)'s."""
    return [sys.executable, "-I", "-S", __file__, str(modules), kind, source, data]


def main(modules: str, kind: str, source: str, data: str) -> None:
    os.environ.clear()
    os.environ.update(PATH=PATH, HOME="/", LANG="C.UTF-8", TMPDIR=str(SCRATCH))
    try:
        mount_all()
        mount(kind, str(EXCHANGE), source, data)
        choose_modules(modules)
        for order in json.loads((EXCHANGE / "orders.json").read_text()):
            keep(carry_out(order))
    except (OSError, subprocess.SubprocessError) as problem:
        said = (getattr(problem, "stderr", None) or b"").decode(errors="replace").strip()
        print(f"guest: {problem} {said}", flush=True)
    finally:
        os.sync()
        libc.reboot(POWER_OFF)


def mount_all() -> None:
    """Mount process, device and network folders and a scratch."""
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    for kind, place in (("devpts", Path("/dev/pts")), ("tmpfs", SCRATCH)):
        place.mkdir(exist_ok=True)
        mount(kind, str(place))
    EXCHANGE.mkdir()


def choose_modules(modules: str) -> None:
    """Have modprobe look in SCRATCH/lib/modules; the kernel itself loads none."""
    Path("/proc/sys/kernel/modprobe").write_text("\n")
    (SCRATCH / "lib").mkdir()
    (SCRATCH / "lib/modules").symlink_to(modules)


def mount(kind: str, place: str, source: str = "none", data: str = "") -> None:
    # Not mount(8): what it makes of hostfs's folder depends on its version and the kernel's.
    if libc.mount(source.encode(), place.encode(), kind.encode(), 0, data.encode() or None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind}: {os.strerror(number)}", place)


def carry_out(order: Json) -> Json:
    """Load the order's modules and run its command; its exit code and what it said."""
    for module in order["modules"]:
        subprocess.run(["modprobe", "-d", str(SCRATCH), module], check=True, capture_output=True)
    done = subprocess.run(
        order["command"],
        cwd=order["folder"],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return {"code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def keep(result: Json) -> None:
    """Add a result; the file is whole or not there."""
    file, fresh = EXCHANGE / "results.json", EXCHANGE / "results.new"
    results = json.loads(file.read_text()) if file.exists() else []
    fresh.write_text(json.dumps([*results, result]))
    fresh.rename(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
