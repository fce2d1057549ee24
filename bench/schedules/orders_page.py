"""Tables of orders of release, as lines of a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from bench.schedules.orders import NETWORKS, ORDERS
from bench.schedules.orders_random import Gap
from netcosim.units import format_rate

Row = Mapping[str, Any]

_SETTING: Final = (
    *("network", "kind", "order", "batch_share", "servers", "workers", "jitter"),
    *("rate_bps", "bytes_over_rate_s", "forward_s"),
)
_PAPER: Final = (
    "Hashemi et al. (TicTac, MLSys 2019) print: throughput up to 37.7 % more in inference and"
    " 19.2 % in training, up to 4.2 % less in small networks (figure 7); the 95th percentile of"
    " normalised step time 0.634 without an order and 0.998 with TAC (figure 12b); straggler time"
    " up to 2.3 times less, with any fixed order (figure 11b); R^2 of E against step time 0.98"
    " (figure 12a)."
)


def base(rows: Iterable[Row], kind: str) -> list[Row]:
    """Rows of the recorded batch, one server and one worker."""
    return [
        row
        for row in rows
        if row["kind"] == kind
        and (row["batch_share"], row["servers"], row["workers"]) == (1.0, 1, 1)
    ]


def of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def mean_efficiency(rows: Iterable[Row]) -> float:
    """Mean E of rows that have one."""
    return float(np.mean([row["efficiency"] for row in rows if row["efficiency"] is not None]))


def mean_ms(rows: Iterable[Row]) -> float:
    """Mean step over all steps of rows."""
    return float(np.mean([ms for row in rows for ms in row["step_ms"]]))


def normalised_p95(rows: Sequence[Row], least_ms: float) -> float:
    """The shortest step over the 95th percentile: 1 where all are as short."""
    return least_ms / float(np.percentile([ms for row in rows for ms in row["step_ms"]], 95))


def r_squared(rows: Sequence[Row]) -> float:
    """R^2 of a line through E and mean step, over the shuffles and orders of a network."""
    pairs = [
        (row["efficiency"], np.mean(row["step_ms"]))
        for row in rows
        if row["efficiency"] is not None
    ]
    e, ms = np.array(pairs).T
    return float(np.corrcoef(e, ms)[0, 1] ** 2)


def over_listings(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A row for each setting and order: what differs between listings is averaged."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in _SETTING), []).append(row)
    return [
        {
            **dict(zip(_SETTING, key, strict=True)),
            "listings": len(some),
            "efficiency": mean_efficiency(some),
            "step_ms": mean_ms(some),
            "straggler_share": some[0]["straggler_share"]
            and float(np.mean([row["straggler_share"] for row in some])),
            "unique_orders": max(row["unique_orders"] or 0 for row in some),
        }
        for key, some in groups.items()
    ]


def orders_page(
    rows: Sequence[Row], gaps: Mapping[str, Mapping[str, Gap]], misled: Mapping[str, float]
) -> list[str]:
    """All tables."""
    lines = ["## Orders of release", "", _PAPER, ""]
    for kind, title in (("forward", "Forward pass (inference)"), ("training", "Training step")):
        lines += [f"### {title}", "", *_kind_table(base(rows, kind)), ""]
    lines += ["### Batch and servers, forward pass", "", *_changes(rows), ""]
    lines += ["### Straggler time, four workers in rounds", "", *_stragglers(rows), ""]
    lines += ["### Random networks of up to eight receives against the best order", ""]
    return [*lines, *_gaps(gaps), "", *_misled(misled), ""]


def _kind_table(rows: Sequence[Row]) -> Iterator[str]:
    yield (
        "W = 1, one server, means over 20 random listings. *E*: TicTac's efficiency; *step*: over"
        " TIC's; *p95*: the shortest step over the 95th percentile; *unique*: orders in ten steps."
    )
    yield ""
    yield f"| network | rate | D/F | {' | '.join(f'{o}: E, step, p95' for o in ORDERS)} | R^2 |"
    yield "|---" * (len(ORDERS) + 4) + "|"
    for network in NETWORKS:
        own = of(rows, network=network)
        if not own:
            continue
        tic_ms = mean_ms(of(own, order="tic"))
        least = min(ms for row in own for ms in row["step_ms"])
        cells = []
        for order in ORDERS:
            some = of(own, order=order)
            unique = max(row["unique_orders"] or 0 for row in some)
            cells.append(
                f"{mean_efficiency(some):z.3f}, {mean_ms(some) / tic_ms:.2f},"
                f" {normalised_p95(some, least):.2f}"
                + (f" ({unique} unique)" if unique > 1 else "")
            )
        first = own[0]
        ratio = first["bytes_over_rate_s"] / first["forward_s"]
        yield (
            f"| {network} | {format_rate(round(first['rate_bps'], -6))} | {ratio:.2f}"
            f" | {' | '.join(cells)} | {r_squared(own):.3f} |"
        )


def _changes(rows: Sequence[Row]) -> Iterator[str]:
    yield "Random over TIC: step times at the rate of D = F, means over four listings and networks."
    yield ""
    yield "| | D/F | random / TIC | E of TIC | E of TAC |"
    yield "|---|---|---|---|---|"
    forward = [row for row in of(rows, kind="forward", workers=1) if row["shuffle"] < 4]
    settings = [("batch_share", 0.5), ("batch_share", 1.0), ("batch_share", 2.0)]
    settings += [("servers", 2), ("servers", 3), ("servers", 4)]
    for key, value in settings:
        fixed = {"batch_share": 1.0, "servers": 1} | {key: value}
        some = of(forward, **fixed)
        ratios = [
            mean_ms(of(some, network=n, order="random")) / mean_ms(of(some, network=n, order="tic"))
            for n in NETWORKS
            if of(some, network=n)
        ]
        what = f"batch x {value:g}" if key == "batch_share" else f"{value:g} servers"
        ratio = 1 / value  # each server has its own port
        tic, tac = (mean_efficiency(of(some, order=o)) for o in ("tic", "tac"))
        yield (
            f"| {what} | {ratio:.2f} | {min(ratios):.2f} to {max(ratios):.2f}"
            f" | {tic:.3f} | {tac:.3f} |"
        )


def _stragglers(rows: Sequence[Row]) -> Iterator[str]:
    yield "Share of a step that the first worker waits for the last; training, each with a port."
    yield ""
    yield f"| network | durations | {' | '.join(ORDERS)} |"
    yield "|---" * (len(ORDERS) + 2) + "|"
    for network in NETWORKS:
        for jitter, what in ((False, "always the same"), (True, "with jitter")):
            own = of(rows, network=network, workers=4, jitter=jitter)
            if not own:
                continue
            shares = (
                100 * float(np.mean([row["straggler_share"] for row in of(own, order=order)]))
                for order in ORDERS
            )
            cells = " | ".join(f"{share:.1f} %" for share in shares)
            yield f"| {network} | {what} | {cells} |"


def _gaps(gaps: Mapping[str, Mapping[str, Gap]]) -> Iterator[str]:
    yield "3,000 random networks; how much longer than with the best order, mean, p95 and worst."
    yield ""
    yield f"| order | {' | '.join(gaps)} |"
    yield "|---" * (len(gaps) + 1) + "|"
    for order in next(iter(gaps.values())):
        cells = (
            f"{100 * gap.mean:.2f} %, {100 * gap.p95:.1f} %, {100 * gap.worst:.0f} %"
            for gap in (found[order] for found in gaps.values())
        )
        yield f"| {order} | {' | '.join(cells)} |"


def _misled(misled: Mapping[str, float]) -> Iterator[str]:
    yield (
        "A network in which dependencies alone mislead: TIC takes"
        f" {100 * misled['tic']:.0f} % longer than the best order, TAC {100 * misled['tac']:.0f} %."
    )
