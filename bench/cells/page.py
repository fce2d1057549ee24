"""The scores as Markdown: one table a family, and what they come to against the targets."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench.cells.delivered import delivered_section
from bench.cells.scores import LEVELS, Row, target_of
from bench.cells.summary import summary_section
from netcosim.results.verdict import percent

_HEADINGS = (
    "cell",
    "right",
    *(f"{level} mean / p99 / max" for level in LEVELS),
    "warm mean / p99 / max",
    "2nd mean / max",
    "delivered mean / p95 / max",
    "order exact",
    "stalls",
    "next wrong",
    "evidence",
    "bursts",
    "met",
)


def page(rows: Sequence[Row], head: str) -> str:
    """All families, one after the other; `head` says what made them."""
    parts = [head.rstrip(), "", *summary_section(rows)]
    for family in dict.fromkeys(row.family for row in rows):
        mine = [row for row in rows if row.family == family]
        parts += [f"## {family}", "", _promise(family), "", *_table(mine), ""]
    parts += delivered_section(rows)
    return "\n".join(parts)


def _promise(family: str) -> str:
    target = target_of(family)
    p99 = "" if target.p99 is None else f", p99 <= {target.p99:g} %"
    return (
        f"Targets at PREDICT: primary mean <= {target.mean:g} %{p99}, max <= {target.max:g} %;"
        f" secondary mean <= {target.secondary_mean:g} %, max <= {target.secondary_max:g} %."
    )


def _table(rows: Iterable[Row]) -> list[str]:
    return [
        f"| {' | '.join(_HEADINGS)} |",
        f"|{'---|' * len(_HEADINGS)}",
        *(f"| {' | '.join(_line(row))} |" for row in rows),
    ]


def _line(row: Row) -> list[str]:
    if not row.scored:
        why = row.not_run or "no valid burst"
        return [row.key, row.right or "", f"not run: {why}" if row.not_run else why] + [""] * 11
    predict = row.levels["PREDICT"]
    wrong = "-" if row.wrong_mean is None else f"{row.wrong} {percent(row.wrong_mean)}"
    return [
        row.key,
        row.right or "",
        *(_three(row.levels.get(level)) for level in LEVELS),
        _warm(row),
        f"{percent(predict['secondary']['mean'])} / {percent(predict['secondary']['max'])}",
        _delivered(row),
        f"{predict['orders_equal']} of {predict['bursts']}",
        str(row.stalls),
        wrong,
        _evidence(row),
        f"{row.valid_bursts} (+{row.invalid_bursts} invalid)",
        "yes" if not row.missed else f"**no**: {', '.join(row.missed)}",
    ]


def _three(level: dict[str, Any] | None) -> str:
    if level is None:
        return "-"
    return " / ".join(percent(level["wire"][key]) for key in ("mean", "p99", "max"))


def _warm(row: Row) -> str:
    if row.warm is None:
        return "-"
    return " / ".join(percent(row.warm[key]) for key in ("mean", "p99", "max"))


def _delivered(row: Row) -> str:
    if row.delivered is None:
        return "-"
    return " / ".join(percent(row.delivered[key]) for key in ("mean", "p95", "max"))


def _evidence(row: Row) -> str:
    if not row.counted:
        return "not counted"
    return "yes" if row.evidence else "no"
