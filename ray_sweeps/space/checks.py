"""Checks of a space before anything is simulated: some points of each value are tried."""

from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from random import Random
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.formatting import quoted
from netcosim.scenario import Scenario, with_values
from ray_sweeps.space.points import Column, Condition, Draws, Point, Space
from ray_sweeps.space.walk import TooLongError, Walk
from ray_sweeps.sweep_file.expressions import Expression
from sim.experiment.checks import checked_cells
from sim.experiment.kept_plans import Plans
from sim.experiment.link_share import with_share
from sim.settings.choices import with_choices

TRIED: Final = 20
"""Points that are tried with a value before it is refused."""

_MOST_LEVELS: Final = 100
"""Levels of an axis that are tried, its ends among them; of draws `TRIED` are."""

_SOURCE: Final = "changes"
_MOST_STEPS: Final = 2_000_000
_STEPS_OF_A_TRY: Final = 20_000


def check_space(space: Space, base: Scenario, fields: Mapping[str, str]) -> None:
    """Refuse a space without a point, and values with which no point makes a scenario.

    Parameters
    ----------
    base : the scenario that points change
    fields : where factors stand in the sweep file, by name

    Raises
    ------
    ScenarioError
        One line that names field, value and what is wrong.
    """
    _check_not_empty(space)
    trial = _Trial(space, base, fields)
    for condition in space.conditions:
        trial.check_varies(condition)
    for axis in range(len(space.axes)):
        trial.check_axis(axis)
    if not space.axes:
        trial.check_point(_point(space, 0))
    trial.check_used()


def _check_not_empty(space: Space) -> None:
    walk = Walk(space, conditioned_first=True, most_steps=_MOST_STEPS)
    try:
        if next(walk.blocks(), None) is not None:
            return
    except TooLongError:
        raise ScenarioError(f"where: no point among {_MOST_STEPS} that were tried") from None
    raise ScenarioError("where: excludes every point")


