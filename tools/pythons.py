"""Find the CPythons of this machine by running every candidate: a name promises nothing.

A shim may lead nowhere, a `python3.9` may be a 3.11, a wrapper may hang.
"""

import contextlib
import json
import os
import pwd
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 60.0  # a machine at work takes over ten seconds to start a Python

# The program by which an interpreter describes itself. It runs on everything from 3.4 on; the base
# executable leads past shims and activated environments.
_QUESTION = """
import json, os, platform, sys, sysconfig, venv
base = getattr(sys, "_base_executable", None) or sys.executable
if sys.prefix != sys.base_prefix:
    own = os.path.join(sys.base_prefix, "bin", "python%d.%d" % sys.version_info[:2])
    base = own if os.path.exists(own) else base
print(json.dumps({
    "implementation": platform.python_implementation(),
    "version": list(sys.version_info[:3]),
    "bits": 64 if sys.maxsize > 2 ** 32 else 32,
    "threads": "free" if sysconfig.get_config_var("Py_GIL_DISABLED") else "gil",
    "executable": os.path.realpath(base),
}))
"""

_NAME = re.compile(r"python(3(\.\d+)?)?")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Interpreter:
    """A CPython that ran and can make virtual environments."""

    version: tuple[int, int, int]
    executable: str

    @property
    def minor(self) -> str:
        """Minor version, such as ``3.9``."""
        return f"{self.version[0]}.{self.version[1]}"

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A candidate that is no use, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Result of a search: usable interpreters newest first, rejected ones as they were met."""

    interpreters: tuple[Interpreter, ...]
    rejected: tuple[Rejected, ...]


def find_pythons(folders: Sequence[Path], patience_s: float = PATIENCE_S) -> Found:
    """Run every candidate in these folders.

    Parameters
    ----------
    folders
        Where to look; each is looked at once.
    patience_s
        How long a candidate may take to answer, in seconds.
    """
    paths = _candidates(folders)
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(lambda path: ask(path, patience_s), paths))
    good = {a.executable: a for a in answers if isinstance(a, Interpreter)}
    return Found(
        interpreters=tuple(sorted(good.values(), reverse=True)),
        rejected=tuple(a for a in answers if isinstance(a, Rejected)),
    )


def default_folders(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Folders to search: PATH, the system's, those of pyenv and uv for us and for sudo's caller."""
    homes = _homes(environ)
    roots = [Path(environ["PYENV_ROOT"])] if environ.get("PYENV_ROOT") else []
    roots += [home / ".pyenv" for home in homes]
    folders = [Path(part) for part in environ.get("PATH", "").split(os.pathsep) if part]
    folders += [Path("/usr/bin"), Path("/usr/local/bin")]
    for root in roots:
        folders += sorted(_listed(root / "versions", "*/bin"))
    for home in homes:
        folders += sorted(_listed(home / ".local/share/uv/python", "*/bin"))
    return list(dict.fromkeys(folders))


def ask(path: Path, patience_s: float = PATIENCE_S) -> Interpreter | Rejected:
    """Run one candidate and believe what it prints, if that makes sense and it can make a venv."""
    try:
        process = subprocess.Popen(
            [str(path), "-I", "-c", _QUESTION],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
            start_new_session=True,  # a wrapper's children end with it
        )
    except OSError as problem:
        return Rejected(path=str(path), reason=f"does not start: {problem.strerror}")
    try:
        out, _ = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return Rejected(path=str(path), reason=f"did not answer within {patience_s:g} s")
    if process.returncode:
        return Rejected(path=str(path), reason=f"ended with exit code {process.returncode}")
    return _understood(path, out)


def _understood(path: Path, out: bytes) -> Interpreter | Rejected:
    try:
        said = json.loads(out)
        version = tuple(int(part) for part in said["version"])
        executable = str(said["executable"])
        kind = (said["implementation"], said["bits"], said["threads"])
    except (ValueError, TypeError, KeyError):
        return Rejected(path=str(path), reason="does not answer as a Python")
    if len(version) != 3 or not os.access(executable, os.X_OK):
        return Rejected(path=str(path), reason="does not answer as a Python")
    if kind != ("CPython", 64, "gil"):
        return Rejected(path=str(path), reason=f"is {kind[0]}, {kind[1]} bits, threads: {kind[2]}")
    return Interpreter(version=version, executable=executable)


def _end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _candidates(folders: Iterable[Path]) -> list[Path]:
    """Executables with a Python's name, each target once."""
    found: dict[Path, Path] = {}
    for folder in folders:
        for path in sorted(_listed(folder, "python*")):
            if _NAME.fullmatch(path.name) and os.access(path, os.X_OK) and path.is_file():
                target = path.resolve()
                # One wrapper under many names may answer by its name.
                found.setdefault(target if _NAME.fullmatch(target.name) else path, path)
    return list(found.values())


def _listed(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _homes(environ: Mapping[str, str]) -> list[Path]:
    homes = [Path(environ["HOME"])] if environ.get("HOME") else []
    caller = environ.get("SUDO_USER")
    if caller:
        with contextlib.suppress(KeyError):  # no account here
            homes.append(Path(pwd.getpwnam(caller).pw_dir))
    return list(dict.fromkeys(homes))


if __name__ == "__main__":
    everything = find_pythons(default_folders())
    for one in everything.interpreters:
        print(f"{one}  {one.executable}")
    for other in everything.rejected:
        print(f"{other.path}: {other.reason}", file=sys.stderr)
