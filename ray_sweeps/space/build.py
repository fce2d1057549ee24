"""From a sweep to its space: columns of changes, conditions, and which axis varies slowest."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import Scenario
from netcosim.units import format_rate
from ray_sweeps.space.checks import check_space
from ray_sweeps.space.points import Axis, Column, Condition, Draws, Factor, Space
from ray_sweeps.sweep_file.changes import Change, Plain, change_of
from ray_sweeps.sweep_file.ensembles import draws_of
from ray_sweeps.sweep_file.expressions import Expression, Type, type_of
from ray_sweeps.sweep_file.fields import Kind, Scalar
from ray_sweeps.sweep_file.names import SHORT_NAMES, WARMUP
from ray_sweeps.sweep_file.sweep import Group, Sweep, Varied

MOST_POINTS: Final = 10**9
"""Most numbers of a space."""

_OF_THE_PLAN: Final = ("servers", "seed", "batch", "training.recorded")
"""Places that make another plan of a step, beside the workload and the policy."""

DRAW: Final = "_draw"
"""Ends the name of the factor that numbers the draws of another one's ensembles."""


def space_of(sweep: Sweep) -> Space:
    """The space of a sweep, checked: some points with each value make a scenario.

    Raises
    ------
    ScenarioError
        One line that names the file, the field, its value and what is allowed.
    """
    try:
        space = unchecked_space(sweep)
        fields = {v.name: v.field for group in sweep.groups for v in group.factors}
        check_space(space, sweep.base, fields)
    except ScenarioError as problem:
        raise ScenarioError(f"{sweep.file}: {problem}") from None
    return space


def unchecked_space(sweep: Sweep) -> Space:
    """The space of a sweep, of which no point is tried."""
    groups = [*sweep.groups, *_implied(sweep.base, sweep.groups)]
    axes = {id(group): _axis(group, sweep) for group in groups}
    length = math.prod(axis.length for axis in axes.values())
    if length > MOST_POINTS:
        raise ScenarioError(f"comes to {length} points; must come to at most {MOST_POINTS}")
    ordered = sorted(groups, key=_speed)
    varied = [factor for group in groups for factor in group.factors]
    factors = tuple(f for group in groups for f in _factors(group, axes[id(group)]))
    _check_draw_names(factors)
    _check_given(sweep.given, factors)
    types = _types(factors, varied)
    return Space(
        factors=factors,
        axes=tuple(axes[id(group)] for group in ordered),
        conditions=_conditions(ordered, types),
        where=tuple(
            Expression.of(text, types, f"where[{i}]") for i, text in enumerate(sweep.where)
        ),
        nested=_nested(varied),
    )


def _check_draw_names(factors: Iterable[Factor]) -> None:
    names = [factor.name for factor in factors]
    for name in names:
        if names.count(name) > 1:
            owner = name.removesuffix(DRAW)
            raise ScenarioError(f"{name}: numbers the draws of {owner}; choose another name")


def _check_given(given: Iterable[str], factors: Iterable[Factor]) -> None:
    """Refuse what is no factor, and what is drawn: of a drawn value there is one point."""
    drawn = {factor.name: factor.values is None for factor in factors}
    for i, name in enumerate(given):
        if name not in drawn:
            raise ScenarioError.at(f"given[{i}]", name, unknown(name, drawn, "is no factor"))
        if drawn[name]:
            raise ScenarioError.at(f"given[{i}]", name, "is drawn; must have a list of values")


def _factors(group: Group, axis: Axis) -> Iterator[Factor]:
    """Factors of a group, and those that number draws of ensembles."""
    by_name = {varied.name: varied for varied in group.factors}
    for column in axis.columns:
        if column.name in by_name:
            varied = by_name[column.name]
            yield Factor(name=varied.name, kind=varied.kind, values=varied.values)
        else:
            numbers = sorted({n for n in column.values if isinstance(n, int)})
            yield Factor(name=column.name, kind="whole", values=tuple(numbers))


def _axis(group: Group, sweep: Sweep) -> Axis:
    if group.method is not None:
        drawn = tuple(_drawn_column(varied, group, sweep) for varied in group.factors)
        return Axis(columns=drawn, length=group.length)
    levels = _levels(group, sweep)
    columns: list[Column] = []
    for varied in group.factors:
        columns += _listed_columns(varied, levels, sweep)
    return Axis(columns=tuple(columns), length=group.length if levels is None else len(levels))


Levels = Sequence[tuple[int, int, int]]
"""Levels of an axis with draws: the place of the value, the number of the draw, of how many."""


def _levels(group: Group, sweep: Sweep) -> Levels | None:
    """Levels of an axis with draws of ensembles; None if it has none."""
    for varied in group.factors:
        if varied.path == "straggler":
            counts = [draws_of(str(value), sweep.ensembles) for value in varied.values or ()]
            if max(counts, default=1) > 1:
                return [(k, draw, n) for k, n in enumerate(counts) for draw in range(n)]
    return None


