"""Our own sender and receiver over rates and round trips: every discipline, every credit rule."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from bench.common.record import Figure, at_least, at_most
from bench.virtual.running import Burst, Json, bursts, run
from netcosim.units import format_rate

RATES_BPS: Final = (10**7, 10**8, 10**9, 10**10)
ROUND_TRIPS_MS: Final = (0, 5, 50)
DISCIPLINES: Final = (
    "fifo", "priority", "processor_sharing", "round_robin", "two_visit", "write_cycle",
)  # fmt: skip
CREDITS: Final = ("fixed", "grpc_progress", "half", "rest_at_header", "rest_when_exhausted")
MOST_TIME: Final = 0.0005
_LARGE_BYTES: Final = 100_000_000
_PATHS: Final = ((5_000_000, 10), (20_000_000, 4))
"""Bounds of the product of rate and delay in bytes, and bursts in such products; 2 beyond."""
_REPETITIONS: Final = 3


def h2_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Orders and times of every network, and of all."""
    every: list[Burst] = []
    for rate_bps in RATES_BPS[1:2] if quick else RATES_BPS:
        for trip_ms in ROUND_TRIPS_MS[:1] if quick else ROUND_TRIPS_MS:
            name = f"{format_rate(rate_bps)}, {trip_ms} ms"
            scenario = _scenario(rate_bps, trip_ms)
            ran = run(scenario, f"h2-{rate_bps // 10**6}-{trip_ms}")
            right = {t["name"]: t["discipline"] for t in scenario["transport"]}
            found = list(bursts(ran.summary, right))
            wanted = _REPETITIONS * len(scenario["transport"])
            yield Figure(
                name=f"h2, {name}: bursts in exact order",
                value=sum(b.exact for b in found),
                unit="",
                note=f"of {wanted}; {ran.seconds:.0f} s{'' if ran.code == 0 else '; ' + ran.said}",
            )
            yield from _times(name, found)
            every += found
            rows += [
                {"part": "h2", "network": name, "cell": b.cell, "first": b.first, "exact": b.exact}
                | {"order": b.order, "time": b.time}
                for b in found
            ]
    yield at_least(
        "h2: bursts in exact order", 100 * sum(b.exact for b in every) / len(every), "%", 100
    )
    yield at_most(
        "h2: time error of later bursts, max",
        100 * max(b.time for b in every if not b.first),
        "%",
        100 * MOST_TIME,
    )


def _times(name: str, found: Sequence[Burst]) -> Iterator[Figure]:
    for first, which in ((False, "later bursts"), (True, "first bursts")):
        times = [b.time for b in found if b.first == first]
        if times:
            yield Figure(
                name=f"h2, {name}: time error of {which}, max", value=100 * max(times), unit="%"
            )


def _scenario(rate_bps: int, trip_ms: int) -> Json:
    """A burst of ten products of rate and delay, of large ones less; the window holds two."""
    path_bytes = rate_bps * trip_ms // 8000
    paths = next((paths for below, paths in _PATHS if path_bytes < below), 2)
    total = max(4_000_000, paths * path_bytes)
    window = max(total // 16, 2 * path_bytes)
    link = {"rate": f"{rate_bps}bit"} | ({"delay": f"{500 * trip_ms}us"} if trip_ms else {})
    return {
        "repetitions": _REPETITIONS,
        "cluster": {"topology": "pair", "link": link},
        "workload": [{"name": "mixed8", "set": "mixed8", "total": f"{total}B"}],
        "transport": list(_transports(f"{window}B", few=total > _LARGE_BYTES)),
    }


def _transports(window: str, *, few: bool) -> Iterator[dict[str, Any]]:
    """Every discipline by one credit rule, every other rule by one discipline, one without."""
    ends = {"sender": "h2", "receiver": "h2"}
    pairs = [(d, CREDITS[-1]) for d in DISCIPLINES] + [("two_visit", c) for c in CREDITS[:-1]]
    for discipline, credit in [("two_visit", "half")] if few else pairs:
        name = f"{discipline}-{credit}"
        yield {**ends, "name": name, "discipline": discipline, "credit": credit, "window": window}
    yield {**ends, "name": "fifo-off", "discipline": "fifo", "flow_control": False}
