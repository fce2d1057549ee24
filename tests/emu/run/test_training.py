"""Training jobs over real flows: equal runs, steps as simulated, clean ends."""

import os
import shutil
import signal
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from emu.capture.analyse import analyse_capture
from emu.guest.kernel import VARIABLE
from netcosim.results.folder import ResultsFolder
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import hash_of, load_job
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.sealing.assumed import assumed_of
from sim.sealing.over_models import run_over_models
from sim.sealing.predict import simulate
from sim.settings import sending_of
from tests.emu.run.running import WORK, finish, results, run_to_end, running, scenario, wait_for
from tests.emu.run.world import ROOT, World
from tests.sim.naive.plans import make_network
from topo.spec import GOODPUT_SHARE

pytestmark = [pytest.mark.root, pytest.mark.guest]
UNEQUAL = {"alexnet/h2": 0.005, "alexnet/grpc": 0.03}
JOBS = ("jobs/alexnet@h2.json", "jobs/alexnet@grpc.json")
CAPTURES = tuple(f"captures/alexnet@{name}.w2.c0.pcap.gz" for name in ("h2", "grpc"))
TABLES = ("steps.parquet", "operations.parquet", "summary.json", *JOBS, *CAPTURES)


def test_two_runs_are_equal_and_steps_take_what_the_simulator_says(world: World) -> None:
    """The second is that of a copy of the project, in a folder with another, longer name."""
    copy = f"{WORK}/a-copy-of-the-project-in-a-folder-of-its-own"
    for package in ("emu", "h2model", "netcosim", "sim", "topo"):
        shutil.copytree(
            ROOT / package,
            world.at(f"{copy}/{package}"),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for out, project in (("one", str(ROOT)), ("two", copy)):
        done = run_to_end(
            world,
            *("--scenario", scenario("training"), "--out", out),
            command=("env", "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-m", "emu.run"),
            environ={"PYTHONPATH": project, VARIABLE: kernels()},
        )
        assert done.code == 0, done.err
        for transport in ("h2", "grpc"):
            assert f"alexnet/{transport}, 2 workers: " in done.out
    one, two = (world.at(f"{WORK}/{out}") for out in ("one", "two"))
    for name in TABLES:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
    assert (one / "report.html").stat().st_size > 10_000
    for name in CAPTURES:
        assert_first_step(one / name)
    with results(world, f"{WORK}/one") as folder:
        assert folder.world() == "job"
        summary = folder.read_job_summary()
        assert summary is not None
        assert summary.trusted
        overtaken = {s.cell: s.points[0].overtaken_share for s in summary.series}
        assert overtaken["alexnet/h2"] == 0  # one message after the other, by the sender's counter
        assert overtaken["alexnet/grpc"] is not None
        data = folder.read_job("alexnet/h2")
        assert {hash_of(data)} == {series.job_sha256 for series in summary.series}
        assert_as_simulated(folder, load_job(data, "job"))


def assert_first_step(capture: Path) -> None:
    """All of the first step is there, pulls and gradients of both workers; not all five are."""
    streams = [s for one in analyse_capture(capture).connections for s in one.streams]
    first = [s for s in streams if s.path and "/s0/" in s.path]
    assert sum(s.data.data_bytes for s in first) >= 4 * 300_000
    assert sum(s.data.data_bytes for s in streams) < 4 * 4 * 300_000


def kernels() -> str:
    """The folder of kernels that this suite uses."""
    return os.environ.get(VARIABLE) or str(ROOT / ".virtual-kernel")


def assert_as_simulated(folder: ResultsFolder, job: TrainingJob) -> None:
    """Parameters are handed over when a step begins in the simulator, to a percent of a step."""
    rate = round(100e6 * GOODPUT_SHARE)
    network = make_network(workers=2, server_bps=rate, worker_bps=rate)
    transport = folder.read_scenario().transport[0]
    engine = Engine(
        job.plan,
        network,
        sending_of(transport, None, 0),
        job.draws,
        Control(staleness=job.staleness),
        speeds=job.speeds,
        compiled=False,
    )
    engine.run()
    steps, ops = engine.steps(), folder.read_operations()
    simulated = {
        (w, s): t for w, s, t in zip(steps.worker, steps.step, steps.start_ns, strict=True)
    }
    pulls = ops.cell.are("alexnet/h2") & ops.place.are("server 0 down")
    step_ns = float(np.diff(sorted(t for (w, _), t in simulated.items() if w == 0)).mean())
    for (worker, step), start_ns in simulated.items():
        mine = pulls & (ops.worker == worker) & (ops.step == step)
        measured_ns = ops.ready_ns[mine].min()
        assert measured_ns == pytest.approx(start_ns, abs=0.01 * step_ns * (step + 1))


def test_joined_gradients_by_a_schedule_over_unequal_links(world: World) -> None:
    """Steps take what the simulator says, over our HTTP/2, and roughly over gRPC.

    There it is off by 1.2 %; that is neither acknowledgements nor a link's bucket, and was not
    looked up on the wire.
    """
    done = run_to_end(world, "--scenario", scenario("joined"), "--out", "out")
    assert done.code == 0, done.err
    with results(world) as folder:
        summary, ops = folder.read_job_summary(), folder.read_operations()
        assert summary is not None
        for series in summary.series:
            job = load_job(folder.read_job(series.cell), "job")
            assumed = assumed_of(folder.read_scenario(), series, job)
            simulated = simulate(assumed, assumed.job, compiled=False)
            assert series.points[0].examples_per_s == pytest.approx(
                simulated.examples_per_s, rel=UNEQUAL[series.cell]
            )
            mine = ops.cell.are(series.cell)
            assert job.plan.once is not None
            assert (mine & (ops.worker == 2)).sum() == job.steps * job.plan.once.sum()


def test_a_slow_worker_s_gradients_count_for_nothing_and_nobody_waits_for_them(world) -> None:
    """Two of three workers are enough: two servers make all updates, the third ends fewer steps.

    Steps are small, so that what predictions leave out counts: acknowledgements take as much of
    a port as the other direction's data needs, and ports of workers save up bytes, too.
    """
    done = run_to_end(world, "--scenario", scenario("some"), "--out", "out")
    assert done.code == 0, done.err
    with results(world) as folder:
        summary, ops, steps = (
            folder.read_job_summary(),
            folder.read_operations(),
            folder.read_steps(),
        )
        assert summary is not None
        assert summary.trusted
        for series in summary.series:
            job = load_job(folder.read_job(series.cell), "job")
            assumed = assumed_of(folder.read_scenario(), series, job)
            simulated = simulate(assumed, assumed.job, compiled=False)
            rate = series.points[0].examples_per_s
            assert rate == pytest.approx(simulated.examples_per_s, rel=0.02)
            over = run_over_models(assumed, 3)
            assert over is not None
            assert rate == pytest.approx(over.examples_per_s, rel=0.02)
            assert job.plan.once is not None
            made = ops.cell.are(series.cell) & (ops.worker == 3)
            assert made.sum() == 8 * job.plan.once.sum()
            finished = np.bincount(steps.worker[steps.cell.are(series.cell)], minlength=3)
            assert finished[1] < 5 < min(finished[0], finished[2])


def test_batches_follow_a_coordinator_as_they_do_in_models_and_simulator(world: World) -> None:
    """LB-BSP: the same code decides; over our HTTP/2 models know all that it is told.

    But for one thing: whose process runs first where workers begin at one moment.

    gRPC's gradients come a little earlier or later than its models say, which moves an example in a
    step: 378 examples/s were measured where they say 388. So its throughput, of five steps, is held
    to no model here, its batches are.
    """
    done = run_to_end(world, "--scenario", scenario("balanced"), "--out", "out")
    assert done.code == 0, done.err
    with results(world) as folder:
        summary = folder.read_job_summary()
        assert summary is not None
        for series in summary.series:
            job = load_job(folder.read_job(series.cell), "job")
            assumed = assumed_of(folder.read_scenario(), series, job)
            (point,) = series.points
            batches = np.array(point.batches)
            assert (batches.sum(axis=0) == 72).all()
            assert batches[1, -1] < 12 < 24 < batches[0, -1]
            over = run_over_models(assumed, 3)
            assert over is not None
            assert over.batches is not None
            assert np.abs(over.batches - batches).max() <= 1
            if series.cell == "alexnet/h2":
                others = (run_over_models(assumed, 3, order) for order in permutations(range(3)))
                equal = [o for o in others if o and np.array_equal(o.batches, batches)]
                assert equal
                over = equal[0]
                assert over.examples_per_s == pytest.approx(point.examples_per_s, rel=0.002)
            simulated = simulate(assumed, assumed.job, compiled=False)
            assert simulated.batches is not None
            assert np.abs(simulated.batches - batches).max() <= 1


def test_ctrl_c_ends_guests_and_says_so(world: World) -> None:
    with running(world, "--scenario", scenario("training"), "--out", "out") as run:
        wait_for("a guest", lambda: [m for m in run.members().values() if "umid=guest" in m])
        os.kill(run.process.pid, signal.SIGINT)
        done = finish(run)
        assert run.wait_gone() == {}
    assert done.code == 130
    assert "Traceback" not in done.err + done.out
    assert done.last.startswith("emu.run: interrupted")
    assert world.changes(below=f"{WORK}/out") == set()


def test_a_guest_that_dies_ends_the_run_in_one_line(world: World) -> None:
    with running(world, "--scenario", scenario("training"), "--out", "out") as run:
        guests = wait_for(
            "guests", lambda: [p for p, m in run.members().items() if "umid=guest" in m]
        )
        os.kill(min(guests), signal.SIGKILL)
        done = finish(run)
        assert run.wait_gone() == {}
    assert done.code == 4
    assert "Traceback" not in done.err + done.out
    assert "a guest was killed by SIGKILL" in done.last
