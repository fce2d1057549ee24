"""The newest gRPC on the cells of ./dev bench fidelity up to 1 Gbit/s, scaled, by messages' costs.

Without costs the messages of a burst are handed over within microseconds, and which of the
library's threads is first decides what its first writes hold.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from bench.common.record import Figure, at_least, at_most
from bench.fidelity.listing import Listed, read_listing
from bench.virtual.running import Burst, Json, bursts, run

FAMILY: Final = "grpc newest"
TOTAL: Final = "6MB"
REPETITIONS: Final = 3
MODEL: Final = "write_cycle"
WHOLE: Final = "fifo"
_MESSAGE: Final = MappingProxyType({"message": "200us"})
COSTS: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "no costs": {},
        "200 us a message": {"processor": {"sent": dict(_MESSAGE), "received": dict(_MESSAGE)}},
    }
)


def grpc_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Orders and times by costs and by setting, and of all."""
    cells = [c for c in read_listing() if c.family == FAMILY]
    groups = [list(members) for _, members in itertools.groupby(cells, key=lambda c: c.group)]
    for costs, cluster in COSTS.items():
        every: list[Burst] = []
        for members in groups[:1] if quick else groups:
            ran = run(_scenario(members, cluster), f"grpc-{members[0].group}-{len(cluster)}")
            right = {c.transport: _right(c) for c in members}
            found = list(bursts(ran.summary, right))
            every += found
            rows += [
                {"part": "grpc", "costs": costs, "network": members[0].group, "cell": b.cell}
                | {"first": b.first, "exact": b.exact, "order": b.order, "time": b.time}
                for b in found
            ]
            if ran.code != 0:
                yield Figure(
                    name=f"grpc, {members[0].group}: ended early", value=1, unit="", note=ran.said
                )
        yield from _by_setting(costs, every)
        yield from _of_all(costs, every)


def _by_setting(costs: str, every: Sequence[Burst]) -> Iterator[Figure]:
    settings = dict.fromkeys(b.transport for b in every)
    for setting in settings:
        found = [b for b in every if b.transport == setting]
        exact = [b for b in found if b.exact]
        worst = max((100 * b.time for b in exact), default=float("nan"))
        yield Figure(
            name=f"grpc, {costs}, {setting}: bursts in exact order",
            value=len(exact),
            unit="",
            note=f"of {len(found)}; their time error at most {worst:.2f} %; order error of all "
            f"{100 * sum(b.order for b in found) / len(found):.2f} % mean",
        )


def _of_all(costs: str, every: Sequence[Burst]) -> Iterator[Figure]:
    share = 100 * sum(b.exact for b in every) / len(every)
    yield at_least(f"grpc, {costs}: bursts in exact order", share, "%", 95)
    mean = 100 * sum(b.order for b in every) / len(every)
    yield at_most(f"grpc, {costs}: order error of a burst's worst stream, mean", mean, "%", 0.1)
    worst = 100 * max(b.order for b in every)
    yield at_most(f"grpc, {costs}: order error of a burst's worst stream, max", worst, "%", 1)


def _right(cell: Listed) -> str:
    return WHOLE if dict(cell.settings).get("whole_messages") else MODEL


def _scenario(members: list[Listed], cluster: Json) -> Json:
    first = members[0]
    return {
        "repetitions": REPETITIONS,
        "cluster": {
            "link": {"rate": first.rate, "model": first.link},
            **dict(first.cluster),
            **cluster,
        },
        "workload": [
            {
                **{"name": first.workload, "set": first.workload, "total": TOTAL},
                **{"direction": first.direction, "scale_window": True},
            }
        ],
        "transport": [{"name": c.transport, **dict(c.settings)} for c in members],
    }
