"""Check that this machine can run a plan, before anything is started.

Root tries out what the kernel can do, in a network namespace that lives as long as the check.
Other users read what the kernel says of itself, which is not everything.
"""

import gzip
import os
import zlib
from pathlib import Path
from typing import Final

from emu.guest.kernel import Kernel
from emu.network import openvswitch
from emu.network.commands import missing_packages
from emu.plan import Plan
from netcosim.errors import EnvironmentRefusedError
from topo.spec import NetSpec

_CONFIG: Final = Path("/proc/config.gz")
_LOADED: Final = Path("/sys/module")
_CONGESTION_CONTROLS: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def check_machine(plan: Plan) -> list[str]:
    """Refuse what this machine can't run; return what could not be checked, each with its reason.

    Only root can check all, and only with the packages of the emulation.

    Raises
    ------
    EnvironmentRefusedError
        Names the link or setting, what it needs, and what the kernel said.
    """
    if plan.is_virtual:
        check_for_guests(plan.net)
        return []
    root = os.geteuid() == 0
    lacking = missing_packages() if root else ()
    if root and not lacking:
        from emu.network.kernel import check_kernel  # Mininet's side; only root needs it

        check_kernel(plan.net, plan.scenario.cluster.tcp)
        return []
    needed = f"needs {', '.join(lacking)}" if root else "needs root"
    unknown = [f"tools, namespaces and the shaping of links: {needed}"]
    for feature, needed_by, there in _asked(plan):
        if there is None:
            unknown.append(f"{feature}, for {needed_by}: {needed}")
        elif not there:
            raise EnvironmentRefusedError(f"{needed_by} needs {feature}, which this kernel lacks")
    return unknown


def check_for_guests(net: NetSpec) -> None:
    """Refuse a run in virtual time for which this machine lacks the kernel or a program.

    Raises
    ------
    EnvironmentRefusedError
        Names what is missing.
    """
    Kernel.find()
    if openvswitch.is_wanted(net):
        openvswitch.check_tools()


def _asked(plan: Plan) -> list[tuple[str, str, bool | None]]:
    """Kernel features that the plan needs, with purpose and presence; None: not known."""
    slow = [link for link in plan.net.links if link.link.needs_netem]
    control = plan.scenario.cluster.tcp.congestion_control
    asked = [
        (
            f"congestion control {control}",
            "cluster.tcp.congestion_control",
            control in _CONGESTION_CONTROLS.read_text(encoding="ascii").split()
            or has_module(f"tcp_{control}", f"CONFIG_TCP_CONG_{control.upper()}"),
        )
    ]
    if slow:
        netem = has_module("sch_netem", "CONFIG_NET_SCH_NETEM")
        asked.append(("netem", f"link {slow[0].name} (delay, jitter or loss)", netem))
    return asked


def has_module(name: str, option: str, modules: Path | None = None) -> bool | None:
    """True if the kernel has a feature, built in or as a module that root could load.

    Parameters
    ----------
    name, option
        Name of the module, and its option in the kernel's configuration.
    modules
        The folder of this kernel's modules.

    Returns
    -------
    bool or None
        None if neither the list of modules nor the configuration can be read.
    """
    if (_LOADED / name).exists():
        return True
    folder = modules or Path("/lib/modules", os.uname().release)
    listed = [folder / "modules.builtin", folder / "modules.dep"]
    texts = [path.read_text(encoding="utf-8") for path in listed if path.is_file()]
    if texts:
        return any(f"/{name}.ko" in text for text in texts)
    try:
        config = gzip.decompress(_CONFIG.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):  # absent, or damaged
        return None
    return any(f"{option}={value}" in config.splitlines() for value in "ym")
