"""Whether a network delivers what was asked for. The bounds are here and nowhere else."""

from collections.abc import Callable
from typing import Final

from emu.network.live import LiveNetwork
from emu.network.measure import Measured, PathMeasured, ShareMeasured, measure_network
from netcosim.errors import NetworkError
from netcosim.scenario import TcpSpec
from netcosim.units import format_rate

# Goodput one way, over 1448/1514 of the rate.
LEAST_GOODPUT: Final = 0.97
MOST_GOODPUT: Final = 1.01
# Jain's index of what workers get, on links of the model fair.
LEAST_JAIN: Final = 0.98
ATTEMPTS: Final = 3


def verify(measured: Measured, tcp: TcpSpec) -> None:
    """Compare what was measured one way, and how workers share, with what was asked for.

    Paths with loss are not judged by goodput: TCP can't fill them. Nor are paths with jitter:
    netem reorders packets there, so TCP slows down at times and delivers in lumps. Both ways at
    once is measured but not judged.

    Raises
    ------
    NetworkError
        Names the path, what it delivers, what was asked for, and how busy the machine was.
    """
    problem = _first_problem(measured, tcp)
    if problem:
        raise NetworkError(
            f"{problem} (processors idle {measured.idle:.0%}, stolen {measured.steal:.0%})"
        )


def measure_and_verify(
    live: LiveNetwork, tcp: TcpSpec, *, log: Callable[[str], None] = lambda _: None
) -> tuple[Measured, int]:
    """Measure until it is as asked for, at most `ATTEMPTS` times; a busy machine may explain one.

    Returns
    -------
    tuple
        The measurement that was accepted, and the number of measurements it took.

    Raises
    ------
    NetworkError
        As `verify`, of the last attempt.
    """
    for attempt in range(1, ATTEMPTS):
        measured = measure_network(live, log=log)
        problem = _first_problem(measured, tcp)
        if problem is None:
            return measured, attempt
        log(f"measuring again: {problem}")
    measured = measure_network(live, log=log)
    verify(measured, tcp)
    return measured, ATTEMPTS


def _first_problem(measured: Measured, tcp: TcpSpec) -> str | None:
    problems = [
        *(_path_problem(path, tcp) for path in measured.paths),
        *(_share_problem(share) for share in measured.shares),
    ]
    return next((problem for problem in problems if problem), None)


def _path_problem(path: PathMeasured, tcp: TcpSpec) -> str | None:
    links = ", ".join(path.links)
    if path.congestion_control != tcp.congestion_control:
        return (
            f"{path.server} - {path.worker}: connections use {path.congestion_control}, "
            f"asked for {tcp.congestion_control}"
        )
    for way, got in (
        (f"{path.server} to {path.worker}", path.down_bps),
        (f"{path.worker} to {path.server}", path.up_bps),
    ):
        if _is_steady(path) and not _within(got, path.expected_bps):
            return (
                f"{way} over {links}: goodput {_mbit(got)} Mbit/s, {_mbit(path.expected_bps)} "
                f"expected of {format_rate(path.rate_bps)}"
            )
    return None


def _share_problem(share: ShareMeasured) -> str | None:
    expected = sum(share.expected_bps.values())
    if _is_steady(share) and not _within(share.total_bps, expected):
        return (
            f"{share.server} to all workers: goodput {_mbit(share.total_bps)} Mbit/s, "
            f"{_mbit(expected)} expected"
        )
    if share.fair and _is_steady(share) and share.jain < LEAST_JAIN:
        return f"{share.server} to all workers: Jain index {share.jain:.3f}, at least {LEAST_JAIN}"
    return None


def _is_steady(measured: PathMeasured | ShareMeasured) -> bool:
    return measured.loss == 0 and measured.jitter_ns == 0


def _within(got: int, expected: int) -> bool:
    return LEAST_GOODPUT * expected <= got <= MOST_GOODPUT * expected


def _mbit(rate_bps: int) -> str:
    return f"{rate_bps / 1e6:.4g}"
