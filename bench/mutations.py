"""`./dev bench mutations`: capture analysis fuzzed with a hundred thousand damaged captures.

Each case is a capture made from its number alone (`bench.common.mutants`), read as `emu.analyze`
reads it, in processes with limited memory and processor time. A failure is an
exception that is no `CaptureError`, a message of several lines, a death, a case beyond its time.

    ./dev bench mutations                     all of them, going on where the last run stopped
    ./dev bench mutations --minutes 3         as far as that goes
    ./dev bench mutations --case 4711         one, in the foreground, with its traceback
"""

import argparse
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from bench.common.kept_lines import add_line, read_lines

CASES = 100_000
BATCH = 500
MEMORY_BYTES = 1 << 30
MOST_RESIDENT_MB = 500
CASE_S = 10
BATCH_CPU_S = 600
STATE = Path(__file__).parent / "results" / ".mutations.jsonl"


Row = dict[str, Any]
"""Results of a batch, as they are kept."""


class SlowError(Exception):
    """A case took more than its time."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench mutations")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--case", type=int, help="only this one, here")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop then; go on next time")
    found = parser.parse_args(arguments)
    if found.case is not None:
        print(_one(found.case, Path(tempfile.mkdtemp(prefix="netcosim-bench-"))))
        return 0
    done = _known()
    batches = [n for n in range(0, found.cases, BATCH) if n not in done]
    print(f"{len(done)} batches are known, {len(batches)} to go")
    _run_all(batches, found.cases, time.monotonic() + 60 * found.minutes)
    left = sum(n not in _known() for n in range(0, found.cases, BATCH))
    if left:
        print(f"{left} batches are left for the next time")
        return 0
    return _report(found.cases)


def _known() -> dict[int, Row]:
    return {row["first"]: row for row in read_lines(STATE)}


def _run_all(batches: Sequence[int], cases: int, until_s: float) -> None:
    """Run the batches side by side, each in a process of its own."""
    waiting, running = list(batches), dict[int, multiprocessing.Process]()
    begun: dict[int, float] = {}
    STATE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
        while waiting or running:
            if time.monotonic() > until_s:
                waiting.clear()
            while waiting and len(running) < (os.cpu_count() or 1):
                first = waiting.pop(0)
                process = multiprocessing.Process(
                    target=_batch, args=(first, min(cases, first + BATCH), Path(folder))
                )
                process.start()
                running[first], begun[first] = process, time.monotonic()
            for first, process in list(running.items()):
                if process.is_alive():
                    continue
                process.join()
                del running[first]
                _note(first, process.exitcode, Path(folder), time.monotonic() - begun[first])
            time.sleep(0.02)


def _note(first: int, code: int | None, folder: Path, wall_s: float) -> None:
    """Add a batch's result to the state; a process that died is a failure of its last case."""
    file = folder / f"{first}.json"
    if code == 0 and file.exists():
        row = json.loads(file.read_text(encoding="utf-8"))
    else:
        at = folder / f"{first}.at"
        case = at.read_text(encoding="utf-8") if at.exists() else str(first)
        row = {"first": first, "cases": 0, "kinds": {}, "peak_mb": 0, "slowest_s": 0.0,
               "failures": [f"case {case}: the process died with {code}"]}  # fmt: skip
    row["wall_s"] = round(wall_s, 2)
    add_line(STATE, row)
    for failure in row["failures"]:
        print(failure, flush=True)
    if first % (10 * BATCH) == 0:
        print(f"cases from {first}: {row['wall_s']} s, peak {row['peak_mb']} MB", flush=True)


def _batch(first: int, last: int, folder: Path) -> None:
    import emu.identify.analysis_record  # noqa: F401 - loaded before the limits count

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (BATCH_CPU_S, BATCH_CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _too_slow)
    kinds: Counter[str] = Counter()
    failures: list[str] = []
    slowest = (0.0, first)
    for case in range(first, last):
        (folder / f"{first}.at").write_text(str(case), encoding="utf-8")
        begin = time.monotonic()
        signal.alarm(CASE_S)
        try:
            kinds[_one(case, folder)] += 1
        except BaseException as problem:  # noqa: BLE001 - whatever it is, it is a finding
            where = traceback.extract_tb(problem.__traceback__)[-1]
            failures.append(
                f"case {case}: {type(problem).__name__}: {problem} ({where.name}:{where.lineno})"
            )
        finally:
            signal.alarm(0)
        slowest = max(slowest, (time.monotonic() - begin, case))
    row = {
        "first": first,
        "cases": last - first,
        "kinds": kinds,
        "failures": failures,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "slowest_s": round(slowest[0], 3),
        "slowest_case": slowest[1],
    }
    (folder / f"{first}.json").write_text(json.dumps(row), encoding="utf-8")


def _too_slow(_: int, __: FrameType | None) -> None:
    raise SlowError(f"took more than {CASE_S} s")


def _one(case: int, folder: Path) -> str:
    """Read one damaged capture as the command does; return the outcome."""
    from bench.common.mutants import mutant
    from emu.capture import analyse_capture
    from emu.identify.analysis_record import analysis_record
    from netcosim.errors import CaptureError
    from netcosim.results.json_files import to_json

    _, content = mutant(case)
    path = folder / f"{os.getpid()}.pcap"
    path.write_bytes(content)
    try:
        report = analyse_capture(path, gap_ns=None, search=True)
    except CaptureError as problem:
        if "\n" in str(problem):
            raise RuntimeError("an error of several lines") from None
        return "refused"
    analysis = analysis_record(report, "mutant")
    if case % 10 == 0:
        to_json(analysis)
    if any("\n" in problem for problem in report.problems):
        raise RuntimeError("a problem of several lines")
    carried = sum(
        d.data_bytes
        for c in analysis.connections
        for d in c.directions
        if not c.client_side.holes and not c.server_side.holes
    )
    if carried > report.size_bytes:
        raise RuntimeError(f"{carried} bytes of DATA out of {report.size_bytes}")
    if not any(c.streams for c in report.connections):
        return "nothing found"
    return "read with problems" if report.problems else "read"


def _report(cases: int) -> int:
    from bench.common.record import Figure, at_most, record

    rows = [row for first, row in sorted(_known().items()) if first < cases]
    kinds: Counter[str] = Counter()
    for row in rows:
        kinds.update(row["kinds"])
    failures = [text for row in rows for text in row["failures"]]
    code = record(
        "mutations",
        [
            Figure(name="captures", value=sum(kinds.values()) + len(failures), unit=""),
            at_most("crashes, hangs, deaths", len(failures), "", 0),
            at_most("largest resident memory", _most(rows, "peak_mb"), "MB", MOST_RESIDENT_MB),
            at_most("slowest case", _most(rows, "slowest_s"), "s", CASE_S),
            Figure(
                name="wall time",
                value=sum(row["wall_s"] for row in rows) / (os.cpu_count() or 1),
                unit="s",
            ),
            *(Figure(name=kind, value=count, unit="") for kind, count in sorted(kinds.items())),
        ],
        notes=[f"address space limited to {MEMORY_BYTES >> 20} MiB a process", *failures[:50]],
    )
    STATE.unlink(missing_ok=True)
    return code


def _most(rows: Sequence[Row], key: str) -> float:
    return max((float(row[key]) for row in rows), default=0.0)


if __name__ == "__main__":
    from netcosim.cli import run_main  # not where a batch's process imports this

    sys.exit(run_main(lambda _: main(sys.argv[1:]), "bench mutations"))
