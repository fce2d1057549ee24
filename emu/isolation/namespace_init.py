"""Run a command inside private Linux namespaces; every process in them dies with it.

A stand-alone script: `emu.isolation.isolate` execs it with a bare interpreter, so that the process
that sudo started is the one that makes the namespaces. Three processes then stand in a line::

    outer (this script, still the process sudo or the shell started)
      init (this script, PID 1 of the new PID namespace)
        the command

The kernel kills everything in a PID namespace when its PID 1 dies. PID 1 dies with the command,
with the outer process (death signal and pidfd), and with every ancestor that belongs to the
run (pidfds of sudo and of the ``dev`` script). So whichever process is killed, even by SIGKILL,
the namespaces and all in them go.

Usage: ``namespace_init.py ROOT SCRATCH COMMAND...`` where ROOT is the folder that holds the
``dev`` script and SCRATCH the folder over which a private tmpfs is mounted.
"""

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

REFUSED = "NETCOSIM_ISOLATION_REFUSED"
ISOLATED = "NETCOSIM_ISOLATED"

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 1 << 18
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
RELAYED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KILLED = 128 + signal.SIGKILL
_SCRATCH_SHARE = 0.75
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a private one: named semaphores outlive their processes
# Variables for the folders of temporary files, and of libraries' caches: scapy, matplotlib.
_FOLDERS = ("TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")

_libc = ctypes.CDLL(None, use_errno=True)


def main(argv: Sequence[str]) -> NoReturn:
    """Make the namespaces, run the command in them, and exit as it does.

    `RELAYED` signals are blocked when it begins, and when the command does: they wait until there
    is a handler for them.
    """
    root, scratch, *command = argv
    watched = _watch_ancestors(root)
    before = " ".join(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("net", "pid"))
    try:
        _unshare()
    except OSError as problem:
        _refuse(command, f"private namespaces: {problem.strerror}")
    wake = _take_signals()
    own = os.pidfd_open(os.getpid())
    child = os.fork()
    if child == 0:
        _init([*watched, own], scratch, command, before)
    os._exit(_supervise(child, wake, watched))


def _init(watched: list[int], scratch: str, command: list[str], before: str) -> NoReturn:
    """Be PID 1: finish the namespaces, start the command, reap, and die with it."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if _any_dead(watched):  # the death signal does not fire for what is already dead
        os._exit(_KILLED)
    try:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        _mount_sysfs()
        size_kib = int(_available_kib() * _SCRATCH_SHARE)
        _mount("netcosim", scratch, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={size_kib}k,mode=0755")
        if Path(_SHARED_MEMORY).is_dir():
            _mount("netcosim", _SHARED_MEMORY, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")
        _loopback_up()
    except OSError as problem:
        _refuse(command, f"private namespaces: {problem.filename}: {problem.strerror}")
    wake = _take_signals()
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, RELAYED)  # the command unblocks them when it can
        _exec(command, {**os.environ, ISOLATED: before} | dict.fromkeys(_FOLDERS, scratch))
    os._exit(_supervise(child, wake, watched))


def _supervise(child: int, wake: int, watched: Sequence[int]) -> int:
    """Wait for `child`, reap orphans, pass signals on; return the exit code as a shell would.

    Leaves at once when one of the watched processes is gone.
    """
    poll = select.poll()
    for fd in (wake, *watched):
        poll.register(fd, select.POLLIN)
    while True:
        status = _reap(child)
        if status is not None:
            return status
        for fd, _ in poll.poll():
            if fd != wake:
                return _KILLED
            for number in os.read(wake, 512):
                if number in RELAYED:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, number)


def _reap(child: int) -> int | None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return _KILLED
        if pid == 0:
            return None
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _take_signals() -> int:
    """Have signals arrive through the pipe returned; what was ignored stays ignored."""
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _noted)
    for number in RELAYED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _noted)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, RELAYED)
    return read


def _noted(number: int, frame: FrameType | None) -> None:
    """Do nothing: the wake-up pipe carries the signal's number."""


