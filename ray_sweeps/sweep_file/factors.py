"""Factors from their entries in a sweep file: a list, a range, a distribution."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from netcosim.errors import ScenarioError
from netcosim.formatting import quoted
from netcosim.nearest import unknown
from netcosim.scenario.fields import Record
from netcosim.scenario.toml import validation_message
from ray_sweeps.sweep_file.distributions import PARAMETERS, Distribution
from ray_sweeps.sweep_file.fields import MOST_VALUES, Kind, Scalar
from ray_sweeps.sweep_file.model import Listed, Range
from ray_sweeps.sweep_file.names import checked_name, path_of
from ray_sweeps.sweep_file.quantities import measured, quantity_text, unit_of
from ray_sweeps.sweep_file.ranges import spread, stepped
from ray_sweeps.sweep_file.sweep import Varied

_LIST_KEYS: Final = ("values",)
_RANGE_KEYS: Final = ("from", "to", "step", "count", "scale")
_DRAWN_KEYS: Final = ("distribution", "whole", "unit")

AnyRecord = TypeVar("AnyRecord", bound=Record)


def read_factor(name: str, entry: object, field: str, extra: Sequence[str] = ()) -> Varied:
    """Read a factor that has a list of values or a range.

    Parameters
    ----------
    name : of the factor
    entry : as the file has it
    field : where it stands in the file
    extra : keys that it may have, beside those of its values: ``when``

    Raises
    ------
    ScenarioError
        One line that names field, value and what is allowed.
    """
    checked_name(name, field, entry)
    if isinstance(entry, list):
        entry = {"values": entry}
    if not isinstance(entry, dict):
        allowed = "must be a list of values, or a table with 'values' or with 'from' and 'to'"
        raise ScenarioError(f"{field}: {quoted(entry)}: {allowed}")
    if "distribution" in entry:
        raise ScenarioError(f"{field}.distribution: belongs under [[draw]]")
    own, common = _without_common(entry, field, extra)
    values: Sequence[Scalar]
    if "values" in entry:
        values = validated(own, Listed, _LIST_KEYS, field, extra).values
        check_distinct(values, f"{field}.values")
    elif "from" in entry or "to" in entry:
        values = range_values(validated(own, Range, _RANGE_KEYS, field, extra), field)
    else:
        raise ScenarioError(f"{field}: must have 'values', or 'from' and 'to'")
    return Varied(
        name=name,
        path=path_of(name, common.get("path"), field),
        field=field,
        kind=kind_of(values, field),
        values=tuple(values),
        when=common.get("when"),
    )


def read_drawn(name: str, entry: object, field: str) -> Varied:
    """Read a factor that has a distribution; parameters as of `read_factor`.

    Raises
    ------
    ScenarioError
        One line that names field, value and what is allowed.
    """
    checked_name(name, field, entry)
    if not isinstance(entry, dict) or "distribution" not in entry:
        allowed = "must be a table with a 'distribution', such as"
        example = '{ distribution = "uniform", low = 1, high = 4 }'
        raise ScenarioError(f"{field}: {allowed} {example}")
    own, common = _without_common(entry, field, ("when",))
    parameters = PARAMETERS.get(str(own["distribution"]), ())
    keys = (*_DRAWN_KEYS, *parameters) if parameters else tuple(own)
    found = validated(own, Distribution, keys, field, ("when",))
    if found.values is not None:
        check_distinct(found.values, f"{field}.values")
    return Varied(
        name=name,
        path=path_of(name, common.get("path"), field),
        field=field,
        kind=found.kind or kind_of(found.values or (), field),
        values=found.values,
        distribution=found,
        when=common.get("when"),
    )


def _without_common(
    entry: Mapping[str, Any], field: str, extra: Sequence[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The entry without ``path`` and what else factors have in common, and these."""
    keys = [key for key in ("path", *extra) if key in entry]
    for key in keys:
        if not isinstance(entry[key], str):
            raise ScenarioError(f"{field}.{key}: {quoted(entry[key])}: must be text")
    own = {key: value for key, value in entry.items() if key not in keys}
    return own, {key: entry[key] for key in keys}


