"""Simulations as they are, compared by the command."""

from pathlib import Path

from netcosim.cli.compare import main
from netcosim.report.write import draw_report
from netcosim.scoring.differences.records import Comparison


def test_twice_the_rate_gives_more_throughput_run_by_run(inside, capsys, here):
    few = ("--scenario", "job.toml", "--steps", "8", "--warmup", "2", "--trace-steps", "0")
    for name, more in {"a": (), "again": (), "b": ("--rate", "2gbit", "--no-report")}.items():
        inside.do(*few, *more, "--out", name, interpreted=True)
    capsys.readouterr()
    assert main(["a", "again"]) == 0
    assert "0 of 2 figures" in capsys.readouterr().out
    assert main(["--json", "a", "b"]) == 1
    found = Comparison.model_validate_json(capsys.readouterr().out)
    assert [(c.field, c.a, c.b) for c in found.scenario] == [
        ("cluster.link.rate", "1gbit", "2gbit")
    ]
    [series] = found.training.series
    for point in series.points:
        assert point.examples_per_s.method == "paired"
        assert point.examples_per_s.difference > 0
    assert Path("a/points.csv").read_bytes() == Path("again/points.csv").read_bytes()


def test_single_runs_are_not_said_to_be_beyond_intervals(inside, capsys, here):
    few = ("--scenario", "job.toml", "--steps", "8", "--warmup", "2", "--repetitions", "1")
    for name, more in {"a": (), "b": ("--rate", "2gbit", "--no-report")}.items():
        inside.do(*few, *more, "--out", name, interpreted=True, draw=draw_report)
    page = Path("a/report.html").read_text()
    assert "Single runs have no interval." in page
    assert "95 % interval" not in page
    capsys.readouterr()
    assert main(["a", "b"]) == 1
    said = capsys.readouterr().out
    assert "2 of 2 figures differ (*) and have no interval" in said
    assert "beyond" not in said
