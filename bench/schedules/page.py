"""Tables of a benchmark of schedules, as a page."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from bench.schedules.published import published
from bench.schedules.transfers import SCHEDULES
from netcosim.intervals import difference
from netcosim.units import format_rate

Row = Mapping[str, Any]

_BY: Final[dict[str, tuple[str, Callable[[Row], str]]]] = {
    "rate_bps": ("rate", lambda row: format_rate(row["rate_bps"])),
    "cost_ns": ("cost of a message", lambda row: f"{row['cost_ns'] / 1e6:g} ms"),
    "batch": ("batch", lambda row: str(row["batch"])),
    "workers": ("workers", lambda row: str(row["workers"])),
    "slow_bps": (
        "slow worker",
        lambda row: format_rate(row["slow_bps"]) if row["slow_bps"] else "none",
    ),
    "block_bytes": (
        "block",
        lambda row: f"{row['block_bytes'] / 1e6:g} MB" if row["block_bytes"] else "none",
    ),
    "credit_mb": ("credit", lambda row: f"{row['options']['credit_bytes'] / 1e6:g} MB"),
}


def study_table(name: str, question: str, by: str, rows: Sequence[Row]) -> list[str]:
    """Lines of a study's table: a row for each value, a column for each schedule."""
    title, shown = _BY[by]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(shown(row), []).append(row)
    first = rows[0]
    fixed = [
        f"W = {first['workers']}" if by != "workers" else "",
        f"batch {first['batch']}" if by != "batch" else "",
        f"{format_rate(first['rate_bps'])} a worker" if by != "rate_bps" else "",
        f"cost {first['cost_ns'] / 1e6:g} ms" if by != "cost_ns" else "",
    ]
    names = [s for s in SCHEDULES if any(row["schedule"] == s for row in rows)]
    within = rows if len(names) == 1 else None  # then rows are what is compared
    lines = [
        f"### {name}",
        "",
        f"{question} ({', '.join(filter(None, fixed))})",
        "",
        f"| {title} | bytes / rate over computing | {' | '.join(names)} | bound | least gap |",
        "|---" * (len(names) + 4) + "|",
    ]
    for value, group in groups.items():
        by_name = {row["schedule"]: row for row in group}
        ratio = group[0]["bytes_over_rate_s"] / group[0]["compute_s"]
        bound = max(row["bound_examples_per_s_a_worker"] for row in group)
        cells = [_cell(by_name.get(name)) for name in names]
        lines.append(
            f"| {value} | {ratio:.2f} | {' | '.join(cells)} | {bound:.1f}"
            f" | {100 * least_gap(within or group):.2g} % |"
        )
    return [*lines, ""]


def least_gap(group: Sequence[Row]) -> float:
    """Largest half width of the 95 % interval of two rows' relative difference.

    Rows have the same draws run by run, so that it is the runs' differences that vary.
    """
    widths = [0.0]
    for one, other in combinations(group, 2):
        apart = difference(one["values"], other["values"], paired=True)
        widths.append((apart.half_width or 0.0) / one["examples_per_s"])
    return max(widths)


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    printed = published(row["network"], row["batch"], row["rate_bps"], row["schedule"])
    beside = "" if printed is None or row["workers"] > 1 else f" ({printed:g})"
    return f"{row['examples_per_s_a_worker']:.1f}{beside}"


def gradients_table(rows: Sequence[Row]) -> list[str]:
    """Wait and transfer of a gradient, use of link and worker, at some settings."""
    lines = [
        "| network | rate | cost | schedule | messages | wait | transfer | link | worker |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['network']} | {format_rate(row['rate_bps'])} | {row['cost_ns'] / 1e6:g} ms"
        f" | {row['schedule']} | {row['messages']} | {row['wait_ms']:.1f} ms"
        f" | {row['transfer_ms']:.1f} ms | {100 * row['link_use']:.0f} %"
        f" | {100 * row['worker_use']:.0f} % |"
        for row in rows
    ]
    return [*lines, ""]


def changing_table(rows: Sequence[Row]) -> list[str]:
    """Rates with a port that changes between 3 and 1 Gbit/s."""
    lines = [f"| network | period | {' | '.join(SCHEDULES)} |", "|---" * (len(SCHEDULES) + 2) + "|"]
    groups: dict[tuple[str, float], dict[str, float]] = {}
    for row in rows:
        key = row["network"], row["period_s"]
        groups.setdefault(key, {})[row["schedule"]] = row["examples_per_s"]
    for (network, period_s), found in groups.items():
        cells = " | ".join(f"{found[name]:.1f}" for name in SCHEDULES)
        lines.append(f"| {network} | {period_s:g} s | {cells} |")
    return [*lines, ""]
