"""The table of delivered ends: what it pools, what it takes the worst of, what it leaves out."""

from dataclasses import replace

from bench.fidelity.delivered import delivered_section
from bench.fidelity.listing import read_listing
from bench.fidelity.scores import Row, empty_row

EMPTY = empty_row(read_listing()[0], None)


def row(workload: str, mean: float, p95: float, largest: float, streams: int = 10) -> Row:
    errors = {"streams": streams, "mean": mean, "p95": p95, "max": largest}
    twice = {key: value if key == "streams" else 2 * value for key, value in errors.items()}
    return replace(
        EMPTY, family="f", workload=workload, delivered=errors, delivered_secondary=twice
    )


def test_means_are_pooled_over_streams_and_the_worst_cell_gives_the_rest() -> None:
    rows = [
        row("alexnet", 0.01, 0.02, 0.05, streams=30),
        row("alexnet", 0.03, 0.04, 0.03, streams=10),
        row("mixed8", 0.002, 0.002, 0.002),
    ]
    text = "\n".join(delivered_section(rows))
    paper = "1.82 / 3.35 / 47.48 % | 2.89 / 9.71 / 45.44 %"
    assert f"| f | alexnet | 2 | 40 | 1.5 % / 4 % / 5 % | 3 % / 8 % / 10 % | {paper} |" in text
    assert "| f | mixed8 | 1 | 10 | 0.20 % / 0.20 % / 0.20 % |" in text


def test_cells_whose_delivered_ends_are_unknown_are_left_out() -> None:
    assert delivered_section([EMPTY]) == []
    assert len(delivered_section([EMPTY, row("mixed8", 0.1, 0.1, 0.1)])[-2].split("|")) == 10
