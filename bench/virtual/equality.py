"""Runs of one scenario, some beside programs that take every processor: compared byte for byte."""

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.common.children import ENDS_WITH_US
from bench.common.record import Figure, at_least
from bench.virtual.running import run

SCENARIO: Final = {
    "name": "equal",
    "repetitions": 2,
    "cluster": {"topology": "pair", "link": {"rate": "100mbit"}},
    "workload": [
        {"name": "mixed8", "set": "mixed8", "total": "6MB"},
        {"name": "pushed", "set": "alexnet", "total": "4MB", "direction": "push"},
    ],
    "transport": [
        {"name": "grpc-on", "sender": "grpc", "receiver": "grpc"},
        {"name": "grpc-off", "sender": "grpc", "receiver": "grpc", "flow_control": False},
        {
            **{"name": "h2", "sender": "h2", "receiver": "h2", "discipline": "two_visit"},
            **{"window": "1MiB", "credit": "rest_when_exhausted"},
        },
    ],
}
NOT_COMPARED: Final = ("run.json", "report.html", "perfetto.json")
"""What tells when, where and how fast a run was, or shows it."""


def equality_figures(runs: int) -> Iterator[Figure]:
    """Share of the files of all runs that equal those of the first."""
    digests = []
    for number in range(runs):
        with _loaded() if number >= runs // 2 else contextlib.nullcontext():
            digests.append(_digests(run(SCENARIO, f"equal-{number}").ended().folder))
    captures = [each for each in digests[0] if each.endswith(".pcap.gz")]
    equal = sum(each == digests[0] for each in digests)
    yield at_least(
        f"runs equal in all {len(digests[0])} files, {len(captures)} captures among them",
        equal,
        "",
        runs,
        f"of {runs}, the second half beside {_load_processes()} programs that never wait;"
        f" all files' hash: {_digest(digests[0])}",
    )


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in NOT_COMPARED and path.suffix != ".png"
    }


def _digest(files: Mapping[str, str]) -> str:
    """One hash of all files, to be held against that of another machine at the same commit."""
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]


def _load_processes() -> int:
    return 2 * len(os.sched_getaffinity(0))


@contextlib.contextmanager
def _loaded() -> Iterator[None]:
    """Programs that never wait, two a processor, until the end of the block."""
    spinning = [*ENDS_WITH_US, sys.executable, "-c", "while True: pass"]
    programs: list[subprocess.Popen[bytes]] = []
    try:
        programs.extend(subprocess.Popen(spinning) for _ in range(_load_processes()))
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()
