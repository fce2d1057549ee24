"""Records of the cross-check's cells that are kept: whole, and known by their seals."""

import json

import pytest

from bench.crosscheck.attempts import kept
from bench.crosscheck.records import RECORD, RECORDS, RUN
from netcosim.results.folder import SEAL
from netcosim.results.training.seal import load_seal
from ray_sweeps.crosscheck.training.check import check_run
from sim.sealing.record import read_record

CELLS = sorted(path.name for path in RECORDS.iterdir())


def test_each_belongs_to_an_attempt() -> None:
    ended = {attempt.cell for attempt in kept() if not attempt.failed}
    assert CELLS
    assert set(CELLS) <= ended


@pytest.mark.parametrize("name", CELLS)
def test_the_seal_is_of_the_record(name: str) -> None:
    path = RECORDS / name / RUN / SEAL
    seal, record = load_seal(path.read_bytes(), path), read_record(RECORDS / name / RECORD)
    assert dict(record.sha256) == seal.record_sha256


def test_a_run_is_checked_as_when_it_was_measured() -> None:
    """The smallest job: what was measured and sealed is compared again, from the kept files."""
    name = "alexnet-fifo-bsp-1-w2_4-parsing-random"
    (attempt,) = [a for a in kept() if a.cell == name and a.checked and not a.predicted_again]
    ((found),) = check_run(RECORDS / name / RUN, [])
    again = json.loads(found.check.model_dump_json())
    assert attempt.checked is not None
    for one, other in zip(again["points"], attempt.checked["points"], strict=True):
        for key in ("workers", "measured", "predicted", "error", "step_median_error"):
            assert one[key] == pytest.approx(other[key])
