"""Training jobs over transports with windows, credit rules and disciplines that interleave."""

import pytest

from netcosim.training.job_file import load_job
from sim.sealing.assumed import assumed_of
from sim.sealing.over_models import run_over_models
from sim.sealing.predict import simulate
from tests.emu.run.running import results, run_to_end, scenario
from tests.emu.run.world import World

pytestmark = [pytest.mark.root, pytest.mark.guest]


def test_each_takes_what_models_and_simulator_say(world: World) -> None:
    """Two servers hold tensors by turns; half a percent is the target of workers in step."""
    done = run_to_end(world, "--scenario", scenario("job-transports"), "--out", "out")
    assert done.code == 0, done.err
    with results(world) as folder:
        summary, read = folder.read_job_summary(), folder.read_scenario()
        assert summary is not None
        assert summary.trusted
        overtaken = {}
        for series in summary.series:
            job = load_job(folder.read_job(series.cell), "job")
            assert job.plan.servers == 2
            assumed = assumed_of(read, series, job)
            (point,) = series.points
            over = run_over_models(assumed, 2)
            assert over is not None
            assert over.examples_per_s == pytest.approx(point.examples_per_s, rel=0.005)
            simulated = simulate(assumed, assumed.job, compiled=False)
            assert simulated.examples_per_s == pytest.approx(point.examples_per_s, rel=0.01)
            overtaken[series.cell] = point.overtaken_share
    assert overtaken.pop("alexnet/whole") == 0  # one message after the other
    assert len(overtaken) == 4
    assert all(share is not None and share > 0 for share in overtaken.values())
