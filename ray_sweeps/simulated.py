"""The evaluator of a sweep over scenarios: a run of a point by `sim.simulate`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import sim
from netcosim.errors import ScenarioError
from netcosim.formatting import one_line
from netcosim.results.training.runs_table import runs_schema
from netcosim.scenario import Scenario
from netcosim.user_files import FileContent, supplied
from ray_sweeps.evaluation import ENGINE_HASH, ERROR, FACTOR, KEY, RUN, Resolved, Values
from ray_sweeps.keys import engine, key_of, spelled_key
from ray_sweeps.space import Factor, Point, Space
from sim.experiment.axes import worker_counts
from sim.settings.choices import with_choices

_ARROW: Final = {"whole": "int64", "number": "double", "text": "string", "flag": "bool"}
_LEFT_OUT: Final = frozenset({"run", "scenario", "cell", "engine_hash"})


def factor_column(factor: Factor) -> str:
    """Name of a factor's column."""
    return FACTOR + factor.name


@dataclass(frozen=True)
class Simulated:
    """Evaluator of the points of a space.

    Attributes
    ----------
    space : the sweep's
    base : the scenario that its points are changes of
    files : contents of all profiles and speed traces that a point may name, by path
    """

    space: Space
    base: Scenario
    files: Mapping[str, FileContent] = field(default_factory=dict)

    def schema(self) -> Any:
        """Columns: the point's key, the run, the engine, an error, factors, figures."""
        return self._schema

    def scenario(self, point: Point) -> Scenario:
        """Scenario of a point: one cell, one number of workers.

        Raises
        ------
        ScenarioError
            No scenario may have these values together.
        """
        return with_choices(self.base, point.changes, "point", also_given=True)[0]

    def resolve(self, number: int) -> Resolved | None:
        """Find a point's key; its work is the steps of all of its workers together."""
        point = self.space.point(number)
        if point is None:
            return None
        try:
            scenario = self.scenario(point)
            (workers,) = worker_counts(scenario)
            with supplied(self.files):
                key = key_of(scenario)
            return Resolved(key, float(workers * scenario.training.steps))
        except ScenarioError:  # its run is a row that says so
            return Resolved(spelled_key(self.base, point.changes), 1.0)

    def evaluate(self, number: int, run: int, key: str) -> Values:
        """Make a run of a point; return its row."""
        point = self.space.point(number)
        assert point is not None
        factors = {FACTOR + name: value for name, value in point.values.items()}
        row = {KEY: key, RUN: run, ENGINE_HASH: engine(), ERROR: None, **factors}
        try:
            scenario = self.scenario(point)
            result = sim.simulate(
                scenario, runs=[run], compared=False, listener=sim.Nobody(), files=self.files
            )
            (figures,) = result.runs.to_pylist()
        except Exception as problem:  # noqa: BLE001 - the other points are still to be simulated
            return {**row, ERROR: _said(problem)}
        return {**row, **{name: figures[name] for name in self._figures}}

    @cached_property
    def _figures(self) -> tuple[str, ...]:
        return tuple(name for name in runs_schema().names if name not in _LEFT_OUT)

    @cached_property
    def _schema(self) -> Any:
        import pyarrow as pa

        figures = runs_schema()
        return pa.schema(
            [
                pa.field(KEY, pa.string(), nullable=False),
                pa.field(RUN, pa.int64(), nullable=False),
                pa.field(ENGINE_HASH, pa.string(), nullable=False),
                pa.field(ERROR, pa.string()),
                *(
                    pa.field(factor_column(each), pa.type_for_alias(_ARROW[each.kind]))
                    for each in self.space.factors
                ),
                *(pa.field(name, figures.field(name).type) for name in self._figures),
            ]
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "base": self.base, "files": self.files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _said(problem: Exception) -> str:
    """A failure in one line; the type of one that is not expected."""
    text = one_line(str(problem))
    return text if isinstance(problem, ScenarioError) else f"{type(problem).__name__}: {text}"
