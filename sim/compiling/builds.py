"""Kernels compiled before a run, side by side, each in a process of its own."""

import contextlib
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol

from sim.compiling.kernel import Kernel
from sim.kernels.compiled import kernels_are_kept

_POLL_S: Final = 0.05
_ROOT: Final = Path(__file__).resolve().parents[2]


class Listener(Protocol):
    """Who is told what is being done, in a line each time."""

    def say(self, message: str) -> None:
        """Tell what is being done now."""


@dataclass(slots=True)
class _Build:
    """One kernel being compiled; `errors` takes what the process says."""

    kernel: Kernel
    process: subprocess.Popen[bytes]
    errors: IO[bytes]


def compile_missing(kernels: Iterable[Kernel], listener: Listener, at_once: int = 0) -> None:
    """Compile the kernels that the cache lacks, and tell how long that takes.

    Where the cache can't be written nothing is compiled ahead: the run does it itself.

    Parameters
    ----------
    kernels : in whatever order
    listener : is told before the first one, and after each
    at_once : kernels to compile at a time; 0: as many as there are processors
    """
    missing = [kernel for kernel in dict.fromkeys(kernels) if not kernel.is_kept()]
    missing.sort(key=lambda kernel: -kernel.seconds)
    if not missing:
        return
    if not kernels_are_kept():
        seconds = _rounded(sum(kernel.seconds for kernel in missing))
        listener.say(f"compiling {_counted(missing)} on the way: about {seconds} s in all")
        return
    compile_together(missing, listener, at_once or len(os.sched_getaffinity(0)))


def expected_seconds(each_s: Sequence[float], at_once: int) -> float:
    """Time for builds of these lengths, so many at a time, each on a processor of its own."""
    return max([sum(each_s) / at_once, *each_s], default=0.0)


def compile_together(kernels: Sequence[Kernel], listener: Listener, at_once: int) -> None:
    """Compile kernels, so many at a time; one that fails is left to the run, which says why."""
    at_once = min(at_once, len(kernels))
    side_by_side = f", {at_once} at a time" if at_once > 1 else ""
    seconds = _rounded(expected_seconds([k.seconds for k in kernels], at_once))
    listener.say(f"compiling {_counted(kernels)}, once{side_by_side}: about {seconds} s")
    begun_s: dict[Kernel, float] = {}
    left, taken_s, promised_s = list(kernels), 0.0, 0.0
    for build in _ended(kernels, at_once, begun_s):
        now = time.monotonic()
        left.remove(build.kernel)
        taken_s += now - begun_s[build.kernel]
        promised_s += build.kernel.seconds
        if build.process.returncode:
            listener.say(f"{build.kernel} could not be compiled ahead: {_last_line(build)}")
        pace = taken_s / promised_s
        more_s = [max(0.0, pace * k.seconds - (now - begun_s.get(k, now))) for k in left]
        rest = f"; about {_rounded(expected_seconds(more_s, at_once))} s more" if left else ""
        listener.say(f"compiled {len(kernels) - len(left)} of {_counted(kernels)}{rest}")


def _ended(
    kernels: Sequence[Kernel], at_once: int, begun_s: dict[Kernel, float]
) -> Iterator[_Build]:
    """Start so many builds at a time, note when, and yield each that has ended."""
    with _killed_at_the_end() as running:
        waiting = list(kernels)
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_start(waiting[0]))
                begun_s[waiting.pop(0)] = time.monotonic()
            ended = [build for build in running if build.process.poll() is not None]
            for build in ended:
                running.remove(build)
                with build.errors:
                    yield build
            if not ended:
                time.sleep(_POLL_S)


@contextmanager
def _killed_at_the_end() -> Iterator[list[_Build]]:
    """A list of builds; those still in it when the context ends are killed."""
    running: list[_Build] = []
    try:
        yield running
    finally:
        for build in running:
            with contextlib.suppress(ProcessLookupError):
                build.process.kill()
            build.process.wait()
            build.errors.close()


def _start(kernel: Kernel) -> _Build:
    """Compile a kernel in a process that imports this checkout, wherever it was started.

    In a session of its own: Ctrl-C is for the program that waits for it.
    """
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the build
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sim.compiling.one", str(kernel)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
    )
    return _Build(kernel=kernel, process=process, errors=errors)


def _last_line(build: _Build) -> str:
    build.errors.seek(0)
    said = build.errors.read().decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {build.process.returncode}"


def _counted(kernels: Sequence[Kernel]) -> str:
    return "1 kernel" if len(kernels) == 1 else f"{len(kernels)} kernels"


def _rounded(seconds: float) -> int:
    """Whole seconds, in steps of five where there are many."""
    return max(1, 5 * math.ceil(seconds / 5) if seconds > 10 else math.ceil(seconds))
