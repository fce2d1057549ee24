"""Entry point of ``emu.run``: options, privileges, exit codes; `emu.session` does the run."""

import argparse
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from rich.console import Console

from emu.cli.describe import describe
from emu.cli.listing import print_names
from emu.cli.machine_checks import check_for_guests, check_machine
from emu.cli.training import (
    GivenSeal,
    add_training_options,
    describe_jobs,
    read_begun,
    read_seal,
    run_jobs,
    task_of,
)
from emu.identify.command import (
    add_subject_options,
    identify_run,
    read_subject,
    show_identification,
)
from emu.identify.subject import SCENARIO as IDENTIFY
from emu.identify.subject import Subject, with_hand_overs, with_subject
from emu.isolation import isolate
from emu.plan import Plan, make_plan, on_this_machine
from emu.training.job_cells import is_training, job_cells, network_of
from netcosim.cli import (
    CrashSite,
    Options,
    choose_scenario,
    draw,
    finishing,
    make_parser,
    output,
    print_path,
    print_summary,
    read_options,
    run_main,
    telling_where,
    withdraw_if_refused,
)
from netcosim.cli.session import as_recorded, deciding, noted
from netcosim.errors import (
    EnvironmentRefusedError,
    InterruptedRunError,
    ScenarioError,
    UntrustedResultError,
)
from netcosim.extras import require
from netcosim.formatting import escaped
from netcosim.results.folder import ResultsFolder, default_path
from netcosim.results.storage.ownership import calling_user
from netcosim.results.streams.summary import Summary
from netcosim.scenario import CLOCKS, Scenario, builtin_scenarios, parse_scenario, with_values
from topo.spec import NetSpec

PROG: Final = "emu.run"
DEFAULT: Final = "default"
CAPTURE_SHARE: Final = 0.02
"""Packed captures are about this share of the bytes sent: payloads are zeros."""

_OTHER_FILES_BYTES: Final = 50_000_000
_NICENESS: Final = -15
_PROGRAM: Final = Path(__file__).parents[1] / "run.py"


def run(arguments: Sequence[str]) -> int:
    """Run a scenario on an emulated network; return the exit code."""
    given = list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: list[str], site: CrashSite) -> int:
    parser = make_parser(
        PROG, "Run a scenario's streams over an emulated network, and judge models."
    )
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        help="instead of the scenario's: the machine's own, or a guest's virtual one",
    )
    add_training_options(parser)
    add_subject_options(parser)
    options = read_options(parser, arguments)
    subject = read_subject(parser, arguments)
    builtin = builtin_scenarios(resources.files("emu") / "scenarios")
    if options.list_names:
        print_names(output(), sorted(builtin))
        return 0
    found = parser.parse_args(arguments)
    begun = None if found.resume is None else read_begun(found, parser)
    seal = None if found.sealed is None else read_seal(found)
    if begun is not None:
        scenario, seal = begun.scenario, begun.seal
    elif seal is None:
        scenario = _scenario(options, builtin, subject, found.clock)
    else:
        scenario = parse_scenario(seal.content.scenario, f"{found.sealed}: scenario")
    if is_training(scenario):
        profiling = found.only is not None if begun is None else begun.profiling
        return _train(scenario, found, seal, profiling, options, site, arguments)
    if found.only is not None:
        raise ScenarioError.at("--only", found.only, "is for training jobs, which have a profile")
    plan = _plan(scenario, options)
    if options.plan:
        unchecked = check_machine(plan) if plan.cells else []
        lines = [*describe(plan), *(f"not checked {what}" for what in unchecked)]
        output(highlight=False).print("\n".join(map(escaped, lines)), markup=False)
        return 0
    if not plan.cells:
        raise EnvironmentRefusedError(f"no cell can be run here: {plan.not_run[0].reason}")
    _enter(arguments, site, plan.scenario, plan.net)
    return _run(plan, options, site, arguments)


def _enter(arguments: Sequence[str], site: CrashSite, scenario: Scenario, net: NetSpec) -> None:
    """Enter the run's own namespaces, where this machine has what the run needs.

    Raises
    ------
    EnvironmentRefusedError
        It lacks something.
    """
    is_virtual = scenario.clock == "virtual"
    require("emu")
    if is_virtual:
        check_for_guests(net)
    # By its file, which is found wherever the project is, installed or not.
    isolate.ensure_isolated([sys.executable, "-P", str(_PROGRAM), *arguments])
    site.spare = isolate.lasting_dir()
    if is_virtual:
        return
    # Other programs of this machine must not take the processor from a burst. In a container that
    # forbids it, the bounds of a valid burst will tell.
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)

    from emu.network.kernel import check_kernel  # only here: planning is quick without it

    check_kernel(net, scenario.cluster.tcp)


