"""The results folder of a sweep."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict

from netcosim.errors import StorageError
from netcosim.results.json_files import from_json, to_json
from netcosim.results.storage.claimed_folder import ClaimedFolder
from netcosim.results.storage.ownership import Owner
from netcosim.scenario import dump_scenario, parse_scenario
from netcosim.user_files import RECORD as RECORD_FILE
from netcosim.user_files import SCENARIO as SCENARIO_FILE
from ray_sweeps.sweep_file import Sweep, read_sweep

RUNS: Final = "runs"
SWEEP: Final = "sweep.toml"
SCENARIO: Final = "scenario.toml"
RECORD: Final = "run.json"


class SweepRecord(BaseModel):
    """Record of how the runs of a sweep's folder were made, as far as that has come.

    Attributes
    ----------
    definition : hash of what is swept and by which engine
    replications : of each point
    origin : folder that paths in the sweep file count from
    complete : whether all runs were made
    command, started, finished : of the last start
    made, errors, again, given_up : see `ray_sweeps.runner.drive.State`; of the last start
    points, runs : of the sweep, where they are known
    kept : runs in the dataset, those of values that the sweep no longer has included
    twice : numbers of the space that are the same point as another one
    versions, host : of the last start
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["netcosim-sweep-record"] = "netcosim-sweep-record"
    version: Literal[1] = 1
    definition: str
    replications: int
    origin: str = "."
    complete: bool = False
    command: tuple[str, ...] = ()
    started: str = ""
    finished: str = ""
    duration_s: float = 0.0
    points: int = 0
    twice: int = 0
    runs: int = 0
    kept: int = 0
    made: int = 0
    errors: int = 0
    again: int = 0
    given_up: int = 0
    processors: int = 0
    executor: str = ""
    versions: dict[str, str] = {}
    host: dict[str, Any] = {}


class SweepFolder(ClaimedFolder):
    """One sweep's folder. Close it, or use a ``with`` statement."""

    @classmethod
    def create(cls, path: Path, sweep: Sweep, owner: Owner | None, needed_bytes: int) -> Self:
        """Make the folder and write the sweep as resolved.

        Raises
        ------
        StorageError
            It can't be written, exists and is not empty, or its disk has too little space.
        """
        go_on = "; to go on with a sweep, say --resume"
        folder = cls.claim(path, owner, RUNS, needed_bytes=needed_bytes, else_do=go_on)
        try:
            folder.write_sweep(sweep)
        except BaseException:
            folder.withdraw()
            raise
        return folder

    @classmethod
    def open(cls, path: Path, owner: Owner | None = None) -> Self:
        """Open the folder of a sweep that was begun.

        Raises
        ------
        StorageError
            There is none, or it is of something else.
        """
        folder = super().open(path, owner)
        if not folder.has(SWEEP):
            folder.close()
            raise StorageError(f"{path}: is not the folder of a sweep: it has no {SWEEP}")
        return folder

    def write_sweep(self, sweep: Sweep) -> None:
        """Write the sweep: its file as it is, its base scenario as resolved."""
        self.write(SWEEP, sweep.text.encode())
        self.write(SCENARIO, dump_scenario(sweep.base).encode())

    def read_sweep(self) -> Sweep:
        """Read the sweep that was begun here, with the scenario that it then had."""
        record = self.read_record()
        text = self.read(SCENARIO, SCENARIO_FILE).decode(errors="replace")
        base = parse_scenario(text, str(self.path / SCENARIO))
        origin = None if record is None else Path(record.origin)
        sweep = read_sweep(self.path / SWEEP, base=base, folder=origin)
        replications = sweep.replications if record is None else record.replications
        return replace(sweep, replications=replications)

    def read_record(self) -> SweepRecord | None:
        """Read the record of its starts; None if none has begun to make runs."""
        if not self.has(RECORD):
            return None
        return from_json(SweepRecord, self.read(RECORD, RECORD_FILE), str(self.path / RECORD))

    def write_record(self, record: SweepRecord) -> None:
        """Write how its runs were made."""
        self.write(RECORD, to_json(record).encode(), durable=True)
