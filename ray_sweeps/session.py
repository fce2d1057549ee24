"""Session of a sweep: its runs are made and kept in a folder, wherever they are made."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from netcosim.cli.session import first_of
from netcosim.errors import StorageError
from netcosim.results.host import describe_host, versions
from ray_sweeps.cost import Estimate
from ray_sweeps.keys import engine
from ray_sweeps.runner.drive import Listener, State, drive
from ray_sweeps.runner.executor import Executor
from ray_sweeps.runner.serial import Serial
from ray_sweeps.runner.work import Work
from ray_sweeps.simulated import Simulated
from ray_sweeps.store.dataset import Dataset
from ray_sweeps.store.folder import SweepFolder, SweepRecord
from ray_sweeps.sweep_file import Sweep
from sim.compiling import compile_missing

_LIBRARIES: Final = ("netcosim", "ray", "numpy", "numba", "llvmlite", "pyarrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Place where runs are made: this process, a Ray of the sweep's own, or a cluster.

    Attributes
    ----------
    serial : in this process
    address : on the Ray cluster there; None: on a Ray of the sweep's own
    processors : of that one
    ship_code : whether a cluster's machines get this project's sources
    """

    serial: bool = False
    address: str | None = None
    processors: int = 1
    ship_code: bool = False

    @property
    def name(self) -> str:
        """In a word, for records."""
        if self.serial:
            return "serial"
        return "own Ray" if self.address is None else "cluster"


@dataclass(slots=True, kw_only=True)
class Session:
    """One start of a sweep in a folder; `run` may be called once.

    Attributes
    ----------
    cost : of the sweep, for the kernels that are compiled before it
    failure : what ended it early
    was_complete : whether all runs were there before
    """

    sweep: Sweep
    evaluator: Simulated
    folder: SweepFolder
    where: Where
    cost: Estimate
    listener: Listener
    command: tuple[str, ...] = ()
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    failure: BaseException | None = None
    was_complete: bool = False

    @property
    def definition(self) -> str:
        """Hash of what is swept, by which engine."""
        files = {path: content.digest for path, content in self.evaluator.files.items()}
        base = self.sweep.base.model_dump(mode="json")
        data = [self.sweep.text, base, files, self.sweep.replications, engine()]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def run(self) -> SweepRecord:
        """Make all runs that are not there, or as many as is possible.

        Raises
        ------
        StorageError
            The folder's files can't be read.
        ScenarioError
            They are of another sweep or engine.
        """
        before = self.folder.read_record()
        dataset = Dataset(self.folder, self.evaluator.schema())
        taken = dataset.taken(engine())
        if before is not None and self._is_complete(before, len(taken)):
            self.was_complete = True
            return before
        work = Work(numbers=len(self.evaluator.space), runs=self.sweep.replications, taken=taken)
        self.folder.write_sweep(self.sweep)
        self.folder.write_record(self._record(None, None))
        state: State | None = None
        try:
            with self._executor() as executor:
                compile_missing(self.cost.kernels, self.listener)
                state = State(work=work, processors=executor.processors)
                drive(state, executor, dataset, self.listener)
        except (KeyboardInterrupt, Exception) as problem:  # noqa: BLE001 - told by the command
            self.failure = problem
        record = self._record(work, state)
        try:
            self.folder.write_record(record)
        except StorageError as problem:
            self.failure = first_of(self.failure, problem)
        return record

    def _is_complete(self, before: SweepRecord, taken: int) -> bool:
        """True if all runs were made, and all of them are still there."""
        return before.complete and before.definition == self.definition and before.kept == taken

    @contextmanager
    def _executor(self) -> Iterator[Executor]:
        if self.where.serial:
            yield Serial(self.evaluator)
            return
        address, say = self.where.address, self.listener.say
        if address is not None:
            from ray_sweeps.runner.cluster import on_cluster

            ship = self.where.ship_code
            with on_cluster(address, self.evaluator, say, ship_code=ship) as executor:
                yield executor
            return
        from ray_sweeps.runner.local_ray import on_local_ray

        shipped = sum(len(content.data) for content in self.evaluator.files.values())
        processors = self.where.processors
        with on_local_ray(self.folder, processors, self.evaluator, say, shipped) as executor:
            yield executor

    def _record(self, work: Work | None, state: State | None) -> SweepRecord:
        now = datetime.now(UTC)
        given_up = 0 if state is None else sum(map(len, state.given_up))
        return SweepRecord(
            definition=self.definition,
            replications=self.sweep.replications,
            origin=str(self.sweep.folder),
            complete=work is not None and self.failure is None and not given_up,
            command=self.command,
            started=self.started.isoformat(timespec="seconds"),
            finished=now.isoformat(timespec="seconds"),
            duration_s=round((now - self.started).total_seconds(), 3),
            points=0 if work is None else work.wanted // max(1, work.runs),
            twice=0 if work is None else work.twice,
            runs=0 if work is None else work.wanted,
            kept=(0 if work is None else len(work.taken)) + (0 if state is None else state.made),
            made=0 if state is None else state.made,
            errors=0 if state is None else state.errors,
            again=0 if state is None else state.again,
            given_up=given_up,
            processors=0 if state is None else state.processors,
            executor=self.where.name,
            versions=versions(_LIBRARIES),
            host=describe_host(),
        )
