"""Functions of these tests that run inside namespaces; they return plain values."""

from pathlib import Path
from typing import Any

from emu.isolation import isolate
from emu.network import commands


def where() -> dict[str, Any]:
    """Process, interfaces and mounts as seen inside the namespaces."""
    scratch = isolate.scratch_dir()
    (scratch / "file").write_text("x")
    shared = Path("/dev/shm")
    (shared / "netcosim-test").write_text("x")
    return {
        "shared memory": sorted(path.name for path in shared.iterdir()),
        "isolated": isolate.is_isolated(),
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "up": commands.run(["ip", "-br", "link", "show", "lo"]).split()[1:],
        "files": sorted(path.name for path in scratch.iterdir()),
        "processes": sum(path.name.isdigit() for path in Path("/proc").iterdir()),
    }
