"""`sim.simulate`: a scenario in, tables out; no folder, no report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module, resources
from pathlib import Path
from typing import Any, Final

from netcosim.errors import ScenarioError
from netcosim.results.training import operations, steps
from netcosim.results.training.findings import findings
from netcosim.results.training.points_table import points_table
from netcosim.results.training.runs_table import runs_table
from netcosim.results.training.summary import TrainingSummary
from netcosim.scenario import (
    Scenario,
    build_scenario,
    builtin_scenarios,
    named_scenario,
    read_scenario,
)
from netcosim.trace import trace_table
from netcosim.user_files import FileContent, supplied
from sim.compiling import Kernel, compile_missing, kernels_of
from sim.compiling.printed import Printed
from sim.experiment.axes import worker_counts
from sim.experiment.checks import checked_cells, notes
from sim.experiment.kept_plans import Plans
from sim.experiment.link_share import with_share
from sim.settings.choices import with_choices
from sim.simulation import Listener, Nobody, Simulation, prepare

MOST_RUNS: Final = 2**31
"""Numbers of runs are below this."""

_KEPT: Final = Plans()
"""Plans of this process's simulations."""

_LOOKED_FOR: Final = set[Kernel]()
"""Kernels that this process has, or has told of."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Results of a simulation.

    Attributes
    ----------
    scenario : as simulated: all changes applied, what was not set resolved
    notes : what the simulation leaves out, or can't do with these settings; a line each
    """

    scenario: Scenario
    notes: tuple[str, ...]
    _simulation: Simulation = field(repr=False)

    @cached_property
    def summary(self) -> TrainingSummary:
        """All figures, as in `summary.json` of a results folder.

        Raises
        ------
        ScenarioError
            One worker alone was not simulated.
        """
        if not self._simulation.compared:
            allowed = "points and the summary compare with one worker alone; leave it out"
            raise ScenarioError.at("compared", False, allowed)
        return self._simulation.summary()

    @cached_property
    def runs(self) -> Any:
        """A `pyarrow.Table` with a row for each cell, number of workers and run.

        `netcosim.results.training.runs_table` describes its columns.
        """
        return runs_table(self._simulation.rows)

    @cached_property
    def points(self) -> Any:
        """The main table: a `pyarrow.Table` with a row for each cell and number of workers.

        `netcosim.results.training.points_table` describes its columns.
        """
        return points_table(self.summary)

    @cached_property
    def steps(self) -> Any:
        """Begin and end of each step of the first runs: the table of `steps.parquet`."""
        return steps.TABLE.table(steps.TABLE.joined(self._simulation.steps))

    @cached_property
    def operations(self) -> Any:
        """Operations of the traced workers' first steps: the table of `operations.parquet`."""
        return operations.TABLE.table(operations.TABLE.joined(self._simulation.operations))

    @cached_property
    def transfers(self) -> Any:
        """Transfers of the first traced number of workers: the table of `trace.parquet`."""
        return trace_table(self._simulation.transfers)

    @property
    def findings(self) -> tuple[str, ...]:
        """Findings in sentences for a person."""
        return tuple(
            f"{series.cell}: {said}" for series in self.summary.series for said in findings(series)
        )

    def to_pandas(self) -> Any:
        """`points` as a pandas data frame.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return self.points.to_pandas()

    def to_polars(self) -> Any:
        """`points` as a polars data frame.

        Raises
        ------
        ImportError
            polars is not installed.
        """
        return import_module("polars").from_arrow(self.points)


def simulate(
    scenario: Scenario | Mapping[str, Any] | str | Path = "default",
    changes: Mapping[str, object] | None = None,
    *,
    runs: Sequence[int] | None = None,
    compared: bool = True,
    trace: Sequence[int] = (),
    recommend: bool = False,
    threads: int = 1,
    listener: Listener | None = None,
    plans: Plans | None = None,
    files: Mapping[str, FileContent] | None = None,
) -> Result:
    """Simulate every cell of a scenario with every number of workers.

    Plans are kept from one call to the next, so that another rate, number of workers, transport or
    synchronisation of the same job is prepared at once.

    Parameters
    ----------
    scenario : a file's path, a built-in scenario's name, a mapping as a file would hold it, or a
        `Scenario`
    changes : values to put in place of the scenario's, by dotted path, such as
        ``{"cluster.link.rate": "10gbit", "training.workers": [1, 8]}``; see
        `netcosim.scenario.with_values`. With a policy that is chosen here, options that the
        scenario has for another one are left out
    runs : which runs of each number of workers, from 0; by default all repetitions. Runs of one
        number draw the same, whatever else is simulated
    compared : whether one worker alone, without stragglers, is simulated too: speed-ups and
        formulas compare with it. Without it the result has `runs`, and no `points` or `summary`
    trace : numbers of workers whose first steps are kept operation by operation
    recommend : also find out, by runs at the knee, what one step more of each thing would change
    threads : runs to do at a time; they do not change the results
    listener : is told of every run, and of kernels that are compiled before the first one. By
        default the latter is said on standard error; `sim.Nobody` keeps silent
    plans : where plans are kept; the process's own by default
    files : contents of profiles and speed traces by the path that the scenario has, for a machine
        where these paths are not

    Raises
    ------
    ScenarioError
        One line that names the field, its value and what is allowed.
    """
    with supplied(files or {}):
        asked = with_share(with_choices(_read(scenario), changes or {})[0])
        cells = checked_cells(asked, _KEPT if plans is None else plans)
        _check_trace(trace, asked)
        if not isinstance(threads, int) or threads < 1:
            raise ScenarioError.at("threads", threads, "must be a whole number >= 1")
        _check_runs(runs)
        if recommend and not compared:
            raise ScenarioError.at("recommend", True, "needs compared = True")
        simulation = Simulation(
            scenario=asked,
            cells=cells,
            traced=tuple(trace),
            threads=threads,
            listener=Nobody() if listener is None else listener,
            recommending=recommend,
            numbers=runs,
            compared=compared,
            each_run=True,
        )
        for cell in cells:
            prepare(cell, simulation.listener)
        if not isinstance(listener, Nobody):
            _compile(simulation, listener or Printed(on_stderr=True))
        for cell in cells:
            simulation.simulate(cell)
            if recommend:
                simulation.recommend(cell)
            simulation.trace(cell)
        return Result(
            scenario=asked,
            notes=(*notes(asked, cells), *simulation.problems),
            _simulation=simulation,
        )


def _compile(simulation: Simulation, listener: Listener | Printed) -> None:
    """Compile kernels that the cache lacks, telling so; each is looked for once in a process."""
    scenario = simulation.scenario
    needed = {
        kernel
        for cell in simulation.cells
        for kernel in kernels_of(
            cell,
            worker_counts(scenario),
            traced=bool(simulation.traced),
            recommending=simulation.recommending,
            compared=simulation.compared,
        )
    }
    compile_missing(sorted(needed - _LOOKED_FOR, key=str), listener)
    _LOOKED_FOR.update(needed)


def _check_runs(runs: Sequence[int] | None) -> None:
    if runs is None:
        return
    allowed = "must be a list of different whole numbers, from 0"
    if not isinstance(runs, Sequence) or not runs or len(set(runs)) != len(runs):
        raise ScenarioError.at("runs", str(runs), allowed)
    if not all(type(run) is int and 0 <= run < MOST_RUNS for run in runs):
        raise ScenarioError.at("runs", str(runs), allowed)


def _check_trace(trace: Sequence[int], scenario: Scenario) -> None:
    if not isinstance(trace, Sequence):
        raise ScenarioError.at("trace", trace, "must be a list of numbers of workers")
    strange = [workers for workers in trace if workers not in worker_counts(scenario)]
    if strange:
        allowed = f"must be among the numbers of workers: {_listed(worker_counts(scenario))}"
        raise ScenarioError.at("trace", strange[0], allowed)
    if trace and not scenario.training.trace_steps:
        raise ScenarioError.at("trace", list(trace), "needs training.trace_steps")


def _read(scenario: Scenario | Mapping[str, Any] | str | Path) -> Scenario:
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return build_scenario(dict(scenario))
    if not isinstance(scenario, Path | str):
        what = "must be a path, the name of a built-in one, a mapping or a Scenario"
        raise ScenarioError.at("scenario", scenario, what)
    if isinstance(scenario, Path):
        return read_scenario(scenario)
    builtin = builtin_scenarios(resources.files("sim") / "scenarios")
    return named_scenario(scenario, builtin, "scenario")


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))
