"""Points of a space by number: a product of axes, decoded digit by digit, nothing listed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from ray_sweeps.sweep_file.changes import Change, Changes
from ray_sweeps.sweep_file.distributions import Distribution
from ray_sweeps.sweep_file.expressions import Expression
from ray_sweeps.sweep_file.fields import Kind, Scalar
from ray_sweeps.sweep_file.sampling import Method, quantiles

Values = dict[str, Scalar | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A factor of a sweep, the column ``factor_NAME`` of its tables.

    `values` are in the file's order; None if they are drawn.
    """

    name: str
    kind: Kind
    values: tuple[Scalar, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a space.

    Attributes
    ----------
    number : from 0
    values : of every factor, by name; None where it does not vary
    changes : to the base scenario, by dotted path, for `netcosim.scenario.with_values`; not to be
        written to, as points share what is in it
    """

    number: int
    values: Values
    changes: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws(Sequence[Scalar]):
    """Values that a factor draws, by position; computed when asked for, so that they pickle small.

    `name` and `seed` say which quantiles; they are the same wherever NumPy and SciPy are.
    """

    distribution: Distribution
    seed: int
    name: str
    method: Method
    positions: int

    def __len__(self) -> int:
        """Number of positions."""
        return self.positions

    @overload
    def __getitem__(self, position: int) -> Scalar: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Scalar]: ...
    def __getitem__(self, position: int | slice) -> Scalar | Sequence[Scalar]:
        """The value at a position."""
        if isinstance(position, slice):
            return [self[each] for each in range(*position.indices(self.positions))]
        found = quantiles(self.seed, self.name, self.method, self.positions)
        return self.distribution.value(float(found[position]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A factor's values on its axis, and what they change.

    Attributes
    ----------
    values : by level
    place : dotted path that takes the value as it is
    changes : else by level
    change : else computed when asked for
    draws : for `change` the number of the draw by level; without it the level
    """

    name: str
    values: Sequence[Scalar | None]
    place: str | None = None
    changes: tuple[Changes, ...] = ()
    change: Change | None = None
    draws: tuple[int, ...] = ()

    def changes_at(self, level: int, value: Scalar | None) -> Changes:
        """Changes of the level with this value, for a column without a place."""
        if self.changes:
            return self.changes[level]
        if self.change is None or value is None:
            return {}
        return self.change(value, self.draws[level] if self.draws else level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Factors that vary together, `length` levels of them."""

    columns: tuple[Column, ...]
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Without it factors of an axis do not vary.

    Attributes
    ----------
    names : of these factors
    axis : theirs, by place
    collapses : whether the axis then has one level, the first: nothing else is on it
    """

    expression: Expression
    names: tuple[str, ...]
    axis: int
    collapses: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """All points of a sweep, by number.

    Attributes
    ----------
    factors : in the file's order, those that the base scenario implies after them
    axes : their product is the space, the first one varying slowest
    conditions : of factors that do not always vary; each after those of the factors in it
    where : that every point fulfils, as far as it is known
    nested : whether a path may lead into what another one sets
    """

    factors: tuple[Factor, ...]
    axes: tuple[Axis, ...]
    conditions: tuple[Condition, ...]
    where: tuple[Expression, ...]
    nested: bool

    def __len__(self) -> int:
        """Length of the product of the axes, excluded points included."""
        return math.prod(axis.length for axis in self.axes)

    def point(self, number: int) -> Point | None:
        """The point of a number; None if it is excluded.

        Raises
        ------
        IndexError
            There is no such number.
        """
        values: Values = {factor.name: None for factor in self.factors}
        levels = self.levels(number)
        for axis, level in zip(self.axes, levels, strict=True):
            for column in axis.columns:
                values[column.name] = column.values[level]
        fixed = self._settled(levels, values) if self.conditions or self.where else ()
        if fixed is None:
            return None
        changes: dict[str, object] = {}
        for axis, level in zip(self.axes, levels, strict=True):
            for column in axis.columns:
                if column.name in fixed:
                    continue
                if column.place is not None:
                    changes[column.place] = values[column.name]
                else:
                    changes.update(column.changes_at(level, values[column.name]))
        if self.nested:
            changes = dict(sorted(changes.items(), key=_depth))
        return Point(number=number, values=values, changes=changes)

    def numbers(self, first: int = 0) -> Iterator[int]:
        """Numbers of all points that are not excluded, ascending, from `first` on.

        Faster than `point` on each: what no point can have is left out as a whole.
        """
        from ray_sweeps.space.walk import Walk

        for begin, end in Walk(self).blocks(first):
            yield from range(begin, end)

    def count(self, most_steps: int = 2_000_000) -> int | None:
        """Count the points that are not excluded; None if that takes more steps than these."""
        from ray_sweeps.space.walk import TooLongError, Walk

        try:
            walk = Walk(self, conditioned_first=True, most_steps=most_steps)
            return sum(end - begin for begin, end in walk.blocks())
        except TooLongError:
            return None

    def levels(self, number: int) -> list[int]:
        """Level of each axis."""
        rest = number
        levels = []
        for axis in reversed(self.axes):
            rest, level = divmod(rest, axis.length)
            levels.append(level)
        if rest:
            raise IndexError(f"{number}: must be 0 to {len(self) - 1}")
        levels.reverse()
        return levels

    def _settled(self, levels: Sequence[int], values: Values) -> set[str] | None:
        """Factors that do not vary, their values made None; None if the point is excluded."""
        fixed: set[str] = set()
        for condition in self.conditions:
            if condition.expression(values) is not True:
                if condition.collapses and levels[condition.axis]:
                    return None
                fixed.update(condition.names)
                values.update(dict.fromkeys(condition.names))
        if any(expression(values) is False for expression in self.where):
            return None
        return fixed


def _depth(change: tuple[str, object]) -> int:
    return change[0].count(".")
