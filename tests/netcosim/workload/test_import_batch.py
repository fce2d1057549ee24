"""Of how many examples the steps of an imported file are: as it tells, else as the scenario."""

from pathlib import Path

import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import WorkloadSpec, load_workload
from netcosim.workload.importers import UnknownBatchError

TELLING = """\
node1 -- Input -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=96.000, parameter_size=0.000
node2 -- Linear(in_features=3, out_features=10, bias=True) -- forward_compute_time=0.500, backward_compute_time=0.700, activation_size=320.000, parameter_size=160.000
\tnode1 -- node2
"""  # noqa: E501
SILENT = TELLING.replace("Linear(in_features=3, out_features=10, bias=True)", "Conv2d(3, 4)")


def workload(folder: Path, text: str) -> WorkloadSpec:
    path = folder / "some.graph.txt"
    path.write_text(text)
    return WorkloadSpec.model_validate({"name": "some", "profile": str(path)})


def test_a_file_that_tells_is_read_as_it_is(tmp_path: Path) -> None:
    given = workload(tmp_path, TELLING)
    assert load_workload(given).batch == 8
    assert load_workload(given, 16) == load_workload(given)


def test_a_file_that_does_not_tell_has_the_batch_asked_for(tmp_path: Path) -> None:
    given = workload(tmp_path, SILENT)
    with pytest.raises(UnknownBatchError, match="batch: the sizes of activations do not tell it"):
        load_workload(given)
    found = load_workload(given, 16)
    assert (found.batch, found.name) == (16, "some-b16")
    assert set(found.duration_ns[0]) == {500_000, 700_000, 0}


def test_a_batch_does_not_mend_what_is_damaged(tmp_path: Path) -> None:
    given = workload(tmp_path, SILENT.replace("0.700", "x"))
    with pytest.raises(ScenarioError, match="must be a number") as refused:
        load_workload(given, 16)
    assert not isinstance(refused.value, UnknownBatchError)
