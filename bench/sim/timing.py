"""Timing of competitors in turn, so that other load on the machine meets all of them alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.common.record import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Extent of the measurements.

    Attributes
    ----------
    rounds : in each of which every competitor is measured once
    least_s : what a measurement takes at least
    workers, generic_workers : numbers of workers of the reference job, and of the generic engine's
    everyday_workers : numbers of workers of the default scenario
    peer_steps : steps of each of 4 workers that other simulators are given
    scaling_steps : steps of each of 2 to 10 workers
    crowd, crowd_steps : workers and steps of each in the processes whose memory is looked at
    kernels : which are compiled anew; None: all usual ones
    """

    rounds: int = 3
    least_s: float = 0.5
    workers: tuple[int, ...] = (1, 4, 16, 64, 256)
    generic_workers: tuple[int, ...] = (1, 4, 16)
    everyday_workers: tuple[int, ...] = (1, 4, 16, 64)
    peer_steps: int = 100
    scaling_steps: int = 1000
    crowd: int = 4096
    crowd_steps: tuple[int, ...] = (100, 1000)
    kernels: tuple[str, ...] | None = None


QUICK = Effort(
    rounds=2,
    least_s=0.02,
    workers=(1, 4, 16),
    generic_workers=(4,),
    everyday_workers=(2,),
    peer_steps=3,
    scaling_steps=20,
    crowd=64,
    crowd_steps=(10, 100),
    kernels=("fast",),
)
"""Enough to see that everything works; the figures are worth nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Competitor:
    """Something that can be measured again and again.

    Attributes
    ----------
    units : of work in a measurement, such as worker-steps
    measure : does them: the seconds that it took
    """

    name: str
    units: int
    measure: Callable[[], float]


@dataclass(slots=True, kw_only=True)
class Timing:
    """Times of a competitor's rounds."""

    name: str
    units: int
    seconds: list[float] = field(default_factory=list)

    @property
    def best_s(self) -> float:
        """The fastest round."""
        return min(self.seconds)

    @property
    def median_s(self) -> float:
        """The median round."""
        return median(self.seconds)

    def us(self, seconds: float) -> float:
        """Microseconds a unit."""
        return seconds / self.units * 1e6

    def row(self, **about: Any) -> dict[str, Any]:
        """Every round, for the file of results."""
        return {**about, "competitor": self.name, "units": self.units, "seconds": self.seconds}


def alternate(competitors: Sequence[Competitor], rounds: int) -> list[Timing]:
    """Measure every competitor once a round; every other round goes backwards."""
    timings = [Timing(name=c.name, units=c.units) for c in competitors]
    for number in range(rounds):
        turn = list(zip(competitors, timings, strict=True))
        for competitor, timing in turn if number % 2 == 0 else reversed(turn):
            timing.seconds.append(competitor.measure())
    return timings


def enough(seconds_of: Callable[[int], float], least_s: float, *, begin: int) -> int:
    """Units of work for which a measurement takes long enough, with a fifth to spare.

    The first measurement, in which things are loaded and compiled, does not count.
    """
    seconds_of(begin)
    units = begin
    while (seconds := seconds_of(units)) < least_s:
        units = max(2 * units, int(units * min(100.0, 1.2 * least_s / max(seconds, 1e-9))))
    return units


def us_figure(name: str, timing: Timing, most_us: float | None = None) -> Figure:
    """Microseconds a worker-step: the median round, held to the target; the best one beside it."""
    note = f"best {timing.us(timing.best_s):.4g}; {len(timing.seconds)} rounds"
    return judged(name, timing.us(timing.median_s), "us", most=most_us, note=note)


def seconds_figure(name: str, timing: Timing, most_s: float | None = None) -> Figure:
    """Seconds: the median round, held to the target; the best one beside it."""
    note = f"best {timing.best_s:.4g}; {len(timing.seconds)} rounds"
    return judged(name, timing.median_s, "s", most=most_s, note=note)


def ratio_figure(
    name: str,
    slow: Timing,
    fast: Timing,
    *,
    least: float | None = None,
    most: float | None = None,
) -> Figure:
    """Ratio of the times of a unit: the median of the rounds' ratios, and of the bests."""
    per_unit = fast.units / slow.units
    each = [a / b * per_unit for a, b in zip(slow.seconds, fast.seconds, strict=True)]
    note = (
        f"{slow.us(slow.median_s):.4g} us against {fast.us(fast.median_s):.4g} us;"
        f" of the bests {slow.best_s / fast.best_s * per_unit:.4g}; {len(each)} rounds"
    )
    return judged(name, median(each), "x", least=least, most=most, note=note)


def judged(
    name: str,
    value: float,
    unit: str,
    *,
    least: float | None = None,
    most: float | None = None,
    note: str = "",
) -> Figure:
    """Make a figure, against a target if there is one."""
    if most is not None:
        target, met = f"<= {most:g}", value <= most
    elif least is not None:
        target, met = f">= {least:g}", value >= least
    else:
        return Figure(name=name, value=value, unit=unit, note=note)
    return Figure(name=name, value=value, unit=unit, target=target, met=met, note=note)