def _train(
    scenario: Scenario,
    found: argparse.Namespace,
    seal: GivenSeal | None,
    profiling: bool,
    options: Options,
    site: CrashSite,
    arguments: Sequence[str],
) -> int:
    """Run a training scenario, or tell its plan."""
    try:
        cells = job_cells(scenario)
        task = task_of(scenario, cells, seal, profiling=profiling)
    except ScenarioError as problem:
        source = found.resume or found.sealed or options.scenario or DEFAULT
        raise ScenarioError(f"{source}: {problem}") from None
    if options.plan:
        lines = describe_jobs(scenario, cells, task)
        output(highlight=False).print("\n".join(map(escaped, lines)), markup=False)
        return 0
    net = network_of(scenario, cells[0].job, max(task.counts))
    _enter(arguments, site, scenario, net)
    return run_jobs(scenario, cells, task, options, site, arguments, found.resume)


def _scenario(
    options: Options,
    builtin: Mapping[str, Traversable],
    subject: Subject | None,
    clock: str | None,
) -> Scenario:
    """The scenario asked for."""
    scenario = choose_scenario(options, builtin, DEFAULT)
    if clock is not None:
        scenario = with_values(scenario, {"clock": clock}, "--clock")
    if subject is not None:
        scenario = with_subject(scenario, subject)
    return with_hand_overs(scenario) if scenario.name == IDENTIFY else scenario


def _plan(scenario: Scenario, options: Options) -> Plan:
    """Plan a scenario of bursts; an error begins with the scenario's name or file."""
    try:
        return on_this_machine(make_plan(scenario))
    except ScenarioError as problem:
        raise ScenarioError(f"{options.scenario or DEFAULT}: {problem}") from None


def _run(plan: Plan, options: Options, site: CrashSite, arguments: Sequence[str]) -> int:
    from emu.progress import Progress
    from emu.session import Session

    started = datetime.now(UTC)
    owner = calling_user(os.environ, os.geteuid())
    path = options.out or default_path(plan.scenario.name, started)
    console = Console(stderr=True, highlight=False)
    with (
        ResultsFolder.create(
            path, plan.scenario, owner, needed_bytes=_needed_bytes(plan)
        ) as folder,
        telling_where(path),
    ):
        site.keep(folder)
        session = Session(
            plan=plan,
            folder=folder,
            scratch=isolate.scratch_dir(),
            progress=Progress(console),
            command=("emu.run", *as_recorded(arguments)),
            started=started,
        )
        summary = session.run()
        withdraw_if_refused(folder, session.failure, finished=bool(session.found.outcomes))
        with finishing(session.failure) as late, deciding(session.failure):
            wanted = plan.scenario.name == IDENTIFY and session.failure is None
            try:
                found = identify_run(folder) if wanted else None
                page = draw(folder, console)
            finally:
                print_summary(summary, output())
            if found is not None:
                show_identification(found)
            for problem in session.found.problems:
                note = escaped(f"note: {problem}")
                Console(highlight=False).print(note, markup=False, soft_wrap=True)
            print_path("report", page)
    return _verdict(session.failure or late.interruption, summary, path)


def _verdict(failure: BaseException | None, summary: Summary, path: Path) -> int:
    """Return 0 for a run that is complete and trusted; else raise the error that says why not."""
    if isinstance(failure, KeyboardInterrupt):
        raise noted(InterruptedRunError(f"interrupted; what was finished is in {path}"), failure)
    if failure is not None:
        raise failure
    if not summary.trusted:
        raise UntrustedResultError(f"these figures can't be trusted: {summary.reasons[0]}")
    return 0


def _needed_bytes(plan: Plan) -> int:
    sent = sum(
        m.size_bytes for cell in plan.cells for c in plan.connections(cell) for m in c.messages
    )
    return _OTHER_FILES_BYTES + round(CAPTURE_SHARE * sent * plan.scenario.repetitions)
