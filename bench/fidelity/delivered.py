"""Table of delivered ends by network, beside Table 1 of Li et al. (ICPE'20)."""

from collections.abc import Iterable, Sequence
from typing import Final

from bench.fidelity.scores import Row
from netcosim.formatting import percent

PAPER: Final = {
    "alexnet": ("1.82 / 3.35 / 47.48 %", "2.89 / 9.71 / 45.44 %"),
    "inception_v3": ("1.02 / 3.92 / 87.88 %", "9.23 / 20.98 / 98.19 %"),
    "resnet50": ("1.26 / 2.32 / 72.07 %", "4.36 / 9.70 / 97.10 %"),
}
"""Mean, 95th percentile and maximum in its CPU cluster and at AWS; GoogLeNet is not run here."""

_HEADINGS: Final = (
    *("family", "network", "cells", "streams", "primary mean / p95 / max"),
    *("secondary mean / p95 / max", "paper: cluster", "paper: AWS"),
)
_TEXT: Final = (
    "The message in the receiving application, by the right model at PREDICT. The mean is over all"
    " streams; p95 and max are those of the worst cell. What the paper's figures have in common"
    " with these, and what not, is in docs/background/delivered.md."
)


def delivered_section(rows: Sequence[Row]) -> list[str]:
    """The section as lines of Markdown; none if no cell's delivered ends are known."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.delivered is not None:
            groups.setdefault((row.family, row.workload), []).append(row)
    if not groups:
        return []
    return [
        "## Delivered ends",
        "",
        _TEXT,
        "",
        f"| {' | '.join(_HEADINGS)} |",
        f"|{'---|' * len(_HEADINGS)}",
        *(_line(family, workload, group) for (family, workload), group in groups.items()),
        "",
    ]


def _line(family: str, workload: str, rows: Sequence[Row]) -> str:
    primary = [row.delivered for row in rows if row.delivered is not None]
    secondary = [row.delivered_secondary for row in rows if row.delivered_secondary is not None]
    streams = round(sum(errors["streams"] for errors in primary))
    cells = (
        *(family, workload, str(len(rows)), str(streams), _three(primary), _three(secondary)),
        *PAPER.get(workload, ("-", "-")),
    )
    return f"| {' | '.join(cells)} |"


def _three(errors: Iterable[dict[str, float]]) -> str:
    known = list(errors)
    streams = sum(each["streams"] for each in known)
    if not streams:
        return "-"
    mean = sum(each["mean"] * each["streams"] for each in known) / streams
    worst = [max(each[key] for each in known) for key in ("p95", "max")]
    return " / ".join(percent(value) for value in (mean, *worst))