def _watch_ancestors(root: str) -> list[int]:
    """Pidfds of the processes above us that belong to the run: sudo and the ``dev`` script."""
    watched: list[int] = []
    child, parent = os.getpid(), os.getppid()
    if parent > 1 and _belongs(parent, root):
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    while parent > 1 and _belongs(parent, root):
        try:
            watched.append(os.pidfd_open(parent))
        except ProcessLookupError:
            os._exit(_KILLED)
        if _parent_of(child) != parent:  # it died, and its number may be another's by now
            os._exit(_KILLED)
        child, parent = parent, _parent_of(parent)
    if not watched and _sudo_is_missing():
        os.write(2, b"the sudo that started this was killed; not starting\n")
        os._exit(_KILLED)
    return watched


def _sudo_is_missing() -> bool:
    """True if sudo started this very command, yet was killed before we could watch it.

    SUDO_COMMAND alone does not tell. Whatever sudo starts hands it on, such as a tmux server, which
    outlives its sudo in order: then our parent has the same one. The adopter of an orphan has not.
    """
    started = os.environ.get("SUDO_COMMAND", "")
    words = started.split()
    if "emu.run" not in started and not (words and Path(words[0]).name == "dev"):
        return False
    if os.getsid(0) == os.getpid():  # sent away on purpose, as by `setsid --fork`
        return False
    parent = pid = os.getppid()
    while pid > 1:
        if _program(pid) == "sudo":
            return False
        pid = _parent_of(pid)
    return not _has_variable(parent, f"SUDO_COMMAND={started}")


def _has_variable(pid: int, variable: str) -> bool:
    try:
        return os.fsencode(variable) in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


def _belongs(pid: int, root: str) -> bool:
    program = _program(pid)
    if program == "sudo":
        return True
    if program not in ("bash", "dash", "sh", "busybox"):
        return False
    try:
        words = [os.fsdecode(w) for w in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    except OSError:
        return False
    return any(_is_dev_script(pid, word, root) for word in words[1:3])


def _is_dev_script(pid: int, word: str, root: str) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd", word).samefile(Path(root, "dev"))
    except OSError:
        return False


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return -1


def _any_dead(pidfds: Sequence[int]) -> bool:
    return bool(pidfds) and bool(select.select(pidfds, [], [], 0)[0])


def _unshare() -> None:
    flags = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # In a plain chroot the root folder is no mount point, and this fails.
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    done = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, flags, data.encode() or None
    )
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount: {os.strerror(number)}", target)


def _mount_sysfs() -> None:
    """Show the interfaces of the new network namespace; the cgroups stay those of the host.

    They tell whether the run was throttled.
    """
    cgroups = None
    with contextlib.suppress(OSError):
        cgroups = os.open("/sys/fs/cgroup", os.O_PATH | os.O_DIRECTORY)
    _mount("sysfs", "/sys", "sysfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    if cgroups is not None:
        _mount(f"/proc/self/fd/{cgroups}", "/sys/fs/cgroup", "", _MS_BIND | _MS_REC)
        os.close(cgroups)


def _available_kib() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])
    raise OSError(0, "no MemAvailable", "/proc/meminfo")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        answer = fcntl.ioctl(sock, _SIOCGIFFLAGS, request)
        flags = struct.unpack("16sh14x", answer)[1] | _IFF_UP
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


def _refuse(command: Sequence[str], reason: str) -> NoReturn:
    """Start the command with the reason in `REFUSED`, so that it reports the error itself."""
    _exec(command, {**os.environ, REFUSED: reason})


def _exec(command: Sequence[str], environ: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(command[0], list(command), environ)  # noqa: S606 - the command we were given
    except OSError as problem:
        os.write(2, f"{command[0]}: {problem.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1:])
