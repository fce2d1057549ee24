"""Private Open vSwitch of a run: database and daemon in its namespaces and scratch folder.

The host's daemon, if there is one, is in another network namespace and could not see our
interfaces; and its database is not ours to write to.
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emu.network import commands
from netcosim.errors import EnvironmentRefusedError, NetworkError
from topo.spec import NetSpec

_TOOLS: Final = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl")
_START_TIMEOUT_S: Final = 60.0
_TEMPORARY: Final = "/tmp"  # noqa: S108 - where tmpfile(3) goes, whatever TMPDIR says
_COUNTED_S: Final = 10.1


def is_wanted(spec: NetSpec) -> bool:
    """True if a switch of the plan is an Open vSwitch."""
    return any(switch.kind == "openvswitch" for switch in spec.switches)


def check_tools() -> None:
    """Refuse if Open vSwitch is not installed.

    Raises
    ------
    EnvironmentRefusedError
        Names what is missing.
    """
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            raise EnvironmentRefusedError(
                f"{tool} is missing: install the package openvswitch-switch"
            )


@contextlib.contextmanager
def daemons(folder: Path, bridges: tuple[str, ...]) -> Iterator[None]:
    """Run a database and a switch daemon; what calls ``ovs-vsctl`` meanwhile reaches these.

    Parameters
    ----------
    folder
        Where database and sockets go; made anew.
    bridges
        What to remove from the kernel at the end.

    Raises
    ------
    NetworkError
        A daemon did not start.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    before = {name: os.environ.get(name) for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR")}
    os.environ.update(dict.fromkeys(before, str(folder)))
    started: list[subprocess.Popen[bytes]] = []
    try:
        commands.run(["ovsdb-tool", "create", str(folder / "conf.db")])
        socket = folder / "db.sock"
        started.append(
            _start(folder, "ovsdb-server", str(folder / "conf.db"), f"--remote=punix:{socket}")
        )
        _wait_for(socket, started[0], folder)
        commands.run(["ovs-vsctl", "--no-wait", "init"])
        _wait_until_counted()
        started.append(_start(folder, "ovs-vswitchd", f"unix:{socket}"))
        try:
            yield
        finally:
            for bridge in bridges:
                with contextlib.suppress(NetworkError):
                    commands.run(["ovs-vsctl", "--timeout=5", "--if-exists", "del-br", bridge])
    finally:
        for daemon in reversed(started):
            daemon.kill()
            daemon.wait()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start(folder: Path, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [program, *arguments, f"--unixctl={folder / program}.ctl"]
    with (folder / f"{program}.log").open("wb") as log:
        return subprocess.Popen(
            command if os.access(_TEMPORARY, os.W_OK) else _with_temporary(folder, command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _with_temporary(folder: Path, command: list[str]) -> list[str]:
    """The command, with a folder of ours for temporary files: a guest's is read-only."""
    ours = folder / "temporary"
    ours.mkdir(exist_ok=True)
    script = f'mount --bind "$0" {_TEMPORARY} && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(ours), *command]


def _wait_until_counted() -> None:
    """Wait until the machine is up for so long that Open vSwitch counts its processors.

    It does so when 10 s have passed since the clock's zero. Started before, it knows of none, and
    has no thread for packets. A guest is that young.
    """
    time.sleep(max(0.0, _COUNTED_S - time.clock_gettime(time.CLOCK_MONOTONIC)))


def _wait_for(socket: Path, daemon: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not socket.exists():
        if daemon.poll() is not None or time.monotonic() > deadline:
            said = (folder / "ovsdb-server.log").read_text(errors="replace").splitlines()
            raise NetworkError(f"ovsdb-server: {said[-1] if said else 'did not start'}")
        time.sleep(0.01)
