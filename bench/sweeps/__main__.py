"""`./dev bench sweeps [PART ...]`: what Ray costs a sweep, what it survives, how long it takes.

Parts: throughput (90 minutes), driver, many, losses, study. What was measured is kept, sample by
sample, in bench/results/sweeps.jsonl: a part that was interrupted goes on, `--renew` begins anew.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.common.kept_lines import add_line, read_lines, replace_lines
from bench.common.record import RESULTS, Figure, at_least, at_most, record
from bench.sweeps.timed import KINDS
from netcosim.cli import CrashSite, Parser, run_main
from netcosim.errors import ScenarioError
from netcosim.results.host import hash_sources

PROG: Final = "bench.sweeps"
ROOT: Final = Path(__file__).parents[2]
SAMPLES: Final = RESULTS / "sweeps.jsonl"

_PAIRS: Final = 5
_STEADY_S: Final = 195.0
_TRIALS: Final = 20
_LEAST: Final = {"cheap": 90.0, "middle": 95.0, "dear": 95.0}
_POINTS: Final = (10**3, 10**4, 10**5, 10**6)
_MANY: Final = Path(__file__).parent / "many.toml"
_LOSSES: Final = Path(__file__).parent / "losses.toml"
_STUDY: Final = ROOT / "examples/sweeps/stragglers.toml"

Sample = dict[str, Any]


def main(_: CrashSite) -> int:
    """Measure the parts, print the table, write the figures."""
    parser = Parser(prog=PROG, description=__doc__.partition("\n")[0])
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"of: {', '.join(_PARTS)}")
    parser.add_argument("--renew", action="store_true", help="measure these parts anew")
    found = parser.parse_args()
    parts = found.parts or list(_PARTS)
    for part in parts:
        if part not in _PARTS:
            raise ScenarioError.at("PART", part, f"must be one of: {', '.join(_PARTS)}")
    kept = read_lines(SAMPLES)
    if found.renew:
        kept = [sample for sample in kept if sample["part"] not in parts]
        replace_lines(SAMPLES, kept)
    for part in parts:
        measure, _figures = _PARTS[part]
        for sample in measure([s for s in kept if s["part"] == part]):
            stamped = {"part": part, **sample, "load": os.getloadavg()[0], "sources": _sources()}
            kept.append(stamped)
            print(json.dumps(stamped), flush=True)
            add_line(SAMPLES, stamped)
    figures = [
        figure
        for part, (_measure, figures_of) in _PARTS.items()
        for figure in figures_of([s for s in kept if s["part"] == part])
    ]
    return record("sweeps", figures)


def _sources() -> str:
    return hash_sources()[:16]


def _json(*command: object) -> Sample:
    """Run a module; its last line of output as JSON."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", *map(str, command)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: Sample = json.loads(done.stdout.splitlines()[-1])
    return found


def _sweep(*arguments: object) -> tuple[int, float, str]:
    """Run the command; exit code, seconds, output."""
    begun_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ray_sweeps.run", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, time.perf_counter() - begun_s, done.stdout


def _throughput(kept: Sequence[Sample]) -> Iterator[Sample]:
    """Pairs in the order ABBA, for each kind of points."""
    for kind in KINDS:
        done = sum(sample["kind"] == kind for sample in kept)
        order = [how for i in range(_PAIRS) for how in (("ray", "plain"), ("plain", "ray"))[i % 2]]
        for how in order[done:]:
            with _folder() as folder:
                yield _json("bench.sweeps.throughput", how, kind, _STEADY_S, folder / "out")


def _throughput_figures(samples: Sequence[Sample]) -> Iterator[Figure]:
    for kind in KINDS:
        by_how = {
            how: [s for s in samples if s["kind"] == kind and s["how"] == how]
            for how in ("ray", "plain")
        }
        pairs = list(zip(by_how["ray"], by_how["plain"], strict=False))
        if not pairs:
            continue
        shares = 100 * np.array([ray["runs_per_s"] / plain["runs_per_s"] for ray, plain in pairs])
        ray, plain = (
            float(np.median([s["runs_per_s"] for s in by_how[how]])) for how in ("ray", "plain")
        )
        used = [np.median([s["processors_used"] for s in by_how[how]]) for how in ("ray", "plain")]
        each_s = len(os.sched_getaffinity(0)) / plain
        note = (
            f"{len(pairs)} pairs, {shares.min():.1f} to {shares.max():.1f} %;"
            f" {ray:.3g} against {plain:.3g} runs/s of {each_s:.2g} s each;"
            f" processors used {used[0]:.2f}, {used[1]:.2f};"
            f" load {np.median([s['load'] for s in samples if s['kind'] == kind]):.1f}"
        )
        name = f"runs a second on Ray over those of plain processes, {kind} points"
        yield at_least(name, float(np.median(shares)), "%", _LEAST[kind], note)
    started = [s["start_s"] for s in samples if s["how"] == "ray"]
    if started:
        yield Figure(name="start of a Ray of one's own", value=float(np.median(started)), unit="s")


