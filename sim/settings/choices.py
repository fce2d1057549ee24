"""Changes of a scenario that choose another policy: the options of the one before are left out."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from h2model import disciplines, transports
from netcosim.formatting import shown
from netcosim.policies import (
    load_schedule,
    schedule_names,
    synchronisation_joins,
    synchronisation_names,
)
from netcosim.policies.coordinators import (
    coordinator_names,
    coordinator_options,
    is_waited_for,
    predictor_names,
    predictor_options,
    predicts,
)
from netcosim.scenario import CoordinationSpec, Scenario, build_scenario
from netcosim.scenario.changes import changed_data
from netcosim.scenario.model import GIVEN
from netcosim.training.stragglers import kind_names, option_names


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A setting that a scenario had, and that the policy chosen by a change has not.

    Attributes
    ----------
    path, value : of the setting
    choice, chosen : the policy's place in the scenario, and its name
    """

    path: str
    value: object
    choice: str
    chosen: object

    def __str__(self) -> str:
        """Say so in a line."""
        value = "(a table)" if isinstance(self.value, Mapping | list) else shown(self.value)
        return f"{self.path} {value} is left out: it is not of {self.choice} {self.chosen}"


def with_choices(
    scenario: Scenario,
    values: Mapping[str, object],
    source: str = "changes",
    *,
    also_given: bool = False,
) -> tuple[Scenario, tuple[LeftOut, ...]]:
    """The scenario with other values, as `netcosim.scenario.with_values`, and what was left out.

    Where a value chooses a policy, the options that only others of its kind have are left out. An
    option that none has stays, and is refused where options are checked.

    Parameters
    ----------
    scenario, values, source
        As `netcosim.scenario.with_values` has them.
    also_given
        Leave out such options among `values`, too, as a sweep's product of factors has them.

    Raises
    ------
    ScenarioError
        There is no such place, or no scenario may have such a value.
    """
    data = changed_data(scenario, values, source)
    left_out = []
    for name, field, others in _CHOICES:
        for paths, table in _tables(data, name):
            if not any(f"{path}.{field}" in values for path in paths):
                continue
            for key in list(others(table)):
                if also_given or not any(_is_given(values, f"{path}.{key}") for path in paths):
                    one = LeftOut(
                        path=f"{paths[-1]}.{key}",
                        value=_taken(table, key),
                        choice=f"{paths[-1]}.{field}",
                        chosen=table.get(field, "none"),
                    )
                    left_out.append(one)
    return build_scenario(data, source) if values else scenario, tuple(left_out)


def _tables(data: Mapping[str, Any], name: str) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Tables of a name, each with the paths that it has: of a list by place, and by name."""
    found = data.get(name)
    if isinstance(found, dict):
        yield [name], found
    for place, entry in enumerate(found if isinstance(found, list) else ()):
        if isinstance(entry, dict):
            called = [entry["name"]] if "name" in entry else []
            yield [f"{name}.{each}" for each in (place, *called)], entry


def _is_given(values: Mapping[str, object], path: str) -> bool:
    return any(path == given or path.startswith(f"{given}.") for given in values)


def _taken(table: dict[str, Any], key: str) -> object:
    """Take a setting out of its table, which may be one below."""
    *below, last = key.split(".", 1)
    return (table[below[0]] if below else table).pop(last)


def _of_others(
    table: Mapping[str, Any], key: str, chosen: object, options: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Options below a key that some policy has, and the chosen one has not."""
    given = table.get(key)
    if not isinstance(given, Mapping) or not (chosen is None or chosen in options):
        return  # refused where names and options are checked
    own = () if chosen is None else options[str(chosen)]
    known = {option for each in options.values() for option in each}
    yield from (f"{key}.{option}" for option in given if option in known and option not in own)


def _of_schedules(policy: Mapping[str, Any]) -> Iterator[str]:
    options = {name: load_schedule(name).OPTIONS for name in schedule_names()}
    yield from _of_others(policy, "schedule_options", policy.get("schedule"), options)


def _of_given(choice: str, key: str, policy: Mapping[str, Any]) -> Iterator[str]:
    if policy.get(choice) != GIVEN and policy.get(key):
        yield key


def _of_synchronisations(training: Mapping[str, Any]) -> Iterator[str]:
    name = training.get("synchronisation")
    if name in synchronisation_names() and not synchronisation_joins(name):
        yield from (key for key in ("join", "first") if key in training)


def _of_coordinators(coordination: Mapping[str, Any]) -> Iterator[str]:
    kind = coordination.get("kind")
    options = {name: coordinator_options(name) for name in coordinator_names()}
    yield from _of_others(coordination, "options", kind, options)
    if kind in options and not predicts(kind):
        yield from (k for k in ("predictor", "predictor_options") if coordination.get(k))
    if kind in options and not is_waited_for(kind):
        none = CoordinationSpec(kind=kind).model_dump(mode="json")["decision"]
        if coordination.get("decision", none) != none:
            yield "decision"


def _of_predictors(coordination: Mapping[str, Any]) -> Iterator[str]:
    options = {name: predictor_options(name) for name in predictor_names()}
    predictor = coordination.get("predictor")
    yield from _of_others(coordination, "predictor_options", predictor, options)


def _of_stragglers(straggler: Mapping[str, Any]) -> Iterator[str]:
    options = {name: option_names(name) for name in kind_names()}
    yield from _of_others(straggler, "options", straggler.get("kind"), options)


def _of_ends(transport: Mapping[str, Any]) -> Iterator[str]:
    ends = transport.get("sender"), transport.get("receiver")
    if not all(end in transports.names() for end in ends):
        return
    sender, receiver = (transports.load(str(end)) for end in ends)
    kinds = [transports.load(name) for name in transports.names()]
    known = frozenset[str]().union(*(k.SENDER_HAS | k.RECEIVER_HAS for k in kinds))
    own = sender.SENDER_HAS | receiver.RECEIVER_HAS
    if sender.STUDIED is None:  # only the scenario can say what it does
        own |= {"discipline"}
    yield from (key for key in sorted(known - own) if transport.get(key))


def _of_flow_control(transport: Mapping[str, Any]) -> Iterator[str]:
    if transport.get("flow_control") is False:
        yield from (key for key in ("window", "connection_window", "credit") if key in transport)


def _of_disciplines(transport: Mapping[str, Any]) -> Iterator[str]:
    options = {name: disciplines.load(name).OPTIONS for name in disciplines.names()}
    yield from _of_others(transport, "options", transport.get("discipline"), options)


_CHOICES: Final[tuple[tuple[str, str, Callable[[Mapping[str, Any]], Iterator[str]]], ...]] = (
    ("policy", "schedule", _of_schedules),
    ("policy", "order", partial(_of_given, "order", "priorities")),
    ("policy", "placement", partial(_of_given, "placement", "servers")),
    ("training", "synchronisation", _of_synchronisations),
    ("coordination", "kind", _of_coordinators),
    ("coordination", "predictor", _of_predictors),
    ("straggler", "kind", _of_stragglers),
    ("transport", "sender", _of_ends),
    ("transport", "receiver", _of_ends),
    ("transport", "flow_control", _of_flow_control),
    ("transport", "discipline", _of_disciplines),
)
"""Table, the field in it that chooses a policy, and the settings there that are of others."""
