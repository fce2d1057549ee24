"""The command that compares two results folders: what it prints, its exit codes, refusals."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from netcosim.cli.compare import main
from netcosim.results.folder import ResultsFolder
from netcosim.scoring.differences import records
from tests.netcosim.results import synthetic, synthetic_training
from tests.netcosim.results.synthetic import Case
from tests.netcosim.results.synthetic_training import Job

DOCS = Path(__file__).parents[3] / "docs/reference/compare.md"
JOB = Job(counts=(1, 2), runs=3, steps=6, traced_steps=2)
CASE = Case(sizes=(400_000, 3_000_000, 300_000, 2_500_000))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("folders")
    synthetic_training.write_training_folder(top / "sim", (JOB,))
    synthetic_training.write_training_folder(top / "slow", (replace(JOB, slow=2.0),))
    synthetic_training.write_training_folder(top / "other", (replace(JOB, transport="other"),))
    synthetic.write_folder(top / "emu", (CASE,))
    synthetic.write_folder(top / "fifo", (replace(CASE, truth="fifo"),))
    synthetic.write_folder(top / "once", (replace(CASE, bursts=1),))
    synthetic.write_folder(top / "fifo-once", (replace(CASE, truth="fifo", bursts=1),))
    ResultsFolder.create(top / "begun", synthetic.scenario(), world="sim").close()
    (top / "begun-emu").mkdir()
    (top / "begun-emu/scenario.toml").write_bytes((top / "emu/scenario.toml").read_bytes())
    return top


def compare(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    assert "this is a bug" not in said.err
    return code, said.out, said.err


@pytest.mark.parametrize("name", ["sim", "emu"])
def test_a_folder_does_not_differ_from_itself(capsys, folders, name) -> None:
    code, out, err = compare(capsys, folders / name, folders / name)
    assert (code, err) == (0, "")
    assert "scenario: no difference" in out
    assert "\n0 of " in out


@pytest.mark.parametrize(("a", "b"), [("sim", "slow"), ("emu", "fifo"), ("sim", "other")])
def test_a_difference_is_exit_code_1_either_way(capsys, folders, a, b) -> None:
    (there, _, _), (back, _, _) = (
        compare(capsys, folders / a, folders / b),
        compare(capsys, folders / b, folders / a),
    )
    assert (there, back) == (1, 1)


def test_single_bursts_have_no_interval_to_be_beyond(capsys, folders) -> None:
    code, out, _ = compare(capsys, folders / "once", folders / "fifo-once")
    assert code == 1
    found = records.Comparison.model_validate_json(
        compare(capsys, "--json", folders / "once", folders / "fifo-once")[1]
    )
    assert (found.beyond, found.without_interval) == (0, found.compared)
    assert found.unequal > 0
    assert "beyond" not in out
    assert out.splitlines()[-1] == (
        f"{found.unequal} of {found.compared} figures differ (*) and have no interval, as A or B"
        " has a single value: whether chance explains them is not known."
    )
    [ends] = [line for line in out.splitlines() if "streams in both" in line]
    assert "differ, without an interval" in ends
    code, out, _ = compare(capsys, folders / "once", folders / "once")
    assert code == 0
    assert out.endswith("0 of 4 figures that have no interval differ.\n")


def test_a_pipe_gets_lines_that_are_not_wrapped(capsys, folders, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = compare(capsys, folders / "emu", folders / "fifo")
    lines = out.splitlines()
    assert max(map(len, lines)) > 150
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in out
    [row] = [line for line in lines if line.startswith(" order error, fifo")]
    assert row.endswith("*")


def test_json_is_the_comparison(capsys: pytest.CaptureFixture[str], folders: Path) -> None:
    code, out, _ = compare(capsys, "--json", folders / "sim", folders / "slow")
    found = records.Comparison.model_validate_json(out)
    assert code == 1
    assert found.differs
    assert found.training is not None
    assert [p.workers for p in found.training.series[0].points] == [1, 2]
    assert found.compared == 2
    assert json.loads(out)["emulation"] is None


def test_every_field_of_the_json_is_explained() -> None:
    text = DOCS.read_text()
    kinds = [kind for kind in vars(records).values() if hasattr(kind, "model_fields")]
    names = {
        name for kind in kinds for name in kind.model_fields if kind.__module__.endswith("records")
    }
    assert len(names) > 40
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_two_worlds_without_a_common_stream_are_refused(capsys, folders) -> None:
    code, out, err = compare(capsys, folders / "sim", folders / "emu")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "no stream of a judged burst is in both" in err
    assert "no training job runs in it" in err


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("none", 6, "none: can't be opened: No such file or directory"),
        ("sim/summary.json", 6, "can't be opened: Not a directory"),
        ("begun", 6, "begun: has no summary.json: nothing of it can be compared"),
        ("sim/schemas", 6, "is not a results folder: it has no scenario.toml"),
    ],
)
def test_what_is_no_finished_run_is_one_line(capsys, folders, name, code, message) -> None:
    for pair in ((folders / name, folders / "sim"), (folders / "sim", folders / name)):
        found, out, err = compare(capsys, *pair)
        assert (found, out, len(err.splitlines())) == (code, "", 1)
        assert message in err


def test_damaged_files_are_one_line(capsys, folders, tmp_path) -> None:
    for file, content in {
        "summary.json": b'{"format": "netcosim-summary", "version": 2}',
        "run.json": b"{",
        "trace.parquet": b"PAR1",
        "scenario.toml": b"seed = -1",
    }.items():
        damaged = tmp_path / file
        damaged.mkdir()
        for path in (folders / "emu").iterdir():
            if path.is_file():
                (damaged / path.name).write_bytes(path.read_bytes())
        (damaged / file).write_bytes(content)
        code, out, err = compare(capsys, folders / "emu", damaged)
        assert code in (2, 6)
        assert (out, len(err.splitlines())) == ("", 1)
        assert file in err


@pytest.mark.parametrize("values", [[], [1e308, 1.7e308, -1e308], [1.0, float("nan"), 1.0]])
def test_figures_that_are_none_are_one_line(capsys, folders, tmp_path, values) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    for path in (folders / "sim").iterdir():
        if path.is_file():
            (odd / path.name).write_bytes(path.read_bytes())
    summary = json.loads((odd / "summary.json").read_text())
    summary["series"][0]["points"][0]["examples_per_s"]["values"] = values
    (odd / "summary.json").write_text(json.dumps(summary))
    code, out, err = compare(capsys, folders / "sim", odd)
    assert (code, out, len(err.splitlines())) == (6, "", 1)
    assert "figures can't be compared" in err


@pytest.mark.parametrize("arguments", [(), ("a",), ("a", "b", "c"), ("a", "b", "--jso")])
def test_wrong_arguments_are_one_line(capsys, arguments) -> None:
    code, out, err = compare(capsys, *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_untrusted_and_incomplete_runs_say_so(capsys, folders, tmp_path) -> None:
    synthetic.write_folder(tmp_path / "bad", (CASE,), complete=False, trusted=False)
    _, out, _ = compare(capsys, folders / "emu", tmp_path / "bad")
    assert "DO NOT TRUST ITS FIGURES" in out


def test_no_name_steers_the_terminal(capsys, folders, tmp_path) -> None:
    odd = tmp_path / "a\x1b[31m[bold]b"
    odd.mkdir()
    for path in (folders / "sim").iterdir():
        if path.is_file():
            (odd / path.name).write_bytes(path.read_bytes())
    _, out, _ = compare(capsys, odd, odd)
    assert "\x1b" not in out
    assert "[bold]b" in out
