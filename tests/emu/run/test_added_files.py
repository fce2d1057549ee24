"""To add a discipline is to add its file, to add a kind of endpoint a file for each world."""

import json
import os
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

from emu.guest.kernel import VARIABLE, Kernel
from netcosim.results.folder import ResultsFolder
from tests.added import ROOT, copy_with_added_files
from tests.processes import ended

pytestmark = [pytest.mark.root, pytest.mark.guest]

RATE_BPS = 100e6
SEGMENT_NS = 1514 * 8e9 / RATE_BPS

SCENARIO = """\
name = "added"
repetitions = 1
clock = "virtual"

[cluster]
topology = "pair"

[cluster.link]
rate = "100mbit"

[[workload]]
name = "staggered"
tensors = [
  { name = "a", size = "900kB", ready = "0ms" },
  { name = "b", size = "600kB", ready = "10ms" },
  { name = "c", size = "400kB", ready = "20ms" },
  { name = "d", size = "300kB", ready = "30ms" },
]

[[transport]]
name = "t"
sender = "plain"
receiver = "h2"
discipline = "largest_first"
options = { turn = 8192 }
flow_control = false
"""


def python(copy: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The copy's program, by a Python that has this checkout installed: PYTHONPATH goes first."""
    return ended(
        [str(copy.parent / "python" / "bin" / "python"), "-P", "-m", *arguments],
        cwd=copy.parent,
        env={
            **os.environ,
            "PYTHONPATH": "copy",
            "COLUMNS": "300",
            VARIABLE: str(Kernel.find().path.parents[1]),
        },
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("added")
    venv.create(folder / "python", symlinks=True)
    base = {"base": str(folder / "python"), "platbase": str(folder / "python")}
    libraries = Path(sysconfig.get_path("purelib", "venv", base))
    (libraries / "installed.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    return copy_with_added_files(folder)


@pytest.fixture(scope="module")
def results(copy: Path) -> Path:
    job = copy.parent / "job.toml"
    job.write_text(SCENARIO)
    done = python(copy, "emu.run", "--scenario", str(job), "--out", "out")
    assert done.returncode == 0, done.stderr
    return copy.parent / "out"


def test_it_is_sent_and_predicted(results: Path) -> None:
    with ResultsFolder.open(results) as folder:
        summary: Any = json.loads(folder.read("summary.json"))
        measured, predictions = folder.read_trace(), folder.read_predictions()
    (cell,) = summary["cells"]
    assert cell["best"] == "largest_first"
    (found,) = [
        m for m in cell["models"] if (m["model"], m["level"]) == ("largest_first", "PREDICT")
    ]
    assert (found["order"]["max"], found["orders_equal"], cell["lost_share"]) == (0, 1, 0)
    predicted = {
        row.stream: row.wire_end_ns
        for row in predictions
        if (row.model, row.level) == ("largest_first", "PREDICT")
    }
    assert len(measured) == 4
    for row in measured:
        assert abs(row.wire_end_ns - predicted[row.stream]) < SEGMENT_NS


def test_it_is_in_the_report(results: Path) -> None:
    text = (results / "report.html").read_text()
    assert "largest_first" in text


def test_it_is_predicted_again(results: Path, copy: Path) -> None:
    done = python(copy, "emu.predict", str(results))
    assert done.returncode == 0, done.stderr
    assert "the same as the run, byte for byte" in done.stdout


def test_it_is_identified(results: Path, copy: Path) -> None:
    (capture,) = (results / "captures").iterdir()
    done = python(copy, "emu.analyze", str(capture), "--json", "found.json")
    assert done.returncode == 0, done.stderr
    (connection,) = json.loads((copy.parent / "found.json").read_text())["connections"]
    (pulled,) = [d for d in connection["directions"] if d["data_bytes"]]
    assert pulled["discipline"]["discipline"] == "largest_first"
    words = "largest_first (a turn of the stream with the most bytes left), 8192 bytes a turn"
    assert words in done.stdout


def test_both_worlds_refuse_what_it_does_not_have(copy: Path) -> None:
    job = copy.parent / "bad.toml"
    job.write_text(SCENARIO + "whole_messages = true\n")
    for module in ("emu.run", "sim.run"):
        done = python(copy, module, "--scenario", str(job), "--plan")
        assert done.returncode == 2
        assert "a plain sender knows no messages" in done.stderr
