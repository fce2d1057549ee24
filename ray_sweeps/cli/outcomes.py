"""Findings of a sweep on a terminal."""

from rich.console import Console
from rich.text import Text

from netcosim.cli.columns import Column, print_columns
from netcosim.formatting import one_line
from ray_sweeps.analysis.findings import chosen_text, cost_text, rate_of
from ray_sweeps.analysis.summary import BestConfiguration, SweepSummary


def print_outcomes(summary: SweepSummary, console: Console) -> None:
    """Print the answer in sentences, then the best configurations as a table."""
    for reason in summary.reasons:
        console.print(Text(one_line(f"note: {reason}")), soft_wrap=True)
    for sentence in summary.findings:
        console.print(Text(one_line(sentence)), soft_wrap=True)
    if len(summary.best) > 1:
        console.print()
        _print_best(summary.best, console)


def _print_best(best: tuple[BestConfiguration, ...], console: Console) -> None:
    costs = ["" if b.cost is None else cost_text(b.cost, b.unit) for b in best]
    columns = [
        Column(heading="best", cells=[_among(b) for b in best], justify="left", folds=True),
        Column(
            heading="configuration",
            cells=[chosen_text(b.best, b.condition) for b in best],
            justify="left",
            folds=True,
        ),
        Column(heading="examples/s", cells=[rate_of(b.best) for b in best]),
        Column(heading="equal", cells=[str(b.equal_count) for b in best], rank=1),
    ]
    if any(costs):
        columns.append(Column(heading="cost", cells=costs))
    print_columns(columns, console)


def _among(found: BestConfiguration) -> str:
    """Among which points it is the best, and by which score."""
    score = "throughput" if found.prices is None else f"per cost, {found.prices}"
    where = ", ".join(f"{name} {value}" for name, value in found.condition.items())
    return f"{score}, {where}" if where else score
