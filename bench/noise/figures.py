"""Figures of the runs at each load against the targets, beside the machine's state."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bench.common.record import Figure, at_least, at_most
from bench.noise.run_records import Burst, Cell, Run
from netcosim.scoring.decision import Limits

LONGEST_S: Final = 120.0
UNDECIDED: Final = 5.0
"""Largest share of gRPC's verdicts that may be undecided, in %."""

ORDER_MEAN: Final = 0.005
"""Bound of the mean order error, in %: 0.00 as it is printed."""

ORDER_MAX: Final = 0.02
TIME_MEAN: Final = 0.1
TIME_MAX: Final = 0.5
JUDGED: Final = {10: 80.0}
"""Least share of judged bursts of h2 by load, in %."""

_Z: Final = 1.959963984540054
"""The normal distribution's 97.5 % quantile."""


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of which `hits` of `count` were seen.

    Source: Wilson, Journal of the American Statistical Association 22 (1927), pp. 209-212.

    Raises
    ------
    ValueError
        Nothing was seen, or more hits than tries.
    """
    if not 0 <= hits <= count or count == 0:
        raise ValueError(f"{hits} hits of {count}")
    share, weight = hits / count, _Z * _Z / count
    middle = (share + weight / 2) / (1 + weight)
    half = _Z / (1 + weight) * math.sqrt(share * (1 - share) / count + weight / 4 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def figures_of(runs: Sequence[Run], *, wanted: int, cells: Sequence[str]) -> list[Figure]:
    """All figures: over all loads, then load by load.

    Parameters
    ----------
    runs
        What has ended.
    wanted
        How many runs there are to be.
    cells
        The cells of each run; one that a run has no answer of has no verdict.
    """
    loads = sorted({run.load for run in runs})
    grouped = [(load, [run for run in runs if run.load == load]) for load in loads]
    return [
        *_overall(runs, wanted, cells),
        *(figure for load, mine in grouped for figure in _at_load(load, mine, cells)),
    ]


def machine(runs: Sequence[Run]) -> str:
    """Steal and load average of these runs; the largest steal behind the mean."""
    steal = [100 * run.steal for run in runs]
    busy = _mean([run.load_average for run in runs])
    many = f"{len(runs)} runs" if len(runs) > 1 else "1 run"
    return f"{many}, steal {_mean(steal):.2g} % (max {max(steal):.2g}), load average {busy:.2g}"


def _overall(runs: Sequence[Run], wanted: int, cells: Sequence[str]) -> Iterator[Figure]:
    if not runs:
        yield at_least("runs", 0, "", wanted)
        return
    outcomes = _outcomes(runs, cells)
    theirs = [cell.outcome for cell in _cells(runs, "grpc")]
    codes = ", ".join(f"{n} x {code}" for code, n in Counter(r.exit_code for r in runs).items())
    note = machine(runs)
    yield at_least("runs", len(runs), "", wanted, note)
    yield at_least("runs that ended with exit code 0", _good(runs), "", len(runs), codes)
    yield at_most("longest run", max(run.wall_s for run in runs), "s", LONGEST_S, note)
    yield at_most("wrong verdicts", outcomes["wrong"], "", 0, f"of {sum(outcomes.values())}")
    yield at_most("verdicts that no rule fits", outcomes["fits none"], "", 0)
    yield at_most("cells without a verdict", outcomes["missing"], "", 0)
    if theirs:
        undecided = 100 * theirs.count("undecided") / len(theirs)
        yield at_most("gRPC: verdicts undecided", undecided, "%", UNDECIDED, f"of {len(theirs)}")
        few = sum(_few_judged(cell) for cell in _cells(runs, "grpc"))
        label = "gRPC: cells without a majority of judged bursts"
        yield Figure(name=label, value=few, unit="", note=f"of {len(theirs)}; undecided today")


def _at_load(load: int, runs: Sequence[Run], cells: Sequence[str]) -> Iterator[Figure]:
    note = machine(runs)

    def named(figure: Figure) -> Figure:
        text = f"{figure.note}; {note}" if figure.note else note
        return Figure(
            name=f"{load} % load: {figure.name}",
            value=figure.value,
            unit=figure.unit,
            target=figure.target,
            met=figure.met,
            note=text,
        )

    parts = (
        _runs(runs, cells),
        _ends(_cells(runs, "h2"), "h2", targets=True),
        _judged(_cells(runs, "h2"), "h2", JUDGED.get(load)),
        _ends(_cells(runs, "grpc"), "gRPC", targets=False),
        _judged(_cells(runs, "grpc"), "gRPC", None),
        _exact(_cells(runs, "grpc")),
        _sent_again([burst for run in runs for cell in run.cells for burst in cell.bursts]),
    )
    return (named(figure) for part in parts for figure in part)


def _runs(runs: Sequence[Run], cells: Sequence[str]) -> Iterator[Figure]:
    taken, wall = _mean([100 * run.occupied for run in runs]), [run.wall_s for run in runs]
    yield Figure(name="processor time that the load took", value=taken, unit="%")
    yield at_least("runs with exit code 0", _good(runs), "", len(runs))
    yield Figure(name="wall time, mean", value=_mean(wall), unit="s")
    yield at_most("wall time, max", max(wall), "s", LONGEST_S)
    outcomes = _outcomes(runs, cells)
    counts = ", ".join(f"{outcomes[o]} {o}" for o in ("undecided", "fits none", "missing"))
    yield at_most("wrong verdicts", outcomes["wrong"], "", 0)
    yield Figure(name="right verdicts", value=outcomes["right"], unit="", note=counts)


def _ends(cells: Sequence[Cell], name: str, *, targets: bool) -> Iterator[Figure]:
    """Errors of the right model's ends over judged bursts, and what the links lost in these."""
    scored = [(b, c.streams) for c in cells for b in c.judged if b.exact is not None]
    if not scored:
        return
    streams = [count for _, count in scored]
    for kind, field, mean_bound, max_bound in (
        ("order error", "order", ORDER_MEAN, ORDER_MAX),
        ("time error", "time", TIME_MEAN, TIME_MAX),
    ):
        mean = 100 * _mean([getattr(burst, f"{field}_mean") for burst, _ in scored], streams)
        most = 100 * max(getattr(burst, f"{field}_max") for burst, _ in scored)
        yield _bounded(f"{name}: {kind}, mean", mean, mean_bound if targets else None)
        yield _bounded(f"{name}: {kind}, max", most, max_bound if targets else None)
    yield from _wall(cells, name)
    length = sum(burst.length_ns for burst, _ in scored)
    lost = sum(burst.lost_ns for burst, _ in scored)
    cut = sum(burst.cut_ns for burst, _ in scored)
    yield Figure(name=f"{name}: lost share", value=100 * lost / length, unit="%")
    share = 100 * (lost - cut) / length
    yield Figure(name=f"{name}: unexplained part of it", value=share, unit="%")


