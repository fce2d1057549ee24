"""Folders of training jobs, given together: what can't be read, and an interruption on the way."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from netcosim.results.training.job_summary import MessageTimes
from netcosim.results.training.seal import Seal, dump_seal, load_seal, sealed
from ray_sweeps.crosscheck import main as crosscheck
from ray_sweeps.crosscheck.training import command

KEPT = Path(__file__).parents[3] / "bench/results/crosscheck"
RUN = KEPT / "alexnet-two_visit-asp-1-w2-slow/run"
OTHER = KEPT / "alexnet-fifo-bsp-1-w2-fifo-2.5ms/run"
PROBED = KEPT / "alexnet_b4-grpc-bsp-1-w1_4-bound/run"
SCHEDULED = KEPT / "alexnet-fifo-bsp-2-w2_4-p3/run"


@pytest.mark.oracle
def test_one_that_cannot_be_read_is_told_and_the_others_are_checked(tmp_path, capsys):
    damaged = Path(shutil.copytree(OTHER, tmp_path / "damaged"))
    (damaged / "summary.json").write_text("{")
    out = tmp_path / "out"
    folders = [str(damaged), str(RUN), str(tmp_path / "missing")]
    assert crosscheck([*folders, "--out", str(out), "--no-report"]) == 1
    told = capsys.readouterr().err
    assert "damaged/summary.json: is damaged: not JSON" in told
    assert "missing" in told
    found = json.loads((out / "crosscheck.json").read_text())
    assert [cell["cell"] for cell in found["cells"]] == ["alexnet/two_visit"]
    assert len(found["lines"]) == 2


@pytest.mark.oracle
def test_what_was_checked_before_an_interruption_is_written(tmp_path, capsys, monkeypatch):
    check = command.check_run

    def interrupted(path: Path, lines: list[str]) -> object:
        if path == OTHER:
            raise KeyboardInterrupt
        return check(path, lines)

    monkeypatch.setattr(command, "check_run", interrupted)
    out = tmp_path / "out"
    assert crosscheck([str(RUN), str(OTHER), "--out", str(out)]) == 130
    assert f"interrupted; what was done (1 cell) is in {out}" in capsys.readouterr().err
    assert len(json.loads((out / "crosscheck.json").read_text())["cells"]) == 1
    none = tmp_path / "none"
    assert crosscheck([str(OTHER), "--out", str(none)]) == 130
    assert not none.exists()


def sealed_again(old: Seal, **changes: Any) -> Seal:
    """Changed content of a seal, under a seal that fits it."""
    names = ("scenario", "record_sha256", "simulator", "cells")
    return sealed(**{name: getattr(old, name) for name in names} | changes)


def test_a_run_whose_scenario_draws_another_job_is_refused(tmp_path, capsys):
    """Scenario, seal and summary agree with each other, and not with the job."""
    copy = Path(shutil.copytree(RUN, tmp_path / "run"))
    old = load_seal((copy / "seal.json").read_bytes(), "seal.json")
    text = old.scenario.replace("seed = 1", "seed = 2")
    assert text != old.scenario
    new = sealed_again(old, scenario=text)
    (copy / "seal.json").write_bytes(dump_seal(new))
    (copy / "scenario.toml").write_text(text)
    summary = json.loads((copy / "summary.json").read_text())
    summary["sealed_sha256"] = new.sha256
    (copy / "summary.json").write_text(json.dumps(summary))
    assert crosscheck([str(copy), "--out", str(tmp_path / "out")]) == 6
    assert "job_sha256" in capsys.readouterr().err


def test_seals_say_what_messages_take_only_where_it_was_counted():
    old = load_seal((RUN / "seal.json").read_bytes(), "seal.json")
    assert b'"messages"' not in dump_seal(old)
    times = MessageTimes(asking_ns=1, parameter_ns=2, gradient_ns=3, spread=0.5)
    cells = tuple(cell.model_copy(update={"messages": times}) for cell in old.cells)
    new = sealed_again(old, cells=cells)
    assert load_seal(dump_seal(new), "seal.json").cells[0].messages == times


def edited(tmp_path: Path, **values: object) -> Path:
    copy = Path(shutil.copytree(RUN, tmp_path / "run"))
    path = copy / "summary.json"
    data = json.loads(path.read_text())
    data["series"][0]["points"][0] |= values
    path.write_text(json.dumps(data))
    return copy


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"examples_per_s": 5.0}, "5.0: must be 27.9"),
        ({"examples_per_s": 1e-320}, "examples_per_s: Input should be greater than"),
        ({"warmup": 5}, "by its steps"),
    ],
)
def test_throughput_that_its_steps_do_not_have_is_refused(tmp_path, capsys, values, said):
    copy = edited(tmp_path, **values)
    assert crosscheck([str(copy), "--out", str(tmp_path / "out")]) == 6
    assert said in capsys.readouterr().err


@pytest.mark.oracle
@pytest.mark.parametrize(("run", "by_models"), [(RUN, True), (PROBED, True), (SCHEDULED, False)])
def test_ends_of_streams_are_told_over_models_that_follow_packets_or_receivers_that_probe(
    run, tmp_path, by_models
):
    out = tmp_path / "out"
    assert crosscheck([str(run), "--out", str(out), "--no-report"]) == 0
    (cell,) = json.loads((out / "crosscheck.json").read_text())["cells"]
    for point in cell["points"]:
        models = point["models"]
        assert (models is not None and point["streams"] == models["streams"]) == by_models
        assert (point["simulated_streams"] is not None) == by_models
