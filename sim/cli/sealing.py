"""``sim.run --from RECORD --seal FILE``: predict from one worker's record, and seal it."""

import argparse
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console

from netcosim.cli import Parser, output
from netcosim.cli.options import given_path, is_given
from netcosim.errors import ScenarioError, StorageError
from netcosim.formatting import escaped
from netcosim.results.storage.directory import storage_errors
from netcosim.results.training.job_summary import JobSeries
from netcosim.results.training.seal import Seal, SealedPoint, dump_seal
from sim.compiling import compile_missing
from sim.progress import Progress
from sim.sealing.assumed import Assumed
from sim.sealing.predict import kernels_needed
from sim.sealing.record import Record, read_record
from sim.sealing.seal import seal_of


def add_sealing_options(parser: Parser) -> None:
    """Add the options of predictions from a record."""
    add = parser.add_argument_group("of predictions from one worker's record").add_argument
    add(
        "--from",
        dest="record",
        metavar="RECORD",
        type=given_path,
        help="results folder of emu.run --only 1; the scenario is the record's",
    )
    add("--seal", metavar="FILE", type=given_path, help="a new file for what is predicted")


def check_sealing(found: argparse.Namespace) -> None:
    """Refuse one option without the other, and options that would change the record's scenario.

    Raises
    ------
    ScenarioError
        As described.
    """
    if found.seal is None:
        raise ScenarioError("--from: needs --seal, a file for the predictions")
    if found.record is None:
        raise ScenarioError("--seal: needs --from, the record of one worker")
    other = {
        name: value
        for name, value in vars(found).items()
        if name not in ("record", "seal") and is_given(value)
    }
    for name in other:
        option = "--" + name.replace("_", "-")
        raise ScenarioError(f"{option}: does not go with --from: the scenario is the record's")


def seal_record(record_path: Path, seal_path: Path) -> int:
    """Predict what a record's scenario will measure, and seal it; return the exit code."""
    for number, wrong in (
        (errno.EEXIST, seal_path.exists()),
        (errno.ENOENT, not seal_path.absolute().parent.is_dir()),
    ):
        if wrong:
            raise StorageError(f"{seal_path}: can't be written: {os.strerror(number)}")
    record = read_record(record_path)
    console = Console(stderr=True, highlight=False)
    needed = [kernel for _, assumed in record.cells for kernel in kernels_needed(assumed)]
    compile_missing(needed, Progress(console))
    with console.status("predicting") as status:
        seal = seal_of(record, lambda cell: status.update(escaped(f"predicting {cell}")))
    _write_new(seal_path, dump_seal(seal))
    _print(record, seal, seal_path)
    return 0


def _write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, whole or not at all."""
    part = path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    with storage_errors(path, "can't be written"):
        try:
            part.write_bytes(data)
            os.link(part, path)
        finally:
            part.unlink(missing_ok=True)


def _counted(series: JobSeries, assumed: Assumed) -> Iterator[str]:
    """Lines on the time of messages by the machine's clock, and whether predictions count it."""
    if assumed.scenario.clock != "real":
        return
    if assumed.uneven is not None and series.messages is not None:
        yield f"{series.cell}: counting {series.messages.text}"
        return
    busy = ", ".join(f"; in the record {p.busy_text}" for p in series.points if p.busy_text)
    yield f"{series.cell}: what calls and messages take endpoints is not counted{busy}"


_RUNS: Final = {
    "packets": "runs whose packets are followed through TCP",
    "simulations": "perturbed simulations",
}


def _followed(point: SealedPoint) -> str:
    """Note where a prediction is not that of a single simulation."""
    if point.simulated is None or point.mean_of is None:
        return ""
    return f" (mean of {_RUNS[point.mean_of]}; by a single simulation {point.simulated:.5g})"


def _print(record: Record, seal: Seal, path: Path) -> None:
    lines = [line for series, assumed in record.cells for line in _counted(series, assumed)]
    for cell in seal.cells:
        for point in cell.points:
            spread = point.spread
            lines.append(
                f"{cell.cell}, {point.workers} worker{'s' * (point.workers > 1)}:"
                f" {point.examples_per_s:.5g} examples/s, perturbed {spread.low:.5g} to"
                f" {spread.high:.5g}{', in two groups' * spread.bimodal}{_followed(point)}"
            )
    lines += [f"sealed: {path}", f"sha256: {seal.sha256}"]
    output(highlight=False).print("\n".join(map(escaped, lines)), markup=False, soft_wrap=True)