def validated(
    entry: Mapping[str, Any],
    model: type[AnyRecord],
    keys: Sequence[str],
    field: str,
    extra: Sequence[str] = (),
) -> AnyRecord:
    """Validate an entry; `keys` are those that it may have, beside ``path`` and `extra`."""
    for key in entry:
        if key not in keys:
            known = (*keys, "path", *extra)
            raise ScenarioError(f"{field}.{key}: {unknown(key, known, 'unknown key')}")
    try:
        return model.model_validate(entry)
    except ValidationError as problem:
        raise ScenarioError(validation_message(problem, model, {}, within=field)) from None


def kind_of(values: Sequence[Scalar], field: str) -> Kind:
    """Kind of a factor's values, which must all be of one.

    Raises
    ------
    ScenarioError
        Text among numbers, say.
    """
    types = {type(value) for value in values}
    if types == {int, float}:
        return "number"
    if len(types) > 1:
        raise ScenarioError(f"{field}: must be all numbers, all text, or all true and false")
    kinds: Mapping[type, Kind] = {int: "whole", float: "number", str: "text", bool: "flag"}
    return kinds[types.pop()]


def check_distinct(values: Sequence[Scalar], field: str) -> None:
    """Refuse a value that is given twice, also in another spelling.

    Raises
    ------
    ScenarioError
        It names the value.
    """
    seen: dict[object, Scalar] = {}
    for value in values:
        same = (isinstance(value, bool), (measured(value) or value) if _is_text(value) else value)
        if same in seen:
            raise ScenarioError(f"{field}: {quoted(value)}: is given twice")
        seen[same] = value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def range_values(given: Range, field: str) -> tuple[Scalar, ...]:
    """Values of a range.

    Raises
    ------
    ScenarioError
        Its ends, step, count and scale do not make one.
    """
    if (given.step is None) == (given.count is None):
        raise ScenarioError(f"{field}: must have one of 'step' and 'count'")
    ends = {"from": given.first, "to": given.to}
    if given.step is not None:
        ends["step"] = given.step
    if any(isinstance(end, str) for end in ends.values()):
        unit = unit_of(str(given.first))
        sizes = _sizes(ends, field)
        found = _numbers(given, sizes, ends, field)
        return tuple(quantity_text(int(size), unit) for size in found)
    return _numbers(
        given, {key: end for key, end in ends.items() if not isinstance(end, str)}, ends, field
    )


def _sizes(ends: Mapping[str, float | str], field: str) -> dict[str, float]:
    """Sizes of a range's ends and step, which must be quantities of one kind."""
    found: dict[str, float] = {}
    kinds = set()
    for key, text in ends.items():
        quantity = measured(text) if isinstance(text, str) else None
        if quantity is None:
            allowed = "must be a quantity with a unit, as the other end is"
            raise ScenarioError(f"{field}.{key}: {quoted(text)}: {allowed}")
        kinds.add(quantity[0])
        found[key] = quantity[1]
    if len(kinds) > 1:
        shown = ", ".join(map(str, ends.values()))
        raise ScenarioError(f"{field}: {shown}: must all be rates, sizes or durations")
    return found


def _numbers(
    given: Range, ends: Mapping[str, float], written: Mapping[str, object], field: str
) -> tuple[int | float, ...]:
    first, last = ends["from"], ends["to"]
    if not first < last:
        allowed = f"must be above 'from' ({written['from']})"
        raise ScenarioError(f"{field}.to: {quoted(written['to'])}: {allowed}")
    if given.scale == "log" and first <= 0:
        shown = quoted(written["from"])
        raise ScenarioError(f'{field}.from: {shown}: must be > 0 with scale = "log"')
    try:
        if given.count is not None:
            return spread(first, last, given.count, given.scale)
        if given.scale == "log":
            raise ScenarioError(f"{field}.step: has no meaning with scale = \"log\"; give 'count'")
        if not ends["step"] > 0:
            raise ScenarioError(f"{field}.step: {quoted(written['step'])}: must be > 0")
        return stepped(first, last, ends["step"], MOST_VALUES)
    except ValueError as problem:
        raise ScenarioError(f"{field}: {problem}") from None