def _listed_columns(varied: Varied, levels: Levels | None, sweep: Sweep) -> Iterator[Column]:
    change = _change(varied, sweep)
    values = varied.values or ()
    if levels is not None:
        values = tuple(values[k] for k, _, _ in levels)
    if isinstance(change, Plain):
        yield Column(name=varied.name, values=values, place=change.place)
    elif levels is None or varied.path != "straggler":
        changes = tuple(change(value, 0) for value in values)
        yield Column(name=varied.name, values=values, changes=changes)
    else:
        draws = tuple(draw for _, draw, _ in levels)
        yield Column(name=varied.name, values=values, change=change, draws=draws)
        numbers = tuple(draw if n > 1 else None for _, draw, n in levels)
        yield Column(name=f"{varied.name}{DRAW}", values=numbers)


def _change(varied: Varied, sweep: Sweep) -> Change:
    paths = {factor.path for group in sweep.groups for factor in group.factors}
    return change_of(
        varied.path,
        varied.field,
        varied.values,
        sweep.base,
        sweep.ensembles,
        sweep.seed,
        WARMUP in paths or WARMUP in sweep.fixed,
    )


def _drawn_column(varied: Varied, group: Group, sweep: Sweep) -> Column:
    change = _change(varied, sweep)
    if varied.distribution is None or group.method is None:
        raise TypeError(f"{varied.name} has no distribution")
    values = Draws(
        distribution=varied.distribution,
        seed=sweep.seed,
        name=varied.name,
        method=group.method,
        positions=group.length,
    )
    if isinstance(change, Plain):
        return Column(name=varied.name, values=values, place=change.place)
    return Column(name=varied.name, values=values, change=change)


def _implied(base: Scenario, groups: Sequence[Group]) -> Iterator[Group]:
    """Factors that the scenario itself has several values of, and that the sweep does not vary."""
    varied = {factor.path: factor.field for group in groups for factor in group.factors}
    names = {factor.name: factor.field for group in groups for factor in group.factors}
    training = base.training
    several: dict[str, tuple[Scalar, ...]] = {
        "workload": tuple(workload.name for workload in base.workload),
        "transport": tuple(transport.name for transport in base.transport),
        "rate": tuple(format_rate(rate_bps) for rate_bps in training.rates or ()),
        "workers": tuple(sorted(training.workers or ())),
    }
    for path, values in several.items():
        if len(values) > 1 and path not in varied:
            if path in names:
                raise ScenarioError(f"{names[path]}: is the name of the scenario's own, too")
            kind: Kind = "whole" if path == "workers" else "text"
            field = f"scenario: {SHORT_NAMES[path]}"
            factor = Varied(name=path, path=path, field=field, kind=kind, values=values)
            yield Group(field=field, factors=(factor,), length=len(values))


def _types(factors: Iterable[Factor], varied: Iterable[Varied]) -> dict[str, Type]:
    """Types of all factors in expressions."""
    units = {v.name: v.distribution.unit for v in varied if v.distribution is not None}
    return {f.name: type_of(f.kind, f.values, units.get(f.name)) for f in factors}


def _conditions(groups: Sequence[Group], types: Mapping[str, Type]) -> tuple[Condition, ...]:
    """Conditions of factors, each after those of the factors that it looks at."""
    waiting: dict[str, tuple[Condition, str]] = {}
    for axis, group in enumerate(groups):
        for varied in group.factors:
            if varied.when is not None:
                expression = Expression.of(varied.when, types, f"{varied.field}.when")
                own = (varied.name, f"{varied.name}{DRAW}")
                condition = Condition(
                    expression=expression,
                    names=tuple(name for name in own if name in types),
                    axis=axis,
                    collapses=group.method is None,
                )
                waiting[varied.name] = condition, varied.field
    found: list[Condition] = []
    while waiting:
        settled = {name for c, _ in waiting.values() for name in c.names}
        free = [n for n, (c, _) in waiting.items() if not settled & set(c.expression.names)]
        if not free:
            field = next(field for _, field in waiting.values())
            raise ScenarioError(f"{field}.when: looks at a factor whose 'when' looks back at it")
        found += [waiting.pop(name)[0] for name in free]
    return tuple(found)


def _speed(group: Group) -> int:
    """Place of an axis among the others: the slowest are those that change a step's plan."""
    paths = [factor.path for factor in group.factors]
    if any(_is_of_the_plan(path) for path in paths):
        return 0
    return 2 if paths == ["workers"] else 1


def _is_of_the_plan(path: str) -> bool:
    place = SHORT_NAMES.get(path, path)
    return path in _OF_THE_PLAN or place.split(".")[0] in ("workload", "policy")


def _nested(factors: Sequence[Varied]) -> bool:
    places = [SHORT_NAMES.get(factor.path, factor.path) for factor in factors]
    return any(one != other and other.startswith(f"{one}.") for one in places for other in places)
