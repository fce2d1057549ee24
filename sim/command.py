"""What ``sim.run`` does: options, plan, exit codes; the rest is `sim.session`."""

import argparse
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console

from h2model import disciplines
from netcosim.cli import CrashSite, builtin_scenarios, choose_scenario, print_training, run_main
from netcosim.errors import InterruptedRunError, ScenarioError
from netcosim.policies import order_names, placement_names, synchronisation_names
from netcosim.results.failure import one_line
from netcosim.results.folder import ResultsFolder, default_path
from netcosim.results.owner import calling_user
from netcosim.results.training import TrainingSummary
from netcosim.scenario import Scenario, StragglerSpec
from netcosim.units import format_duration, format_rate, format_size
from netcosim.workload.catalogue import load_profile, profile_names
from sim.analytic import names as baseline_names
from sim.compiled import kernels_are_kept
from sim.experiment.job import TrainingCell, training_cells
from sim.experiment.point import straggler_text
from sim.experiment.presence import all_gone_ns
from sim.options import changed, shared_options, sim_parser, traced
from sim.plan import Network
from sim.prepare.build import tensors_of
from sim.progress import Progress
from sim.session import Session, simulated_counts, worker_counts
from sim.settings import network_of, sender_text, share_names, unseen_stalls, windows_text
from sim.stragglers import (
    Conditions,
    check_stragglers,
    conditions,
    kind_names,
    named_stragglers,
)
from topo.catalogue import topologies

PROG: Final = "sim.run"
DEFAULT: Final = "default"

_FOLDER_BYTES: Final = 50_000_000
_NOT_KEPT: Final = (
    "the cache folder can't be written: what is compiled now is compiled again at the next start;"
    " NETCOSIM_KERNELS names another folder"
)


def run(arguments: Sequence[str]) -> int:
    """Simulate a scenario; return the exit code."""
    given = list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: list[str], site: CrashSite) -> int:
    found = sim_parser(PROG).parse_args(arguments)
    options = shared_options(found)
    builtin = builtin_scenarios(resources.files("sim") / "scenarios")
    if options.list_names:
        print_names(Console(), sorted(builtin))
        return 0
    scenario = changed(choose_scenario(options, builtin, DEFAULT), found)
    try:
        cells = checked_cells(scenario)
    except ScenarioError as problem:
        raise ScenarioError(f"{options.scenario or DEFAULT}: {problem}") from None
    counts = worker_counts(scenario)
    kept = traced(found, counts)
    if options.plan:
        text = "\n".join(describe(scenario, cells))
        Console(highlight=False).print(text, markup=False, soft_wrap=True)
        return 0
    return _run(scenario, cells, kept, found, site, arguments)


def checked_cells(scenario: Scenario) -> tuple[TrainingCell, ...]:
    """The scenario's cells; all that it names is checked before anything is simulated.

    Raises
    ------
    ScenarioError
        What it names does not exist, or can't be simulated.
    """
    counts = worker_counts(scenario)
    check_stragglers(scenario.straggler, max(counts))
    cells = training_cells(scenario)
    for workers in {counts[0], counts[-1]}:
        check_conditions(scenario, workers)
    return cells


def check_conditions(scenario: Scenario, workers: int) -> None:
    """Refuse links, and stragglers' links, that can't be simulated with so many workers.

    At the rates that the scenario has, so that the message has them too.
    """
    network = network_of(scenario, workers)
    try:
        under = _combined(scenario.straggler, network)
    except ScenarioError as problem:
        raise _naming(problem, scenario.straggler, network) from None
    gone_ns = all_gone_ns(under)
    if gone_ns is not None:
        who = "the one worker" if workers == 1 else f"all {workers} workers"
        allowed = f"{who} would be gone for good; one must stay or come 'back'"
        raise ScenarioError.at("straggler", f"leave, {format_duration(gone_ns)}", allowed)


def _combined(specs: Sequence[StragglerSpec], network: Network) -> Conditions:
    """What stragglers come to with all of the network's workers, whatever chance draws."""
    seed = np.random.SeedSequence(0)
    return conditions(specs, len(network.worker_bps), 1, network, seed, horizon_ns=1.0)


def _naming(
    problem: ScenarioError, specs: Sequence[StragglerSpec], network: Network
) -> ScenarioError:
    """The problem with the entry that brings it in, for those that only all together tell."""
    for i, spec in enumerate(specs):
        try:
            _combined(specs[: i + 1], network)
        except ScenarioError as first:
            where = f"straggler[{i}]"
            if str(first).startswith(where):
                return first
            return ScenarioError(f"{where} ({straggler_text(spec)}): {first}")
    return problem


