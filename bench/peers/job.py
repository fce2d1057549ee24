"""Text format of a job for peers in any language, and the results that they print.

Numbers and words apart by white space; every section begins with its name:

    job 1
    servers K          rate_bps of each one's port
    workers W steps N  then of each worker the recorded steps that it repeats
    factors F          then W rows of F (1 or N): factors of computations at the worker
    sending RULE WINDOW   fifo or two_visit; the stream's window in bytes, -1: none
    channels C         of each: server, 0 down or 1 up
    processors P       of each: 1 at the worker or 0 at a server, server, capacity
    operations O       of each: place, size_bytes, waits, number of followers, followers
    recorded R S       of each: S sources in order of hand-over, O durations in ns
"""

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from netcosim.errors import EnvironmentRefusedError, ScenarioError
from netcosim.training.plan import WORKER, Draws, Floats, StepPlan
from sim.plan import Network, Sending

DISCIPLINES = ("fifo", "two_visit")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """Results that a peer's process printed.

    Attributes
    ----------
    release : of the simulator
    wall_s : what the simulation took, without reading the job and building the model
    steps : steps ended, of all workers
    ends_ns : (workers, steps) when each ended; None if not asked for
    """

    release: str
    wall_s: float
    steps: int
    ends_ns: Floats | None


def write_job(path: Path, plan: StepPlan, network: Network, sending: Sending, draws: Draws) -> None:
    """Write a job that the peers can run.

    Raises
    ------
    ScenarioError
        It needs what the peers do not model.
    """
    _refuse(network, sending)
    sections = [*_settings(plan, network, sending, draws), *_step(plan)]
    path.write_text("\n".join(sections) + "\n", encoding="ascii")


def _refuse(network: Network, sending: Sending) -> None:
    """Refuse what is not modelled by the peers."""
    if sending.discipline not in DISCIPLINES:
        raise ScenarioError.at("discipline", sending.discipline, "must be one of fifo, two_visit")
    if sending.discipline == "two_visit" and any(sending.options[:3]):
        raise ScenarioError.at("options", sending.options, "the first three must be 0")
    if sending.connection_window_bytes is not None:
        raise ScenarioError.at("connection_window_bytes", sending.connection_window_bytes, "none")
    if network.share != "equal":
        raise ScenarioError.at("share", network.share, "must be equal")
    if network.delay_ns.any():
        raise ScenarioError.at("delay_ns", int(network.delay_ns.max()), "must be 0")
    if network.both_busy != 1.0:
        raise ScenarioError.at("both_busy", network.both_busy, "must be 1")


def _settings(plan: StepPlan, network: Network, sending: Sending, draws: Draws) -> Iterable[str]:
    workers, steps = draws.step.shape
    window = -1 if sending.window_bytes is None else sending.window_bytes
    yield "job 1"
    yield _line(f"servers {plan.servers}", network.server_bps)
    yield f"workers {workers} steps {steps}"
    yield from (_line("", row) for row in draws.step)
    yield f"factors {draws.factor.shape[1]}"
    yield from (_line("", row) for row in draws.factor)
    yield f"sending {sending.discipline} {window}"
    yield f"channels {len(plan.channels)}"
    yield from (f"{channel.server} {channel.direction}" for channel in plan.channels)
    yield f"processors {len(plan.processors)}"
    for processor in plan.processors:
        yield f"{int(processor.node == WORKER)} {processor.server} {processor.capacity}"


def _step(plan: StepPlan) -> Iterable[str]:
    yield f"operations {plan.operations}"
    for i in range(plan.operations):
        followers = plan.after[plan.after_start[i] : plan.after_start[i + 1]]
        about = f"{plan.place[i]} {plan.size_bytes[i]} {plan.waits[i]} {len(followers)}"
        yield _line(about, followers)
    yield f"recorded {plan.steps} {plan.sources.shape[1]}"
    for sources, durations in zip(plan.sources, plan.duration_ns, strict=True):
        yield _line(_line("", sources), durations)


def _line(begin: str, values: Any) -> str:
    """Whole numbers, and floats with all their digits."""
    return " ".join([begin, *(repr(value) for value in values.tolist())]).strip()


def run_peer(command: Sequence[str | Path], job: Path, *, ends: bool) -> PeerRun:
    """Run a peer's program on a job in a process of its own.

    Raises
    ------
    EnvironmentRefusedError
        It failed; the message ends with its last line.
    """
    arguments = [*command, job, *(["--ends"] if ends else [])]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise EnvironmentRefusedError(f"{Path(command[-1]).name}: {said}")
    said = json.loads(done.stdout)
    listed = said.get("ends_ns")
    return PeerRun(
        release=str(said["release"]),
        wall_s=float(said["wall_s"]),
        steps=int(said["steps"]),
        ends_ns=None if listed is None else np.array(listed, dtype=np.float64),
    )


def run_command(command: Sequence[str | Path]) -> str:
    """Run a step of an installation; return what it printed.

    Raises
    ------
    EnvironmentRefusedError
        It failed; the message ends with its first error.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise EnvironmentRefusedError(f"{command[0]}: not installed") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
        errors = [line for line in said if "error" in line.lower()]
        raise EnvironmentRefusedError(f"{command[0]}: {(errors or said[-1:])[0]}")
    return done.stdout
