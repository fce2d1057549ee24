"""Entry point of ``sim.profile``: options, measurement, profile file, printed table."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from netcosim.cli import CrashSite, output, run_main
from netcosim.formatting import escaped
from netcosim.workload import Profile, dump_profile
from netcosim.workload.lint import check
from sim.profiling.assemble import Settings, build_profile
from sim.profiling.file import check_place, write_whole
from sim.profiling.library import load_torch
from sim.profiling.measure import Measured, measure
from sim.profiling.options import Asked, read_asked
from sim.profiling.records import Recorder
from sim.profiling.table import print_measured

PROG: Final = "sim.profile"


def run(arguments: Sequence[str]) -> int:
    """Measure a model and write its profile; return the exit code."""
    given = list(arguments)
    return run_main(lambda _: _main(given, _), PROG)


def _main(arguments: Sequence[str], _: CrashSite) -> int:
    asked = read_asked(PROG, arguments)
    check_place(asked.out)
    recorder, name, batch = _recorder(asked)
    measured, profile = profiled(recorder, asked, name, batch)
    write_whole(asked.out, dump_profile(profile))
    console = output(highlight=False)
    print_measured(measured, console)
    console.print(escaped(f"profile     {asked.out}"), markup=False, soft_wrap=True)
    return 0


def _recorder(asked: Asked) -> tuple[Recorder, str, int]:
    """Recorder of the model that was asked for, with the model's name and batch."""
    torch = load_torch()
    from sim.profiling.target import torchvisions, users_own
    from sim.profiling.torch_recorder import TorchRecorder

    torch.set_num_threads(asked.threads)
    torch.manual_seed(0)
    if asked.torchvision is not None:
        target = torchvisions(torch, asked.torchvision, asked.batch, asked.shape)
    else:
        target = users_own(torch, asked.where or "", asked.batch, asked.shape)
    return TorchRecorder(torch, target, asked.optimizer), target.name, target.batch


def profiled(recorder: Recorder, asked: Asked, name: str, batch: int) -> tuple[Measured, Profile]:
    """Measure a model, and build a profile that can be simulated.

    Raises
    ------
    ScenarioError
        The model can't be measured, or what was measured makes no profile.
    """
    console = Console(stderr=True, highlight=False)
    console.print(f"{asked.warmup} steps of warm-up, then {asked.steps}", style="dim")
    with console.status("measuring") as status:
        measured = measure(
            recorder,
            asked.steps,
            asked.warmup,
            lambda done: status.update(f"measuring: step {done} of {asked.steps}"),
        )
    settings = Settings(
        name=asked.name or f"{name}-b{batch}",
        batch=batch,
        branches=asked.branches,
        parsing=asked.parsing,
    )
    profile = build_profile(measured, settings)
    check(profile, settings.name)
    return measured, profile