def notes(scenario: Scenario, cells: Sequence[TrainingCell]) -> list[str]:
    """What a person should know before the figures are believed, a line each."""
    network = network_of(scenario, max(worker_counts(scenario)))
    under = _combined(scenario.straggler, network)
    found = [
        (cell, unseen_stalls(cell.sending, network.server_bps, under.worker_bps, under.delay_ns))
        for cell in cells
    ]
    return [f"{cell.name}: {text}" for cell, text in found if text]


def _run(
    scenario: Scenario,
    cells: Sequence[TrainingCell],
    kept: Sequence[int],
    found: argparse.Namespace,
    site: CrashSite,
    arguments: Sequence[str],
) -> int:
    started = datetime.now(UTC)
    owner = calling_user(os.environ, os.geteuid())
    path = found.out or default_path(scenario.name, started)
    console = Console(stderr=True, highlight=False)
    if not kernels_are_kept():
        console.print(_NOT_KEPT, style="dim", markup=False, soft_wrap=True)
    told = notes(scenario, cells)
    for note in told:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    with ResultsFolder.create(path, scenario, owner, world="sim") as folder:
        site.folder = path
        folder.check_space(_FOLDER_BYTES)
        session = Session(
            scenario=scenario,
            cells=cells,
            traced=kept,
            folder=folder,
            progress=Progress(console),
            command=(PROG, *arguments),
            started=started,
            problems=told,
        )
        summary = session.run()
    from netcosim.report.write import write_report  # only here: it takes a while to load

    with console.status("drawing the report"):
        page = write_report(path, owner)
    print_training(summary, Console())
    Console(highlight=False).print(f"report: {page}", markup=False, soft_wrap=True)
    return _verdict(session.failure, summary, path)


def _verdict(failure: BaseException | None, summary: TrainingSummary, path: Path) -> int:
    """0 for a complete simulation; else raise what says why not."""
    if isinstance(failure, KeyboardInterrupt):
        raise InterruptedRunError(f"interrupted; what was finished is in {path}")
    if failure is not None:
        raise failure
    return 0 if summary.trusted else 1


def describe(scenario: Scenario, cells: Sequence[TrainingCell]) -> list[str]:
    """What would be simulated, line by line."""
    training, counts = scenario.training, worker_counts(scenario)
    lines = [
        f"scenario    {scenario.name}: {one_line(scenario.description)}".rstrip(": "),
        f"network     {scenario.cluster.topology}, {scenario.cluster.servers} server(s),"
        f" {format_rate(scenario.cluster.link.rate)}, links shared {training.share}",
        f"workers     {', '.join(map(str, counts))}",
        f"training    {training.synchronisation}, {training.steps} steps of each worker,"
        f" {training.warmup} of them warm-up, {scenario.repetitions} run(s) of each number",
    ]
    policy = scenario.policy
    lines += [f"policies    order {policy.order}, placement {policy.placement}"]
    lines += [f"straggler   {one_line(straggler_text(spec))}" for spec in scenario.straggler]
    for cell in cells:
        engine = cell.plans(0).why_generic
        lines += [
            f"cell        {cell.name}: {cell.profile.name}, batch {cell.batch},"
            f" {len(cell.profile.step.operations)} operations,"
            f" {format_size(sum(tensors_of(cell.profile).values()))}",
            f"  sender    {sender_text(cell.sending)}",
            f"  windows   {windows_text(cell.sending)}",
            f"  engine    {'generic, as ' + engine if engine else 'fast path'}",
        ]
    lines += [f"note        {note}" for note in notes(scenario, cells)]
    each = simulated_counts(scenario)
    runs = len(cells) * len(each) * scenario.repetitions
    steps = len(cells) * sum(each) * scenario.repetitions * training.steps
    return [*lines, f"in all      {runs} runs, {steps:,} worker-steps"]


def print_names(console: Console, scenarios: Sequence[str]) -> None:
    """Everything that a scenario or an option can name."""
    console.print("[bold]scenarios[/bold]   ", ", ".join(scenarios), highlight=False)
    for name in profile_names():
        profile = load_profile(name)
        console.print(
            f"[bold]workload[/bold]     {name}: batch {profile.batch},"
            f" {len(profile.step.operations)} operations,"
            f" {format_size(sum(tensors_of(profile).values()))}",
            highlight=False,
        )
    for name, text in topologies().items():
        console.print(f"[bold]topology[/bold]     {name}: {text}", highlight=False)
    for name, text in named_stragglers().items():
        console.print(f"[bold]straggler[/bold]    {name}: {text}", highlight=False)
    for title, names in (
        ("kinds", kind_names()),
        ("synchronisation", synchronisation_names()),
        ("shares", share_names()),
        ("disciplines", disciplines.names()),
        ("orders", order_names()),
        ("placements", placement_names()),
        ("formulas", baseline_names()),
    ):
        console.print(f"[bold]{title:12}[/bold] {', '.join(names)}", highlight=False)
