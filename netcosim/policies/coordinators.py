"""Coordinators and predictors by name, with their options: the registry.

A coordinator's file has `OPTIONS` and `make(workers, options, predictor)`, a predictor's `OPTIONS`
and `make(options, seed)`. A coordinator that takes time for its decisions, for which workers wait,
says `WAITED_FOR`; one that predicts says `PREDICTS`; options of which one may be given at most are
`ONE_OF`, and `LEAD` is how many steps a worker may be ahead of the slowest, or the option that says
it; without it, any number. One that changes workers' batches says `MOVES_BATCHES`.
"""

from collections.abc import Mapping
from typing import Any, Final

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.policies import coordination, prediction
from netcosim.policies.coordinator.observed import Coordinator
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import MakePredictor
from netcosim.policies.files import first_lines, load_file, names_in
from netcosim.scenario import CoordinationSpec
from netcosim.units import format_duration

DEFAULT_PREDICTOR: Final = "average"


def coordinator_names() -> tuple[str, ...]:
    """The names of all coordinators, sorted."""
    return names_in(coordination)


def predictor_names() -> tuple[str, ...]:
    """The names of all predictors, sorted."""
    return names_in(prediction)


def coordinator_sentences() -> dict[str, str]:
    """By name of a coordinator, what it does: the first line of its file."""
    return first_lines(coordination)


def predictor_sentences() -> dict[str, str]:
    """By name of a predictor, what it does: the first line of its file."""
    return first_lines(prediction)


def coordinator_options(name: str) -> Options:
    """The options of a coordinator, by name."""
    found: Options = load_file(coordination, "coordination.kind", name).OPTIONS
    return found


def predictor_options(name: str) -> Options:
    """The options of a predictor, by name."""
    found: Options = load_file(prediction, "coordination.predictor", name).OPTIONS
    return found


def predicts(kind: str) -> bool:
    """True if a coordinator of this kind uses a predictor."""
    return bool(getattr(load_file(coordination, "coordination.kind", kind), "PREDICTS", False))


def is_waited_for(kind: str) -> bool:
    """True if workers wait for the decisions of a coordinator of this kind."""
    return bool(getattr(load_file(coordination, "coordination.kind", kind), "WAITED_FOR", False))


def moves_batches(kind: str) -> bool:
    """True if a coordinator of this kind changes workers' batches."""
    file = load_file(coordination, "coordination.kind", kind)
    return bool(getattr(file, "MOVES_BATCHES", False))


def lead_of(spec: CoordinationSpec) -> int | None:
    """Steps that a worker may be ahead of the slowest; None: any number."""
    file = load_file(coordination, "coordination.kind", spec.kind)
    lead: int | str | None = getattr(file, "LEAD", None)
    if isinstance(lead, str):
        return int(_options(file.OPTIONS, spec.kind, "options", spec.options)[lead])
    return lead


def check_coordination(spec: CoordinationSpec) -> None:
    """Refuse a table that names what is not there, or has no effect.

    Raises
    ------
    ScenarioError
        An unknown kind, predictor or option, a value that is not allowed, a predictor or a time of
        decisions where there are none.
    """
    make_coordinator(spec, 1, 0)
    one_of = getattr(load_file(coordination, "coordination.kind", spec.kind), "ONE_OF", ())
    if one_of and all(name in spec.options for name in one_of):
        allowed = f"has no effect beside {one_of[0]}; give one of them"
        raise ScenarioError.at(
            f"coordination.options.{one_of[1]}", spec.options[one_of[1]], allowed
        )
    decision = format_duration(spec.decision) if spec.decision else None
    for field, given, has in (
        ("predictor", spec.predictor, predicts(spec.kind)),
        ("predictor_options", ", ".join(spec.predictor_options), predicts(spec.kind)),
        ("decision", decision, is_waited_for(spec.kind)),
    ):
        if given and not has:
            others = [name for name in coordinator_names() if _has(field, name)]
            allowed = f"has no effect with {spec.kind}; it is of {', '.join(others)}"
            raise ScenarioError.at(f"coordination.{field}", given, allowed)


def make_coordinator(spec: CoordinationSpec, workers: int, seed: int) -> Coordinator:
    """Make the coordinator of a run.

    Parameters
    ----------
    seed : of what predictors draw; each worker's is one of its own

    Raises
    ------
    ScenarioError
        As `check_coordination`, but for what has no effect.
    """
    file = load_file(coordination, "coordination.kind", spec.kind)
    options = _options(file.OPTIONS, spec.kind, "options", spec.options)
    made: Coordinator = file.make(workers, options, predictor_of(spec, seed))
    return made


def resolved_coordination(spec: CoordinationSpec) -> dict[str, Any]:
    """The table as plain data with all defaults, equal for equal coordination.

    Raises
    ------
    ScenarioError
        As `make_coordinator`.
    """
    options = load_file(coordination, "coordination.kind", spec.kind).OPTIONS
    data = spec.model_dump(mode="json", exclude_none=True)
    data["options"] = _options(options, spec.kind, "options", spec.options)
    data["predictor"] = (spec.predictor or DEFAULT_PREDICTOR) if predicts(spec.kind) else None
    if data["predictor"] is not None:
        defaults = load_file(prediction, "coordination.predictor", data["predictor"]).OPTIONS
        given = spec.predictor_options
        data["predictor_options"] = _options(
            defaults, data["predictor"], "predictor_options", given
        )
    return data


def predictor_of(spec: CoordinationSpec, seed: int) -> MakePredictor:
    """Maker of the workers' predictors.

    Raises
    ------
    ScenarioError
        An unknown predictor or option.
    """
    name = spec.predictor or DEFAULT_PREDICTOR
    file = load_file(prediction, "coordination.predictor", name)
    options = _options(file.OPTIONS, name, "predictor_options", spec.predictor_options)
    return lambda worker: file.make(options, seed + worker)


def _has(field: str, kind: str) -> bool:
    return is_waited_for(kind) if field == "decision" else predicts(kind)


def _options(
    options: Options, name: str, table: str, given: Mapping[str, float]
) -> dict[str, float]:
    for key, value in given.items():
        field = f"coordination.{table}.{key}"
        if key not in options:
            allowed = unknown(key, options, f"{name} has no such option")
            raise ScenarioError.at(field, value, allowed)
        if not options[key].allows(value):
            raise ScenarioError.at(field, value, options[key].allowed)
    return {key: float(given.get(key, option.default)) for key, option in options.items()}
