"""Builds an environment for each gRPC release that a scenario can name: ./dev grpc-releases.

`FOLDER/RELEASE/bin/python` runs the endpoint scripts with grpcio RELEASE and nothing else. An
environment is built under another name and gets its own only when grpcio works in it, so that a
half-built one is never taken for ready; its stamp says which release and which Python it is.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pythons import Interpreter, default_folders, find_pythons

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "NETCOSIM_GRPC_RELEASES"
STAMP = "netcosim-grpc-release.json"
REASON = ".not-ready"
"""Suffix of the file that tells a run why a release can't be had."""

OLDEST = (3, 7)
"""Python that the endpoint scripts need."""

_RELEASE = re.compile(r"[0-9]+(\.[0-9]+){1,2}((rc|\.post)[0-9]+)?")
_SMOKE = """
import grpc, sys
from concurrent import futures
try:
    from importlib import metadata
    release = metadata.version("grpcio")
except ImportError:  # Python 3.7
    import glob, os
    folder = os.path.dirname(os.path.dirname(grpc.__file__))
    [info] = glob.glob(os.path.join(folder, "grpcio-*.dist-info"))
    release = os.path.basename(info)[len("grpcio-"):-len(".dist-info")]
assert release == sys.argv[1], release
server = grpc.server(futures.ThreadPoolExecutor(1))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
channel = grpc.insecure_channel("127.0.0.1:%d" % port, [("grpc.enable_http_proxy", 0)])
grpc.channel_ready_future(channel).result(timeout=20)
channel.close()
server.stop(None)
try:
    from grpc import aio
except ImportError:  # before grpcio 1.32
    aio = None
if aio is not None:
    import asyncio
    async def serve():
        server = aio.server()
        server.add_insecure_port("127.0.0.1:0")
        await server.start()
        await server.stop(None)
    asyncio.new_event_loop().run_until_complete(serve())
"""
_NO_WHEEL = "No matching distribution"
_STEP_S = 600
_STAGING = ".building-"


class BuildError(Exception):
    """Reason why a release can't be had, in one line."""


class OfflineError(BuildError):
    """The registry did not answer; another Python would not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """Lock entry of a release: its Pythons, best first, and its pinned wheels."""

    pythons: tuple[str, ...]
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: ready with this Python, or the reason why not.

    `failed` tells a build that went wrong from a machine that lacks the interpreter.
    """

    release: str
    python: str | None = None
    reason: str = ""
    failed: bool = False


def read_lock(path: Path) -> dict[str, Locked]:
    """The releases that are built unless others are named."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        release: Locked(pythons=tuple(entry["pythons"]), requirements=tuple(entry["requirements"]))
        for release, entry in data.items()
    }


def releases_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Folder of the environments."""
    return Path(environ.get(FOLDER) or ROOT / ".grpc-releases").absolute()


def ready(folder: Path, release: str) -> str | None:
    """The Python of a release's environment, if it is complete and its interpreter is there."""
    environment = folder / release
    try:
        stamp = json.loads((environment / STAMP).read_text(encoding="utf-8"))
        python = str(stamp["python"])
        built_for = stamp["release"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    usable = built_for == release and os.access(environment / "bin" / "python", os.X_OK)
    return python if usable else None


# --- building ------------------------------------------------------------------------------


def build(folder: Path, release: str, python: Interpreter, locked: Locked | None) -> None:
    """Make a release's environment with this interpreter.

    Raises
    ------
    BuildError
        There is no wheel for it, or what was installed does not work.
    """
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
    try:
        environment = staging / "environment"
        _run([python.executable, "-I", "-m", "venv", "--without-pip", str(environment)], staging)
        _install(environment, release, python, locked, staging)
        program = environment / "bin" / "python"
        site = _site_packages(environment, python)
        _run([str(program), "-I", "-m", "compileall", "-q", str(site)], staging)
        _run([str(program), "-I", "-c", _SMOKE, release], staging)
        stamp = {"release": release, "python": str(python), "executable": python.executable}
        (environment / STAMP).write_text(json.dumps(stamp) + "\n", encoding="utf-8")
        os.sync()
        if (folder / release).exists():
            (folder / release).rename(staging / "old")
        environment.rename(folder / release)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _install(
    environment: Path, release: str, python: Interpreter, locked: Locked | None, staging: Path
) -> None:
    """Install wheels with the project's own pip: the interpreter's may be old, or missing."""
    wanted = [f"grpcio=={release}"]
    if python.version < (3, 12):  # up to there environments had it, and some releases ask for it
        wanted.append("setuptools<80")
    hashes = []
    if locked is not None:
        listed = staging / "requirements.txt"
        listed.write_text("\n".join(locked.requirements) + "\n", encoding="utf-8")
        wanted, hashes = ["-r", str(listed)], ["--require-hashes"]
    command = [sys.executable, "-P", "-m", "pip", "-q", "--disable-pip-version-check", "--no-input"]
    command += ["--no-cache-dir", "install", "--no-compile", "--only-binary", ":all:", *hashes]
    command += ["--implementation", "cp", "--python-version", ".".join(map(str, python.version))]
    command += ["--target", str(_site_packages(environment, python)), *wanted]
    _run(command, staging)


def _site_packages(environment: Path, python: Interpreter) -> Path:
    return environment / "lib" / f"python{python.minor}" / "site-packages"


def _run(command: Sequence[str], scratch: Path) -> None:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_STEP_S,
            env=environ | {"TMPDIR": str(scratch)},
        )
    except OSError as problem:
        raise BuildError(f"{command[0]}: {problem.strerror}") from None
    except subprocess.TimeoutExpired:
        raise BuildError(f"{command[0]} did not end within {_STEP_S} s") from None
    if done.returncode and "WARNING: Retrying" in done.stderr:
        raise OfflineError("the package registry does not answer")
    if done.returncode:
        raise BuildError(_said(done.stderr) or f"{command[0]} ended with {done.returncode}")


