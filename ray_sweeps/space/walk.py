"""A walk through a space axis by axis, that leaves out as a whole what conditions exclude."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from random import Random

from ray_sweeps.space.points import Condition, Space, Values
from ray_sweeps.sweep_file.expressions import Expression

Check = Condition | Expression


class TooLongError(Exception):
    """A walk has taken more steps than it may."""


class Walk:
    """A walk through a space.

    Parameters
    ----------
    space : to walk through
    conditioned_first : take the axes that conditions look at first, so that as much as can be is
        told at once of the others; numbers then do not ascend, and blocks are not contiguous
    most_steps : levels of axes to look at before `TooLongError`; None: as many as there are
    also : conditions beside the space's own, as those of ``where``, but known to be fulfilled
    """

    def __init__(
        self,
        space: Space,
        *,
        conditioned_first: bool = False,
        most_steps: int | None = None,
        also: Sequence[Expression] = (),
    ) -> None:
        self._space = space
        self._also = also
        self._left = math.inf if most_steps is None else most_steps
        self._axis_of = {c.name: i for i, axis in enumerate(space.axes) for c in axis.columns}
        order = range(len(space.axes))
        looked_at = self._looked_at()
        self._order = sorted(order, key=lambda i: i not in looked_at if conditioned_first else i)
        lengths = [axis.length for axis in space.axes]
        self._weights = [math.prod(lengths[i + 1 :]) for i in order]
        self._checks = self._checks_by_depth()
        self._last = max((depth for depth, found in enumerate(self._checks) if found), default=-1)
        self._sizes = [
            math.prod(lengths[i] for i in self._order[d:]) for d in range(len(order) + 1)
        ]

    def blocks(self, first: int = 0) -> Iterator[tuple[int, int]]:
        """Blocks of numbers that are not excluded, from (included) to (excluded).

        Raises
        ------
        TooLongError
            There are more steps to take than the walk may.
        """
        values: Values = {factor.name: None for factor in self._space.factors}
        for levels in self._walk(0, [0] * len(self._order), values, first, {}):
            begin = sum(level * w for level, w in zip(levels, self._weights, strict=True))
            end = begin + self._sizes[self._last + 1]
            if end > first:
                yield max(begin, first), end

    def some(
        self, fixed: Mapping[int, int], begin: Mapping[int, int], random: Random
    ) -> int | None:
        """The number of some point that is not excluded; None if there is none.

        Parameters
        ----------
        fixed : levels that the point has, by axis
        begin : levels that it has if it may, by axis; others are `random`
        """
        starts = {
            axis: begin.get(axis, random.randrange(self._space.axes[axis].length))
            for axis in self._order
        }
        values: Values = {factor.name: None for factor in self._space.factors}
        wanted = {**starts, **fixed}
        for levels in self._walk(0, [0] * len(self._order), values, 0, wanted, set(fixed)):
            rest = {axis: wanted[axis] for axis in self._order[self._last + 1 :]}
            found = [rest.get(axis, level) for axis, level in enumerate(levels)]
            return sum(level * w for level, w in zip(found, self._weights, strict=True))
        return None

    def _walk(
        self,
        depth: int,
        levels: list[int],
        values: Values,
        first: int,
        starts: Mapping[int, int],
        fixed: Collection[int] = (),
    ) -> Iterator[Sequence[int]]:
        """Levels up to the last axis that a condition looks at, if they are not excluded."""
        if depth > self._last:
            yield levels
            return
        axis = self._order[depth]
        for level in self._levels(axis, starts.get(axis, 0), axis in fixed):
            self._left -= 1
            if self._left < 0:
                raise TooLongError
            levels[axis] = level
            if first and self._before(depth, levels, first):
                continue
            mine = dict(values)
            for column in self._space.axes[axis].columns:
                mine[column.name] = column.values[level]
            if all(self._holds(check, levels, mine) for check in self._checks[depth]):
                yield from self._walk(depth + 1, levels, mine, first, starts, fixed)
        levels[axis] = 0

    def _levels(self, axis: int, start: int, fixed: bool) -> Iterator[int]:
        length = self._space.axes[axis].length
        return iter((start,)) if fixed else chain(range(start, length), range(start))

    def _before(self, depth: int, levels: Sequence[int], first: int) -> bool:
        """True if all numbers below this place of an ascending walk are smaller than `first`."""
        begin = sum(levels[axis] * self._weights[axis] for axis in self._order[: depth + 1])
        return begin + self._sizes[depth + 1] <= first

    def _holds(self, check: Check, levels: Sequence[int], values: Values) -> bool:
        """True if a condition lets a point be; factors that do not vary become None."""
        if isinstance(check, Expression):
            found = check(values)
            return found is True if check in self._also else found is not False
        if check.expression(values) is not True:
            if check.collapses and levels[check.axis]:
                return False
            values.update(dict.fromkeys(check.names))
        return True

    def _looked_at(self) -> set[int]:
        """Axes that a condition looks at, or is of."""
        expressions = [c.expression for c in self._space.conditions]
        names = [n for e in (*expressions, *self._space.where, *self._also) for n in e.names]
        own = [condition.axis for condition in self._space.conditions]
        return {self._axis_of[name] for name in names} | set(own)

    def _checks_by_depth(self) -> list[list[Check]]:
        """Conditions that can be told once so many axes have their level, in their order."""
        place = {axis: depth for depth, axis in enumerate(self._order)}
        settled = {name: place[axis] for name, axis in self._axis_of.items()}
        found: list[list[Check]] = [[] for _ in self._order]
        for condition in self._space.conditions:
            depth = self._depth(condition.expression, settled, place[condition.axis])
            settled.update(dict.fromkeys(condition.names, depth))
            found[depth].append(condition)
        for expression in (*self._space.where, *self._also) if found else ():
            found[self._depth(expression, settled, 0)].append(expression)
        return found

    @staticmethod
    def _depth(expression: Expression, settled: Mapping[str, int], least: int) -> int:
        return max(least, *(settled[name] for name in expression.names), 0)
