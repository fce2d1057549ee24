"""Figures that Zhang et al. (Prophet, ICPP 2021) print, beside what is simulated here.

They are no targets: other processors, another network, and a framework between. Where the paper's
own figures contradict each other, or what a simple sum allows, a note says so.
"""

from typing import Final

TABLE_2: Final[dict[int, dict[str, float]]] = {
    1_000: {"prophet": 27.7, "bytescheduler": 25.9, "p3": 25.16},
    2_000: {"prophet": 47.9, "bytescheduler": 39.09, "p3": 37.69},
    3_000: {"prophet": 60.0, "bytescheduler": 44.0, "p3": 51.22},
    4_000: {"prophet": 67.06, "bytescheduler": 50.5, "p3": 64.34},
    4_500: {"prophet": 69.29, "bytescheduler": 54.14, "p3": 67.83},
    6_000: {"prophet": 69.5, "bytescheduler": 70.0, "p3": 68.93},
    10_000: {"prophet": 70.6, "bytescheduler": 71.1, "p3": 72.83},
}
"""Examples a second of ResNet-50, batch 64, by Mbit/s of a worker."""

TABLE_3: Final[dict[int, dict[str, float]]] = {
    16: {"prophet": 14.44, "bytescheduler": 14.22},
    32: {"prophet": 34.8, "bytescheduler": 28.5},
    64: {"prophet": 60.0, "bytescheduler": 44.0},
}
"""The same by batch; the network is not named, at 64 the figures are those of 3 Gbit/s."""

SLOW_WORKER: Final = {"prophet": 26.4, "bytescheduler": 25.8, "fifo": 15.09}
"""One worker at 500 Mbit/s (section 5.3); network and number of workers are not named."""

CONTRADICTIONS: Final = (
    "table 2 at 1 Gbit/s: computing, pushing and pulling one after the other gives 25.5 examples a"
    " second, and nothing that overlaps can be slower: P3's 25.16 and ByteScheduler's 25.9 are no"
    " overlap at all",
    "section 5.2: a step of 857 ms (Prophet) is 74.7 examples a second, 15 steps in 15 s are 64,"
    " table 2 has 60; 1416 ms (ByteScheduler) is 45.2, 12 steps in 15 s are 51, table 2 has 44",
    "section 5.2: 60 examples a second push 96 MB/s, figure 10 says 10.3 MB/s",
    "table 3: half the batch computes for about half as long, so a bound by computing would allow"
    " the same rate at batch 16; 14.44 is a fifth of what 64 examples reach",
)


def published(network: str, batch: int, rate_bps: int, schedule: str) -> float | None:
    """What table 2 or 3 has for a point; None if neither has it."""
    if network != "resnet50":
        return None
    if batch == 64:
        return TABLE_2.get(rate_bps // 10**6, {}).get(schedule)
    return TABLE_3.get(batch, {}).get(schedule) if rate_bps == 3 * 10**9 else None
