"""The first and only program of the guest: mounts what a run needs, works off its orders, halts.

Runs as PID 1 of a user-mode kernel whose root is the machine's own, read-only. Its argument names
a folder of the machine; there it finds ``orders.json`` and leaves ``results.json``. An order loads
kernel modules, in this order, and then runs a command. Standard library only.
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

MODULES = Path("/usr/lib/uml/modules")
SCRATCH = Path("/dev/shm")
EXCHANGE = SCRATCH / "exchange"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
POWER_OFF = 0x4321FEDC

libc = ctypes.CDLL(None, use_errno=True)
Json = dict[str, Any]


def main(folder: str) -> None:
    os.environ.clear()
    os.environ.update(PATH=PATH, HOME="/", LANG="C.UTF-8", TMPDIR=str(SCRATCH))
    try:
        mount_all(folder)
        for order in json.loads((EXCHANGE / "orders.json").read_text()):
            keep(carry_out(order))
    except (OSError, subprocess.SubprocessError) as problem:
        said = (getattr(problem, "stderr", None) or b"").decode(errors="replace").strip()
        print(f"guest: {problem} {said}", flush=True)
    finally:
        os.sync()
        libc.reboot(POWER_OFF)


def mount_all(folder: str) -> None:
    """Mount process, device and network folders, a scratch and the machine's folder."""
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    for kind, place in (("devpts", Path("/dev/pts")), ("tmpfs", SCRATCH)):
        place.mkdir(exist_ok=True)
        mount(kind, str(place))
    EXCHANGE.mkdir()
    mount("hostfs", str(EXCHANGE), folder)
    # modprobe looks in FOLDER/lib/modules; the kernel itself does not, so that it never loads
    # a module which no order names.
    (SCRATCH / "lib").mkdir()
    (SCRATCH / "lib/modules").symlink_to(MODULES)


def mount(kind: str, place: str, data: str = "") -> None:
    # Not mount(8): what it makes of hostfs's folder depends on its version and the kernel's.
    if libc.mount(kind.encode(), place.encode(), kind.encode(), 0, data.encode() or None) != 0:
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
    main(sys.argv[1])
