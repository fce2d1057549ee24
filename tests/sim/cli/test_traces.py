"""Numbers of workers that are traced, and how much of them is kept."""

from pathlib import Path

import numpy as np
import pytest

from netcosim.report.heading import lead
from netcosim.results.folder import ResultsFolder
from netcosim.results.training.operations import TABLE, OperationColumns
from netcosim.scenario import read_scenario
from netcosim.trace import StreamRow
from sim.cli.options import EASILY_SEEN, changed, sim_parser, traced
from tests.sim.cli.started import FAST, Inside


@pytest.mark.parametrize(
    ("workers", "kept"),
    [([1, 2, 3, 4, 5, 6], [4]), ([1, 16], [1]), ([16], [16]), ([8, 500], [8]), ([3], [3])],
)
def test_some_number_of_workers_is_always_traced(workers, kept):
    assert traced(sim_parser("sim.run").parse_args([]), workers) == kept


def kept_of(
    inside: Inside, name: str, *options: str
) -> tuple[OperationColumns, tuple[StreamRow, ...]]:
    asked = ("--scenario", "./job.toml", "--workload", "mine.json", "--workers", "6")
    inside.do(*asked, "--share", "max_min", *options, "--out", name, interpreted=True)
    with ResultsFolder.open(Path(name)) as folder:
        return folder.read_operations(), folder.read_trace()


def test_of_many_workers_the_first_few_are_kept_as_they_are_among_all(inside, here):
    Path("job.toml").write_text(FAST.replace("steps = 20", "steps = 8"))
    few, few_transfers = kept_of(inside, "few")
    every, all_transfers = kept_of(inside, "all", "--trace", "6")
    assert set(few.worker.tolist()) == set(range(EASILY_SEEN)) != set(every.worker.tolist())
    assert set(few.workers.tolist()) == {6}
    first = TABLE.where(every, every.worker < EASILY_SEEN)
    assert np.array_equal(few.end_ns, first.end_ns)
    assert few.operation.texts() == first.operation.texts()
    mine = {f"w{worker}" for worker in range(EASILY_SEEN)}
    assert few_transfers == tuple(
        row for row in all_transfers if {row.source, row.destination} & mine
    )


def test_a_report_is_not_headed_by_a_description_that_options_made_untrue(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text('description = "Two at one Gbit/s."\n' + FAST)
    before = read_scenario(path)
    found = sim_parser("sim.run").parse_args(["--rate", "2gbit", "--workers", "3"])
    now, _ = changed(before, found)
    assert lead(before) == "Two at one Gbit/s."
    assert lead(now) == "Scenario fast, changed by options: --workers 3 --rate 2gbit"
