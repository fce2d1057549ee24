"""Options of ``sim.run``, and their application to a scenario."""

import argparse
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Final

from netcosim.cli import Options, Parser, make_parser
from netcosim.cli.completion import offer
from netcosim.cli.options import given_path, refuse_beside
from netcosim.errors import ScenarioError
from netcosim.policies import (
    order_names,
    placement_names,
    schedule_names,
    synchronisation_names,
)
from netcosim.results.storage.file_names import readable
from netcosim.scenario import Scenario, builtin_scenarios
from netcosim.scenario.training import MOST_WORKERS
from netcosim.training.stragglers import named, named_stragglers
from netcosim.workload.catalogue import profile_names
from sim.settings.choices import LeftOut, with_choices
from sim.settings.named_transports import choose_transports
from sim.shares import share_names

DESCRIPTION: Final = (
    "Simulate training: throughput by number of workers, from one worker's profile."
)


def sim_parser(prog: str) -> Parser:
    """Parser of the shared options and the simulator's own; each overrides the scenario."""
    parser = make_parser(prog, DESCRIPTION)
    add = parser.add_argument_group("of the simulation").add_argument
    add("--workload", metavar="NAME_OR_FILE", help="a built-in profile, or a profile's file")
    add("--workers", metavar="LIST", help="such as 8, 1-16, 1-4,8,16")
    add("--servers", metavar="N", type=int, help="parameter servers")
    add(
        "--rate",
        metavar="LIST",
        help="of every link without its own, such as 1gbit or 1gbit,10gbit",
    )
    add("--transport", metavar="LIST", help="of the scenario, or usual ones by name; see --list")
    add("--batch", metavar="N", type=int, help="examples of a step")
    add("--steps", metavar="N", type=int, help="of each worker, warm-up included")
    add("--warmup", metavar="N", type=int, help="the first steps, which no figure counts")
    add(
        "--measured",
        metavar="A-B",
        help="steps behind the common start whose rate is told, too, such as 3-12",
    )
    add("--synchronisation", metavar="NAME", help=_any_of(synchronisation_names()))
    add("--gap", metavar="N", type=int, help="of ssp, steps")
    add("--join", choices=("step", "tensor"), help="of join: gradients of a step, or of a tensor")
    add("--first", metavar="N", type=int, help="of join: of so many workers; default: of all")
    add("--overlap", action="store_const", const=True, help="pulls overlap with pushes")
    add("--server-cores", metavar="N", type=int, help="of each server, for all workers' work")
    add("--order", metavar="NAME", help="in which tensors are released")
    add("--placement", metavar="NAME", help="of tensors on servers")
    add("--schedule", metavar="NAME", help=f"of gradients: {_any_of(schedule_names())}")
    add("--share", metavar="NAME", help="how connections share a link")
    add(
        "--straggler",
        metavar="NAME",
        action="append",
        default=[],
        help="named stragglers on top of the scenario's; may be given several times",
    )
    add("--trace", metavar="LIST", help="keep every operation for these numbers of workers")
    add("--trace-steps", metavar="N", type=int, help="of each worker, that a trace keeps")
    add(
        "--no-recommendation",
        action="store_true",
        help="leave out the runs that say what one step more of each thing would change",
    )
    add(
        "--resume",
        metavar="DIR",
        type=given_path,
        help="go on with a simulation that was interrupted: finished cells are kept",
    )
    add("--no-report", action="store_true", help="draw no pictures, write no report.html")
    add("--yes", action="store_true", help="go on though it takes more than an hour")
    offer(parser, _NAMES, or_files=("--scenario", "--workload"))
    return parser


_NAMES: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "--scenario": lambda: builtin_scenarios(resources.files("sim") / "scenarios"),
    "--workload": profile_names,
    "--schedule": schedule_names,
    "--synchronisation": synchronisation_names,
    "--order": order_names,
    "--placement": placement_names,
    "--share": share_names,
    "--straggler": named_stragglers,
}
"""Names that a shell completes, by option."""


