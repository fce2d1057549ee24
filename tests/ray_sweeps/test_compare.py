"""The command that compares two sweeps: exit codes, lines, JSON."""

import json

import jsonschema

from netcosim.results.json_files import schema_json
from ray_sweeps.analysis.changes import SweepComparison
from ray_sweeps.compare import main
from tests.ray_sweeps.made_sweep import Row, grid, write_sweep


def rows(factor: float = 1.0) -> list[Row]:
    return grid(
        {"workers": [1, 2, 4], "straggler": ["none", "[bold]odd[/]\x1b[31m"]},
        lambda f, run: (factor if f["workers"] == 4 else 1.0) * (1 + 0.1 * run),
    )


def test_equal_sweeps_end_with_0(tmp_path, capsys):
    folder = str(write_sweep(tmp_path, rows()))
    assert main([folder, folder]) == 0
    said = capsys.readouterr()
    assert "points: 6 points in both\n" in said.out and said.err == ""
    assert "All 24 figures are equal." in said.out


def test_what_changed_is_told_and_ends_with_1(tmp_path, capsys):
    a, b = write_sweep(tmp_path / "a", rows()), write_sweep(tmp_path / "b", rows(0.5)[:-3])
    assert main([str(a), str(b)]) == 1
    said = capsys.readouterr().out
    assert "points: 5 points in both, 1 only in A" in said
    assert "only in A: workers 4, straggler [bold]odd[/]\\x1b[31m" in said
    assert "\x1b" not in said
    assert "workers 4, straggler none 1.1 0.55 -50 %" in " ".join(said.split())
    assert "beyond their 95 % intervals; chance alone takes one in twenty beyond." in said


def test_single_runs_have_no_interval_to_be_beyond(tmp_path, capsys):
    first = [row for row in rows() if row["run"] == 0]
    second = [row for row in rows(0.5) if row["run"] == 0]
    a, b = write_sweep(tmp_path / "a", first), write_sweep(tmp_path / "b", second)
    assert main([str(a), str(b)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "beyond their" not in said
    assert "6 of 24 figures differ and have no interval, as they are of a single run" in said


def test_the_comparison_as_json_is_of_its_schema(tmp_path, capsys):
    a, b = write_sweep(tmp_path / "a", rows()), write_sweep(tmp_path / "b", rows(0.5))
    assert main(["--json", str(a), str(b)]) == 1
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, json.loads(schema_json(SweepComparison)))
    assert found["common"] == 6 and found["differs"] is True


def test_two_values_of_a_factor_are_compared_point_by_point(tmp_path, capsys):
    made = grid(
        {"workers": [1, 2], "transport": ["whole", "default", None], "rate": ["1gbit", "10gbit"]},
        lambda f, run: (1.5 if (f["transport"], f["workers"]) == ("whole", 2) else 1.0) + 0.1 * run,
    )
    folder = str(write_sweep(tmp_path, made))
    assert main([folder, "--between", "transport", "default", "whole"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert f"A {folder}, transport default (4 points, 12 runs)" in said
    assert f"B {folder}, transport whole (4 points, 12 runs)" in said
    assert "points: 4 points in both" in said and "matched" not in said
    assert "workers 2, rate 1gbit 1.1 1.6 +45 %" in said
    assert "workers 1, rate" not in said
    assert main([folder, "--between", "transport", "default", "not varied"]) == 0


def test_what_is_between_nothing_is_one_line(tmp_path, capsys):
    folder = str(write_sweep(tmp_path, rows()))
    assert main([folder, "--between", "rate", "1", "2"]) == 2
    assert main([folder, "--between", "workers", "1", "3"]) == 2
    assert main([folder, folder, "--between", "workers", "1", "2"]) == 2
    assert main([folder]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [
        'ray_sweeps.compare: --between: "rate": must be a factor of the sweep: workers, straggler',
        'ray_sweeps.compare: --between workers: "3": must be of: 1, 2, 4',
    ]
    assert all("give either B or --between FACTOR VALUE VALUE" in line for line in lines[2:])


def test_what_can_not_be_compared_is_one_line(tmp_path, capsys):
    a = write_sweep(tmp_path / "a", rows())
    other = write_sweep(tmp_path / "b", grid({"servers": [1, 2]}, lambda *_: 1.0))
    assert main([str(a), str(other)]) == 2
    assert main([str(a), str(tmp_path / "none")]) == 6
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and "no point in common" in lines[0] and "no such folder" in lines[1]