def _said(text: str) -> str:
    """The last errors of pip, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return "; ".join(errors[-1:] or lines[-1:])


# --- one release after the other -----------------------------------------------------------


def provide(
    folder: Path, release: str, locked: Locked | None, pythons: Sequence[Interpreter]
) -> Row:
    """Build a release with the first interpreter that it takes."""
    suited = [p for p in pythons if p.version[:2] >= OLDEST]
    if locked is not None:
        order = {minor: place for place, minor in enumerate(locked.pythons)}
        suited = sorted((p for p in suited if p.minor in order), key=lambda p: order[p.minor])
        if not suited:
            wanted = " or ".join(locked.pythons)
            return Row(release=release, reason=f"no Python {wanted} on this machine")
    tried: dict[str, str] = {}
    for python in suited:
        if _NO_WHEEL in tried.get(python.minor, ""):
            continue  # nor for another one of the same version
        try:
            build(folder, release, python, locked)
        except OfflineError as problem:
            return Row(release=release, reason=str(problem), failed=True)
        except BuildError as problem:
            tried[python.minor] = str(problem)
        else:
            return Row(release=release, python=str(python))
    reasons: dict[str, list[str]] = {}
    for minor, why in tried.items():
        reasons.setdefault(why, []).append(minor)
    shown = "; ".join(f"Python {', '.join(minors)}: {why}" for why, minors in reasons.items())
    return Row(release=release, reason=shown or "no Python on this machine", failed=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder, and remove what a killed build left there."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for left in folder.glob(f"{_STAGING}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def main() -> int:
    """Build what is missing, print the table; 3 if a release that was named can't be had."""
    lock = read_lock(Path(__file__).with_name("grpc-releases.toml"))
    parser = argparse.ArgumentParser(prog="./dev grpc-releases", description=__doc__.split("\n")[0])
    parser.add_argument("release", nargs="*", help=f"default: {' '.join(lock)}")
    parser.add_argument("--quiet", action="store_true", help="no table")
    options = parser.parse_args()
    for name in options.release:
        if not _RELEASE.fullmatch(name):
            parser.error(f"{name}: not a release of grpcio, such as 1.59.5")
    try:
        rows = table(releases_folder(), options.release or list(lock), lock)
    except OSError as problem:
        print(f"dev: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 3
    if not options.quiet:
        print_table(rows)
    missing = [row for row in rows if row.failed or (options.release and row.reason)]
    for row in missing:
        print(f"dev: grpcio {row.release}: {row.reason}", file=sys.stderr)
    return 3 if missing else 0


def print_table(rows: Sequence[Row]) -> None:
    """Print release, Python and state, one line a release."""
    width = max(7, *(len(row.release) for row in rows))
    print(f"{'release':<{width}}  {'Python':<7}  state")
    for row in rows:
        state = f"not run: {row.reason}" if row.reason else "ready"
        print(f"{row.release:<{width}}  {row.python or '-':<7}  {state}")


def table(folder: Path, releases: Sequence[str], lock: Mapping[str, Locked]) -> list[Row]:
    """Provide these releases; the project's own comes first."""
    own = metadata.version("grpcio")
    version = ".".join(map(str, sys.version_info[:3]))
    rows = [Row(release=own, python=version)]
    others = [release for release in releases if release != own]
    built = {release: ready(folder, release) for release in others}
    if not all(built.values()):
        pythons = find_pythons(default_folders()).interpreters
        with _alone(folder):
            return rows + [_have(folder, each, lock.get(each), pythons) for each in others]
    return rows + [Row(release=release, python=python) for release, python in built.items()]


def _have(folder: Path, release: str, locked: Locked | None, pythons: Sequence[Interpreter]) -> Row:
    """Find a release ready, or provide it; what is missing stays written beside it."""
    python = ready(folder, release)
    row = (
        provide(folder, release, locked, pythons)
        if python is None
        else Row(release=release, python=python)
    )
    note = folder / f"{release}{REASON}"
    note.unlink(missing_ok=True)
    if row.reason:
        note.write_text(row.reason + "\n", encoding="utf-8")
    return row


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
