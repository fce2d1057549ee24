"""Markdown page of the scores: a summary, and one table a family with its targets."""

from collections.abc import Iterable, Mapping, Sequence

from bench.fidelity.delivered import delivered_section
from bench.fidelity.scores import Row, target_of
from bench.fidelity.summary import summary_section
from netcosim.formatting import percent
from netcosim.trace import LEVELS

_HEADINGS = (
    "cell",
    "right",
    *(f"order {level} mean / p99 / max" for level in LEVELS),
    "order of later bursts",
    "order exact",
    "next wrong",
    "verdict",
    "order met",
    "time mean / p99 / max",
    "wall clock mean / max",
    "2nd mean / max",
    "share mean / max",
    "delivered mean / p95 / max",
    "time met",
    "grade, lost",
    "stalls",
    "evidence",
    "bursts",
)


_OLDER = (
    "Where no grade stands, an older release observed the cell: its time errors are those of the"
    " wall clock."
)


def page(rows: Sequence[Row], head: str) -> str:
    """The page with all families, one after the other; `head` is its heading."""
    parts = [head.rstrip(), "", *summary_section(rows)]
    if any(row.scored and row.lost_share is None for row in rows):
        parts += [_OLDER, ""]
    for family in dict.fromkeys(row.family for row in rows):
        mine = [row for row in rows if row.family == family]
        parts += [f"## {family}", "", _promise(family), "", *_table(mine), ""]
    parts += delivered_section(rows)
    return "\n".join(parts)


def _promise(family: str) -> str:
    target = target_of(family)
    p99 = "" if target.p99 is None else f", p99 <= {target.p99:g} %"
    return (
        f"Targets at PREDICT: order error mean <= {target.mean:g} %{p99}, max <= {target.max:g} %;"
        " the same for the time error beside it, relative to the end"
        f" mean <= {target.secondary_mean:g} %, max <= {target.secondary_max:g} %."
    )


def _table(rows: Iterable[Row]) -> list[str]:
    return [
        f"| {' | '.join(_HEADINGS)} |",
        f"|{'---|' * len(_HEADINGS)}",
        *(f"| {' | '.join(_line(row))} |" for row in rows),
    ]


def _line(row: Row) -> list[str]:
    if not row.scored:
        why = f"not run: {row.not_run}" if row.not_run else "no judged burst"
        return [row.key, row.right or "", why] + [""] * (len(_HEADINGS) - 3)
    predict = row.levels["PREDICT"]
    wrong = "-" if row.wrong_mean is None else f"{row.wrong} {percent(row.wrong_mean)}"
    return [
        row.key,
        row.right or "",
        *(_some((row.levels.get(level) or {}).get("order"), _SPREAD) for level in LEVELS),
        _some(row.warm, _SPREAD),
        f"{predict['orders_equal']} of {predict['bursts']}",
        wrong,
        row.outcome,
        _met(row.missed),
        _some(predict["wire"], _SPREAD),
        _some(predict["wall"], _ENDS),
        _some(predict["secondary"], _ENDS),
        _some(predict["share"], _ENDS),
        _some(row.delivered, ("mean", "p95", "max")),
        _met(row.missed_in_time),
        _lost(row),
        str(row.stalls),
        _evidence(row),
        _bursts(row),
    ]


_SPREAD = ("mean", "p99", "max")
_ENDS = ("mean", "max")


def _some(errors: Mapping[str, float] | None, keys: Sequence[str]) -> str:
    return "-" if errors is None else " / ".join(percent(errors[key]) for key in keys)


def _met(missed: Sequence[str]) -> str:
    return "yes" if not missed else f"**no**: {', '.join(missed)}"


def _lost(row: Row) -> str:
    if row.lost_share is None or row.unexplained_share is None:
        return "-"
    unexplained = percent(row.unexplained_share)
    return f"{row.grade}, {percent(row.lost_share)} ({unexplained} unexplained)"


def _evidence(row: Row) -> str:
    if not row.counted:
        return "not counted"
    return "yes" if row.evidence else "no"


def _bursts(row: Row) -> str:
    return f"{row.judged_bursts} (+{row.shown_bursts} shown, +{row.invalid_bursts} invalid)"
