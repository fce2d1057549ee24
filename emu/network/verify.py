"""Verification that a network delivers what was asked for; all bounds are defined here."""

from collections.abc import Callable
from typing import Final

from emu.network.live import LiveNetwork
from emu.network.measure import measure_network, remeasure
from emu.network.measured_paths import Measured, PathMeasured, ShareMeasured
from netcosim.errors import NetworkError
from netcosim.scenario import TcpSpec
from netcosim.units import format_rate

# Goodput one way while frames come back to back, over 1448/1514 of the rate.
LEAST_GOODPUT: Final = 0.97
MOST_GOODPUT: Final = 1.01
# Jain's index of what workers get, on links of the model fair.
LEAST_JAIN: Final = 0.98
# The share of the time in which every processor was free, that a link stood still.
MOST_UNEXPLAINED: Final = 0.05
ATTEMPTS: Final = 3


def verify(measured: Measured, tcp: TcpSpec) -> None:
    """Compare what was measured one way, and how workers share, with what was asked for.

    What the links do is judged, not what the machine did: the rate of frames that came back to
    back, and time in which a link stood still without a busy processor. Where the machine never
    filled a link, nothing but the latter is known of it. Paths with loss are not judged: TCP can't
    fill them. Nor are paths with jitter: netem reorders packets there, so TCP slows down at times
    and delivers in lumps. Both ways at once is measured but not judged.

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
    """Measure until all is as asked for; what is not is measured `ATTEMPTS` times at most.

    Returns
    -------
    tuple
        The measurement that was accepted, and the number of measurements it took.

    Raises
    ------
    NetworkError
        As `verify`, of the last attempt.
    """
    measured = measure_network(live, log=log)
    for attempt in range(1, ATTEMPTS):
        problem = _first_problem(measured, tcp)
        if problem is None:
            return measured, attempt
        log(f"measuring again: {problem}")
        paths = [path for path in measured.paths if _path_problem(path, tcp)]
        shares = [share for share in measured.shares if _share_problem(share)]
        measured = remeasure(live, measured, paths, shares, log=log)
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
    if not _is_steady(path):
        return None
    for way, got, unexplained in (
        (f"{path.server} to {path.worker}", path.down_bps, path.down_unexplained),
        (f"{path.worker} to {path.server}", path.up_bps, path.up_unexplained),
    ):
        if not _within(got, path.expected_bps):
            return (
                f"{way} over {links}: goodput {_mbit(got)} Mbit/s, {_mbit(path.expected_bps)} "
                f"expected of {format_rate(path.rate_bps)}"
            )
        if unexplained > MOST_UNEXPLAINED:
            return f"{way} over {links}: {_stood_still(unexplained)}"
    return None


def _share_problem(share: ShareMeasured) -> str | None:
    expected = sum(share.expected_bps.values())
    if not _is_steady(share):
        return None
    if not _within(share.total_bps, expected):
        return (
            f"{share.server} to all workers: goodput {_mbit(share.total_bps)} Mbit/s, "
            f"{_mbit(expected)} expected"
        )
    if share.unexplained > MOST_UNEXPLAINED:
        return f"{share.server} to all workers: {_stood_still(share.unexplained)}"
    if share.fair and share.jain < LEAST_JAIN:
        return f"{share.server} to all workers: Jain index {share.jain:.3f}, at least {LEAST_JAIN}"
    return None


def _is_steady(measured: PathMeasured | ShareMeasured) -> bool:
    return measured.loss == 0 and measured.jitter_ns == 0


def _stood_still(unexplained: float) -> str:
    return f"stood still {unexplained:.1%} of the time in which no processor was busy"


def _within(got: int, expected: int) -> bool:
    return LEAST_GOODPUT * expected <= got <= MOST_GOODPUT * expected


def _mbit(rate_bps: int) -> str:
    return f"{rate_bps / 1e6:.4g}"
