"""The newest gRPC on the cells of ./dev bench fidelity up to 1 Gbit/s, scaled."""

import itertools
from collections.abc import Iterator
from typing import Final

from bench.common.record import Figure, at_least, at_most
from bench.fidelity.listing import Listed, read_listing
from bench.virtual.running import Burst, Json, bursts, run

FAMILY: Final = "grpc newest"
TOTAL: Final = "6MB"
REPETITIONS: Final = 3
MODEL: Final = "write_cycle"
WHOLE: Final = "fifo"


def grpc_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Orders and times, cell by cell and of all."""
    every: list[Burst] = []
    cells = [c for c in read_listing() if c.family == FAMILY]
    groups = [list(members) for _, members in itertools.groupby(cells, key=lambda c: c.group)]
    for members in groups[:1] if quick else groups:
        ran = run(_scenario(members), f"grpc-{members[0].group}")
        right = {c.transport: _right(c) for c in members}
        found = list(bursts(ran.summary, right))
        every += found
        rows += [
            {"part": "grpc", "network": members[0].group, "cell": b.cell, "first": b.first}
            | {"exact": b.exact, "order": b.order, "time": b.time}
            for b in found
        ]
        yield Figure(
            name=f"grpc, {members[0].group}: bursts in exact order",
            value=sum(b.exact for b in found),
            unit="",
            note=f"of {REPETITIONS * len(members)}; order error {_percent(found)}; "
            f"{ran.seconds:.0f} s{'' if ran.code == 0 else '; ' + ran.said}",
        )
    share = 100 * sum(b.exact for b in every) / len(every)
    yield at_least("grpc: bursts in exact order", share, "%", 95)
    mean = 100 * sum(b.order for b in every) / len(every)
    yield at_most("grpc: order error of a burst's worst stream, mean", mean, "%", 0.1)
    worst = 100 * max(b.order for b in every)
    yield at_most("grpc: order error of a burst's worst stream, max", worst, "%", 1)


def _percent(found: list[Burst]) -> str:
    if not found:
        return "unknown"
    orders = [100 * b.order for b in found]
    return f"{sum(orders) / len(orders):.3f} % mean, {max(orders):.2f} % max"


def _right(cell: Listed) -> str:
    return WHOLE if dict(cell.settings).get("whole_messages") else MODEL


def _scenario(members: list[Listed]) -> Json:
    first = members[0]
    return {
        "repetitions": REPETITIONS,
        "cluster": {"link": {"rate": first.rate, "model": first.link}, **dict(first.cluster)},
        "workload": [
            {
                **{"name": first.workload, "set": first.workload, "total": TOTAL},
                **{"direction": first.direction, "scale_window": True},
            }
        ],
        "transport": [{"name": c.transport, **dict(c.settings)} for c in members],
    }