def _driver(kept: Sequence[Sample]) -> Iterator[Sample]:
    for points in _POINTS[len(kept) :]:
        with _folder() as folder:
            yield _json("bench.sweeps.driver", points, folder / "out")


def _driver_figures(samples: Sequence[Sample]) -> Iterator[Figure]:
    for sample in samples:
        points = sample["points"]
        each_ms = 1e3 * sample["driver_processor_s"] / points
        name = f"driver's processor time a point, {points:,} points that compute nothing"
        yield at_most(name, each_ms, "ms", 0.1, f"{sample['seconds']:.1f} s in all")
        peak = sample["peak_bytes"] / 1e6
        yield Figure(name=f"driver's memory at most, {points:,} points", value=peak, unit="MB")


def _many(kept: Sequence[Sample]) -> Iterator[Sample]:
    if not kept:
        with _folder() as folder:
            code, seconds, said = _sweep(_MANY, "--out", folder / "out", "--no-report")
            yield {"code": code, "seconds": seconds, "said": said.splitlines()[0]}


def _many_figures(samples: Sequence[Sample]) -> Iterator[Figure]:
    for sample in samples:
        name = "10,000 configurations of resnet50, 200 steps, one run each, start included"
        yield at_most(name, sample["seconds"], "s", 600.0, sample["said"])


def _losses(kept: Sequence[Sample]) -> Iterator[Sample]:
    """A cluster of three nodes that loses a node, a process and its driver; against one process."""
    with _folder() as folder:
        code, _, _ = _sweep(_LOSSES, "--serial", "--out", folder / "serial", "--no-report")
        assert code == 0
        wanted = _rows(folder / "serial")
        for trial in range(len(kept), _TRIALS):
            out = folder / str(trial)
            begun_s = time.perf_counter()
            command = ["bench.sweeps.three_nodes", str(trial), str(_LOSSES), str(out)]
            done = subprocess.run(
                [sys.executable, "-P", "-m", *command],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                check=False,
            )
            lines = [x.partition(": ")[2] for x in done.stderr.splitlines() if "three_nodes" in x]
            yield {
                "trial": trial,
                "code": done.returncode,
                "equal": _rows(out).equals(wanted),
                "seconds": time.perf_counter() - begun_s,
                "lost": lines,
            }


def _rows(folder: Path) -> Any:
    import polars

    return polars.scan_parquet(folder / "runs/*.parquet").sort("key", "run").collect()


def _losses_figures(samples: Sequence[Sample]) -> Iterator[Figure]:
    if samples:
        right = sum(s["equal"] and s["code"] == 0 for s in samples)
        all_lost = sum(any("0 losses before" in line for line in s["lost"]) for s in samples)
        note = f"all three lost in {all_lost}; {np.median([s['seconds'] for s in samples]):.0f} s"
        name = "sweeps that lost a node, a process and the driver, equal to the serial one"
        yield at_least(name, right, f"of {len(samples)}", len(samples), note)


def _study(kept: Sequence[Sample]) -> Iterator[Sample]:
    """The straggler study, and once more when it is complete."""
    if not kept:
        with _folder() as folder:
            code, seconds, said = _sweep(_STUDY, "--out", folder / "out")
            _, again_s, _ = _sweep("--resume", folder / "out")
            first = said.splitlines()[0]
            yield {"code": code, "seconds": seconds, "again_s": again_s, "said": first}


def _study_figures(samples: Sequence[Sample]) -> Iterator[Figure]:
    for sample in samples:
        name = "examples/sweeps/stragglers.toml with its report"
        yield at_most(name, sample["seconds"], "s", 600.0, sample["said"])
        yield at_most("the same once more, complete", sample["again_s"], "s", 5.0)


@contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder, removed with all that is in it."""
    path = Path(tempfile.mkdtemp(prefix="netcosim-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


Measure = Callable[[Sequence[Sample]], Iterator[Sample]]
Figures = Callable[[Sequence[Sample]], Iterator[Figure]]
_PARTS: Final[dict[str, tuple[Measure, Figures]]] = {
    "throughput": (_throughput, _throughput_figures),
    "driver": (_driver, _driver_figures),
    "many": (_many, _many_figures),
    "losses": (_losses, _losses_figures),
    "study": (_study, _study_figures),
}


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