def _wall(cells: Iterable[Cell], name: str) -> Iterator[Figure]:
    known = [
        (cell.wall_mean, cell.wall_max, cell.streams * len(cell.judged))
        for cell in cells
        if cell.wall_mean is not None and cell.wall_max is not None
    ]
    if known:
        mean = 100 * _mean([each[0] for each in known], [each[2] for each in known])
        most = 100 * max(each[1] for each in known)
        yield Figure(name=f"{name}: time error on the wall clock, mean", value=mean, unit="%")
        yield Figure(name=f"{name}: time error on the wall clock, max", value=most, unit="%")


def _judged(cells: Iterable[Cell], name: str, target: float | None) -> Iterator[Figure]:
    bursts = [burst for cell in cells for burst in cell.bursts]
    if not bursts:
        return
    judged = sum(burst.judged for burst in bursts)
    invalid = sum(not burst.valid for burst in bursts)
    value, label = 100 * judged / len(bursts), f"{name}: bursts judged"
    note = f"{judged} of {len(bursts)}, {invalid} invalid"
    if target is None:
        yield Figure(name=label, value=value, unit="%", note=note)
    else:
        yield at_least(label, value, "%", target, note)


def _exact(cells: Iterable[Cell]) -> Iterator[Figure]:
    """Share of the judged bursts that came in exactly the predicted order."""
    scored = [burst for cell in cells for burst in cell.judged if burst.exact is not None]
    for name, bursts in (
        ("later bursts", [burst for burst in scored if not burst.first]),
        ("first bursts of connections", [burst for burst in scored if burst.first]),
    ):
        if bursts:
            hits = sum(bool(burst.exact) for burst in bursts)
            low, high = wilson(hits, len(bursts))
            yield Figure(
                name=f"gRPC: {name} in exact order",
                value=100 * hits / len(bursts),
                unit="%",
                note=f"{hits} of {len(bursts)}, 95 % interval {100 * low:.0f} to {100 * high:.0f}",
            )


def _sent_again(bursts: Sequence[Burst]) -> Iterator[Figure]:
    """Retransmissions of TCP: spurious ones, on a link without loss."""

    def count(name: str) -> int:
        return sum(getattr(burst, name) for burst in bursts)

    unasked = [b for b in bursts if not b.loss_probes and not b.timeouts]
    again = sum(burst.retransmissions for burst in unasked)
    yield at_most("reorderings", count("reorderings"), "", 0)
    yield at_most("segments sent again without probe or timeout", again, "", 0)
    yield Figure(name="segments sent again in all", value=count("retransmissions"), unit="")
    yield Figure(name="tail-loss probes", value=count("loss_probes"), unit="")
    yield Figure(name="timeouts", value=count("timeouts"), unit="")


def _bounded(name: str, value: float, bound: float | None) -> Figure:
    if bound is None:
        return Figure(name=name, value=value, unit="%")
    return at_most(name, value, "%", bound)


def _outcomes(runs: Sequence[Run], cells: Sequence[str]) -> Counter[str]:
    found = Counter(cell.outcome for run in runs for cell in run.cells)
    found["missing"] += sum(len(cells) - len(run.cells) for run in runs)
    return Counter[str](found)


def _cells(runs: Iterable[Run], sender: str) -> list[Cell]:
    return [cell for run in runs for cell in run.cells if cell.sender == sender]


def _few_judged(cell: Cell) -> bool:
    """True if the judged bursts are no majority of the valid ones, which a verdict needs today."""
    judged = len(cell.judged)
    return Limits(shown=sum(burst.valid for burst in cell.bursts) - judged).too_few(judged)


def _good(runs: Iterable[Run]) -> int:
    return sum(run.exit_code == 0 for run in runs)


def _mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    heavy = weights or [1.0] * len(values)
    return math.fsum(v * w for v, w in zip(values, heavy, strict=True)) / math.fsum(heavy)