def _any_of(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def shared_options(found: argparse.Namespace) -> Options:
    """The options that every command takes."""
    return Options(
        scenario=found.scenario,
        out=found.out,
        list_names=found.list_names,
        plan=found.plan,
        seed=found.seed,
        repetitions=found.repetitions,
    )


def changed(scenario: Scenario, found: argparse.Namespace) -> tuple[Scenario, tuple[LeftOut, ...]]:
    """Apply the command line's options to a scenario, validated like a file.

    Its description then ends with the options that changed it. Beside it stands what was left out
    as it belongs to a policy that is not chosen any more.

    Raises
    ------
    ScenarioError
        A value that no scenario may have.
    """
    values: dict[str, object] = {}
    for option in _PLACES:
        values |= _asked(found, option, scenario)
    more = [spec.model_dump(mode="json", exclude_none=True) for spec in named(found.straggler)]
    if more:
        kept = [s.model_dump(mode="json", exclude_none=True) for s in scenario.straggler]
        values["straggler"] = [*kept, *more]
    now, left_out = with_choices(scenario, values, "command line")
    return _described(now, scenario, found), left_out


_PLACES: Final = {
    "workload": "workload",
    "workers": "training.workers",
    "servers": "cluster.servers",
    "rate": "cluster.link.rate",
    "transport": "transport",
    "batch": "training.batch",
    "steps": "training.steps",
    "warmup": "training.warmup",
    "measured": "training.measured",
    "synchronisation": "training.synchronisation",
    "gap": "training.gap",
    "join": "training.join",
    "first": "training.first",
    "overlap": "training.overlap",
    "server_cores": "training.server_cores",
    "order": "policy.order",
    "placement": "policy.placement",
    "schedule": "policy.schedule",
    "share": "training.share",
    "trace_steps": "training.trace_steps",
}
"""Place of each option's value in a scenario."""


def _asked(found: argparse.Namespace, option: str, scenario: Scenario) -> dict[str, object]:
    """Values that an option sets in the scenario, by place."""
    given = getattr(found, option)
    if option == "warmup":
        given = _warmup(found, scenario.training.warmup)
    if given is None:
        return {}
    if option == "rate":
        return _rates(given)
    if option == "workers":
        given = counts("--workers", given)
    if option == "measured":
        given = _first_and_last(given)
    if option == "workload":
        given = _workload(given)
    if option == "transport":
        given = choose_transports([part.strip() for part in given.split(",")], scenario)
    return {_PLACES[option]: given}


def _rates(text: str) -> dict[str, object]:
    """One rate of the links, or several, one after the other."""
    rates = [part.strip() for part in text.split(",")]
    if len(rates) == 1:
        return {"cluster.link.rate": rates[0], "training.rates": None}
    return {"training.rates": rates}


def _first_and_last(text: str) -> list[int]:
    match = re.fullmatch(r"([0-9]{1,8})-([0-9]{1,8})", text.strip())
    if not match:
        allowed = "must be a first and a last step, such as 3-12"
        raise ScenarioError.at("--measured", text, allowed)
    return [int(match[1]), int(match[2])]


def _workload(profile: str) -> list[dict[str, str]]:
    """Workload that trains on a profile and is named after it."""
    name = readable(profile.rsplit("/", 1)[-1]) or "workload"
    return [{"name": name, "profile": profile}]


def _described(now: Scenario, before: Scenario, found: argparse.Namespace) -> Scenario:
    """Append the options that changed the scenario to its description."""
    changes = [
        _as_typed(option, getattr(found, option))
        for option in _PLACES
        if getattr(found, option) is not None and _seen(now, option) != _seen(before, option)
    ]
    changes += [f"--straggler {name}" for name in found.straggler]
    if not changes or not before.description:
        return now
    said = f"{before.description.rstrip('.')}; changed by options: {' '.join(changes)}"
    return now.model_copy(update={"description": said})


def _as_typed(option: str, value: object) -> str:
    name = f"--{option.replace('_', '-')}"
    return name if value is True else f"{name} {value}"


def _seen(scenario: Scenario, option: str) -> object:
    """What an option may change of a scenario."""
    found = functools.reduce(getattr, _PLACES[option].split("."), scenario)
    return (found, scenario.training.rates) if option == "rate" else found


def _warmup(found: argparse.Namespace, before: int) -> int | None:
    """Warm-up steps as asked; else the scenario's, but at most half of the steps asked for."""
    if found.warmup is not None or found.steps is None:
        return int(found.warmup) if found.warmup is not None else None
    return int(min(before, found.steps // 2))


_WITH_RESUME: Final = ("resume", "no_report", "no_recommendation", "trace", "plan", "yes")


def check_resume(found: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse options that would change what is resumed.

    Raises
    ------
    ScenarioError
        Names the first of them.
    """
    allowed = "has no meaning with --resume, whose folder has the scenario"
    refuse_beside(found, parser, _WITH_RESUME, allowed)


def counts(option: str, text: str) -> list[int]:
    """Parse numbers of workers, such as ``1-4,8``.

    Raises
    ------
    ScenarioError
        It is not such a list.
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 1 <= first <= last <= MOST_WORKERS:
            allowed = f"must be numbers or ranges from 1 to {MOST_WORKERS}, such as 1-4,8"
            raise ScenarioError.at(option, text, allowed)
        found += range(first, last + 1)
    return list(dict.fromkeys(found))


def traced(found: argparse.Namespace, workers: Sequence[int]) -> list[int]:
    """Numbers of workers to trace: as asked, else the largest up to `EASILY_SEEN` or the smallest.

    Where none was asked for, no more workers than `EASILY_SEEN` are to be kept of it.
    """
    if found.trace is None:
        small = [w for w in workers if w <= EASILY_SEEN]
        return [max(small, default=min(workers))]
    asked = counts("--trace", found.trace)
    unknown = [w for w in asked if w not in workers]
    if unknown:
        allowed = f"must be among the numbers of workers: {', '.join(map(str, workers))}"
        raise ScenarioError.at("--trace", unknown[0], allowed)
    return asked


EASILY_SEEN: Final = 4
"""So many workers are enough to see who waits for whom."""