class _Trial:
    """Points that are tried, and the levels that have been in one that makes a scenario."""

    def __init__(self, space: Space, base: Scenario, fields: Mapping[str, str]) -> None:
        self.space = space
        self.base = base
        self.fields = fields
        self.plans = Plans()
        self.random = Random(0)
        self.fine: set[tuple[int, int]] = set()
        self.used: set[str] = set()
        self.left_out: dict[str, tuple[int, Point]] = {}
        self.wanted = [_tried_levels(axis.length) for axis in space.axes]

    def check_varies(self, condition: Condition) -> None:
        """Refuse a factor whose condition is fulfilled by no point."""
        name = condition.names[0]
        walk = self._walk(condition.expression)
        try:
            if walk.some({}, {}, self.random) is None:
                field = self.fields.get(name, name)
                text = quoted(condition.expression.text)
                raise ScenarioError(f"{field}.when: {text}: is true of no point")
        except TooLongError:
            return

    def check_axis(self, axis: int) -> None:
        """Refuse a value of an axis, or all of its draws, if no point with it makes a scenario."""
        columns = self.space.axes[axis].columns
        drawn = any(isinstance(column.values, Draws) for column in columns)
        first: ScenarioError | None = None
        levels = self.wanted[axis]
        # A range that leads too far is refused by its end, before all that lies between is tried.
        for level in levels[:TRIED] if drawn else [*levels[:1], *levels[:0:-1][:1], *levels[1:-1]]:
            if (axis, level) in self.fine:
                if drawn:
                    return
                continue
            problem = self._problem_of(axis, level)
            if problem is None and drawn:
                return
            if problem is not None and not drawn:
                raise problem
            first = first or problem
        if first is not None:
            raise first

    def check_used(self) -> None:
        """Refuse a factor that is an option of policies which no point has that was tried."""
        for name, (axis, point) in self.left_out.items():
            if name in self.used:
                continue
            try:
                checked_cells(with_share(with_values(self.base, point.changes, _SOURCE)))
            except ScenarioError as problem:
                raise self._named(axis, point, problem) from None

    def check_point(self, point: Point) -> Set[str]:
        """Refuse a point that makes no scenario that can be simulated, with one cell.

        Returns
        -------
        Set[str]
            Places of what is left out, as the policies that the point chooses have not got it.

        Raises
        ------
        ScenarioError
            What is wrong with its scenario.
        """
        scenario, left_out = with_choices(self.base, point.changes, _SOURCE, also_given=True)
        checked_cells(with_share(scenario), self.plans)
        return {one.path for one in left_out}

    def _problem_of(self, axis: int, level: int) -> ScenarioError | None:
        """First failure of the points tried of a level; None if one is fine, or none is found."""
        first: ScenarioError | None = None
        for point in self._points(axis, level):
            try:
                left_out = self.check_point(point)
            except ScenarioError as problem:
                first = first or self._named(axis, point, problem)
                continue
            self._note(point, left_out)
            return None
        return first

    def _points(self, axis: int, level: int) -> Iterator[Point]:
        """Some points of a level, in which its factors vary."""
        own = {column.name for column in self.space.axes[axis].columns}
        conditions = [c.expression for c in self.space.conditions if own & set(c.names)]
        seen: set[int] = set()
        for _ in range(TRIED):
            begin = {} if seen else self._not_yet_tried()
            walk = self._walk(*conditions)
            try:
                number = walk.some({axis: level}, begin, self.random)
            except TooLongError:
                return
            if number is None:
                return
            if number not in seen:
                seen.add(number)
                yield _point(self.space, number)

    def _walk(self, *also: Expression) -> Walk:
        return Walk(self.space, conditioned_first=True, most_steps=_STEPS_OF_A_TRY, also=also)

    def _not_yet_tried(self) -> dict[int, int]:
        """The first level of each axis that has not been in a point that was fine."""
        found = {}
        for axis, levels in enumerate(self.wanted):
            left = (level for level in levels if (axis, level) not in self.fine)
            found[axis] = next(left, levels[0])
        return found

    def _note(self, point: Point, left_out: Set[str]) -> None:
        """Note the levels of a point that is fine, as far as their factors vary in it."""
        for axis, level in enumerate(self.space.levels(point.number)):
            varied = [c for c in self.space.axes[axis].columns if point.values[c.name] is not None]
            if varied:
                self.fine.add((axis, level))
            for column in varied:
                if column.place in left_out:
                    self.left_out.setdefault(column.name, (axis, point))
                else:
                    self.used.add(column.name)

    def _named(self, axis: int, point: Point, problem: ScenarioError) -> ScenarioError:
        """Problem of a point with what it is of: the scenario, or a factor, if it can be told.

        That is the scenario if it has the problem without any change; else a factor whose value
        alone is refused, one of the axis first; else the first one of the axis.
        """
        said = str(problem).removeprefix(f"{_SOURCE}: ")
        if said == self.base_problem:
            return ScenarioError(f"scenario: {said}")
        levels = self.space.levels(point.number)
        axes = [axis, *(other for other in range(len(levels)) if other != axis)]
        columns = [(levels[a], column) for a in axes for column in self.space.axes[a].columns]
        varied = [(n, column) for n, column in columns if point.values[column.name] is not None]
        for _, column in sorted(varied, key=lambda c: self._is_fine_alone(c[1], c[0], point))[:1]:
            field = self.fields.get(column.name, column.name)
            return ScenarioError(f"{field}: {quoted(point.values[column.name])}: {said}")
        return problem

    @cached_property
    def base_problem(self) -> str | None:
        """Problem of the scenario that points change; None if it has none."""
        try:
            checked_cells(with_share(self.base), self.plans)
        except ScenarioError as problem:
            return str(problem)
        return None

    def _is_fine_alone(self, column: Column, level: int, point: Point) -> bool:
        """True if the value alone makes a scenario."""
        value = point.values[column.name]
        if column.place is None:
            changes = dict(column.changes_at(level, value))
        else:
            changes = {column.place: value}
        try:
            with_choices(self.base, changes)
        except ScenarioError:
            return False
        return True


def _tried_levels(length: int) -> list[int]:
    """Levels of an axis to be tried, evenly spread, the first and the last among them."""
    if length <= _MOST_LEVELS:
        return list(range(length))
    return [k * (length - 1) // (_MOST_LEVELS - 1) for k in range(_MOST_LEVELS)]


def _point(space: Space, number: int) -> Point:
    found = space.point(number)
    if found is None:
        raise IndexError(f"{number}: is excluded")
    return found
