"""Studies of schedules: which settings are simulated for which question."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from bench.schedules.transfers import BLOCK_BYTES, SCHEDULES, Setting

NETWORKS: Final = ("resnet50", "vgg11")
RATES_MBPS: Final = (500, 1_000, 2_000, 3_000, 4_000, 4_500, 6_000, 10_000)
COSTS_US: Final = (0, 50, 200, 500, 1_000, 2_000, 5_000)
CREDITS_MB: Final = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
GBPS: Final = 10**9
COST_NS: Final = 2_000_000
"""Cost of a message where there is one: GIVEN, not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A question, the settings that answer it, and the field by which its table has rows."""

    name: str
    question: str
    by: str
    settings: tuple[Setting, ...]


def studies() -> tuple[Study, ...]:
    """All studies, in the order of the page."""
    return tuple(_studies())


def _studies() -> Iterator[Study]:
    for network in NETWORKS:
        base = Setting(network=network, schedule="fifo", rate_bps=GBPS)
        for cost_ns, what in ((0, "without cost"), (COST_NS, "2 ms for each message")):
            yield Study(
                name=f"{network}, rates, {what}",
                question="How fast must the network be?",
                by="rate_bps",
                settings=_each(
                    replace(base, rate_bps=mbps * 10**6, cost_ns=cost_ns) for mbps in RATES_MBPS
                ),
            )
        at = replace(base, rate_bps=_busy_bps(network))
        yield Study(
            name=f"{network}, cost of a message",
            question="When do slices stop paying?",
            by="cost_ns",
            settings=_each(replace(at, cost_ns=us * 1000) for us in COSTS_US),
        )
        yield Study(
            name=f"{network}, batch",
            question="What does a larger batch change?",
            by="batch",
            settings=_each(
                replace(base, rate_bps=3 * GBPS, batch=batch, cost_ns=COST_NS)
                for batch in (16, 32, 64)
            ),
        )
        yield Study(
            name=f"{network}, workers",
            question="What if all share a server's port of 10 Gbit/s?",
            by="workers",
            settings=_each(
                replace(at, workers=workers, server_bps=10 * GBPS, cost_ns=200_000)
                for workers in (1, 2, 4, 8)
            ),
        )
        yield Study(
            name=f"{network}, one slow worker",
            question="What if one of four workers has 500 Mbit/s, the others 3 Gbit/s?",
            by="slow_bps",
            settings=_each(
                replace(
                    base,
                    rate_bps=3 * GBPS,
                    workers=4,
                    server_bps=10 * GBPS,
                    slow_bps=slow,
                    cost_ns=200_000,
                )
                for slow in (0, GBPS // 2)
            ),
        )
        yield Study(
            name=f"{network}, blocks",
            question="What does it matter how a framework aggregates gradients?",
            by="block_bytes",
            settings=_each(
                replace(at, block_bytes=block)
                for block in (0, BLOCK_BYTES // 4, BLOCK_BYTES, 4 * BLOCK_BYTES)
            ),
        )
        for cost_ns, what in ((0, "without cost"), (COST_NS, "2 ms for each message")):
            yield Study(
                name=f"{network}, credit of ByteScheduler, {what}",
                question="How much credit?",
                by="credit_mb",
                settings=tuple(
                    replace(
                        at,
                        schedule="bytescheduler",
                        cost_ns=cost_ns,
                        options={
                            "partition_bytes": min(4, mb) * 1_000_000,
                            "credit_bytes": mb * 1_000_000,
                        },
                    )
                    for mb in CREDITS_MB
                ),
            )


def _each(settings: Iterator[Setting]) -> tuple[Setting, ...]:
    """Every setting with every schedule."""
    return tuple(replace(s, schedule=schedule) for s in settings for schedule in SCHEDULES)


def _busy_bps(network: str) -> int:
    """Rate at which a step's bytes take about as long as its computations."""
    return {"resnet50": GBPS, "vgg11": 3 * GBPS}[network]
