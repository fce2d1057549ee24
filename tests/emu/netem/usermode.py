"""User-mode Linux as the guest: Debian's, a kernel that runs as an ordinary process."""

import shlex
import shutil
from pathlib import Path

from tests.emu.netem import init, processor

PACKAGE = "user-mode-linux"
KERNEL = "linux.uml"
MODULES = Path("/usr/lib/uml/modules")
MEMORY_MIB = 768


def missing(cpuinfo: str) -> str | None:
    """Reason why it can't be booted on the processor of this ``/proc/cpuinfo``; None if it can."""
    # Its kernels (6.1, 6.12) hand registers over in a buffer of fixed size, smaller than what
    # ptrace wants where AMX's tiles are among them: "ptrace set fp regs failed, errno = 14".
    if "amx_tile" in processor.flags(cpuinfo):
        return "it can't save the registers of a processor with AMX"
    if shutil.which(KERNEL) is None or not MODULES.is_dir():
        return f"the package {PACKAGE} is not installed (Debian has it)"
    return None


def command(folder: Path) -> list[str]:
    """Boot it with the machine's root, to work off the orders in `folder`."""
    # The kernel's command line is split at blanks: a file carries what may have some.
    start = folder / "init"
    first = init.command(MODULES, kind="hostfs", source="hostfs", data=str(folder))
    start.write_text(f"#!/bin/sh\nexec {shlex.join(first)}\n")
    start.chmod(0o755)
    return [
        KERNEL,
        f"mem={MEMORY_MIB}M",
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={start}"),
        *("con=null", "con0=null,fd:1", "ssl=null", f"uml_dir={folder}", "quiet"),
    ]
