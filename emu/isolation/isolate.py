"""Re-execute a run inside private Linux namespaces that end with it.

`ensure_isolated` re-executes the program inside its own network, PID, mount, IPC and UTS
namespaces (`emu.isolation.namespace_init` says how they are tied to the run's processes). No
cgroup is made and no file written: what a run needs to store before its results are ready goes to
a tmpfs that only its own mount namespace sees.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from emu.isolation import namespace_init
from netcosim.errors import EnvironmentRefusedError

# Exists in every procfs, and is hidden only in the run's own fresh mount of it.
SCRATCH: Final = Path("/proc/driver")
# One Ctrl-C reaches us from the terminal and again through the processes above.
_SAME_INTERRUPTION_S: Final = 0.5

_OUTSIDE: Final = "NETCOSIM_TMPDIR"
_PROJECT: Final = Path(__file__).resolve().parents[2]
_last_interruption = float("-inf")


def ensure_isolated(command: Sequence[str]) -> None:
    """Return inside the run's own namespaces, re-executing `command` in them if need be.

    Call it early: the program starts again from its beginning. Inside, SIGTERM and SIGHUP
    raise KeyboardInterrupt as Ctrl-C does; under `netcosim.cli.run_main` in its way. Standard
    streams and the terminal stay; the exit code is passed on (128 + N for a death by signal N).

    Parameters
    ----------
    command
        The arguments that start this program again, ``[sys.executable, "-P", ...]``: root must
        import nothing from the current folder.

    Raises
    ------
    EnvironmentRefusedError
        Not root, or the kernel or a container around us forbids namespaces.
    """
    refused = os.environ.pop(namespace_init.REFUSED, None)
    if refused is not None:
        raise EnvironmentRefusedError(f"{refused}; the emulation can't be kept apart from the host")
    if is_isolated():
        _orderly_interruption()
        return
    if os.geteuid() != 0:
        raise EnvironmentRefusedError("the emulation needs root: start it with sudo")
    script = namespace_init.__file__
    os.environ[_OUTSIDE] = tempfile.gettempdir()
    sys.stdout.flush()
    sys.stderr.flush()
    # Signals wait until there is a handler for them: _orderly_interruption.
    signal.pthread_sigmask(signal.SIG_BLOCK, namespace_init.RELAYED)
    os.execv(  # noqa: S606 - no shell wanted
        sys.executable,
        [sys.executable, "-I", "-S", script, str(_PROJECT), str(SCRATCH), *command],
    )


def is_isolated() -> bool:
    """True if this process is the one that runs inside the run's own namespaces."""
    outside = os.environ.get(namespace_init.ISOLATED)
    if outside is None or os.getppid() != 1:
        return False
    inside = [str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("net", "pid")]
    return all(here != there for here, there in zip(inside, outside.split(), strict=True))


def scratch_dir() -> Path:
    """The run's private tmpfs, of three quarters of the memory that was free at its start.

    It vanishes with the run. Raises EnvironmentRefusedError outside of the namespaces.
    """
    if os.environ.get(namespace_init.ISOLATED) is None:
        raise EnvironmentRefusedError("scratch space exists only inside the run's own namespaces")
    return SCRATCH


def lasting_dir() -> Path:
    """The folder for temporary files that was in use outside; it outlives the run."""
    return Path(os.environ.get(_OUTSIDE) or tempfile.gettempdir())


def _orderly_interruption() -> None:
    for number in namespace_init.RELAYED:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)  # no command has taken it (`netcosim.cli.run_main`)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, namespace_init.RELAYED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _last_interruption  # noqa: PLW0603 - a signal handler has no other memory
    now = time.monotonic()
    if now - _last_interruption < _SAME_INTERRUPTION_S:
        return
    _last_interruption = now
    raise KeyboardInterrupt
