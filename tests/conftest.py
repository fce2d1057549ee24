"""Tiers of the suite with their processor time, and random draws that all its processes share.

A test belongs to the tier whose marker it has, else to the default one; pyproject.toml says what
each holds. A run ends with a table of them. A test of the default tier has 2 s of processor time,
apart from fixtures that it shares with others: one that takes more is named. CI's run fails at
half as much again, which the same test takes beside other work.

Property tests draw the same examples in every run; HYPOTHESIS_PROFILE=explore draws new ones.
KILL_SEED, which trials with kill -9 have in their names, is new in every run unless it is given.
"""

import os
import random
import signal
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIERS = ("emulation", "oracle", "guest", "soak", "pages", "shared")
MOST_S = 2.0
"""Processor time of a test of the default tier, those of its processes with it."""
TOO_LONG_S = 1.5 * MOST_S

os.environ.setdefault("KILL_SEED", str(random.SystemRandom().randrange(10**6)))

settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session", autouse=True)
def signals_as_a_terminal_gives_them() -> None:
    """Undo what a starter such as nohup ignores: programs under test would inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture(scope="session")
def drawing() -> None:
    """Load what a process's first picture needs: it is no test's own time."""
    from matplotlib.figure import Figure

    from netcosim.report import style

    figure = Figure()
    figure.subplots().set_title("first")
    style.png(figure)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch, drawing: None) -> "list[Figure]":
    """Figures of reports, each when it is drawn."""
    from netcosim.report import style  # here, as few tests need what draws

    kept: list[Figure] = []
    real = style.png

    def keep(figure: "Figure") -> bytes:
        kept.append(figure)
        return real(figure)

    monkeypatch.setattr(style, "png", keep)
    return kept


def _processor_s() -> float:
    """Processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class _Stopwatch:
    """Processor time since the last lap, that of fixtures that tests share apart."""

    def __init__(self) -> None:
        self._since, self._shared = _processor_s(), 0.0

    def share(self, seconds: float) -> None:
        self._shared += seconds

    def lap(self) -> tuple[float, float]:
        now = _processor_s()
        own, shared = now - self._since - self._shared, self._shared
        self._since, self._shared = now, 0.0
        return own, shared


_WATCH = _Stopwatch()
_TESTS: dict[str, tuple[str, float, float]] = {}
"""Tier, own processor time and that of fixtures that it was the first to need, of each test."""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    began = _processor_s()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            _WATCH.share(_processor_s() - began)


def pytest_runtest_logstart() -> None:
    _WATCH.lap()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    report.tier = next(filter(item.get_closest_marker, TIERS), "default")  # type: ignore[attr-defined]
    report.processor_s = _WATCH.lap()  # type: ignore[attr-defined]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what the phases of a test took, wherever it ran."""
    if not hasattr(report, "processor_s"):
        return  # of a process that was killed
    _, own, shared = _TESTS.get(report.nodeid, ("", 0.0, 0.0))
    more_own, more_shared = report.processor_s
    _TESTS[report.nodeid] = report.tier, own + more_own, shared + more_shared  # type: ignore[attr-defined]


def _over(seconds: float) -> list[tuple[str, float]]:
    return [(n, own) for n, (tier, own, _) in _TESTS.items() if tier == "default" and own > seconds]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for tier in ("default", *TIERS):
        mine = [(own, shared) for name, own, shared in _TESTS.values() if name == tier]
        if mine:
            own, shared = (sum(each) for each in zip(*mine, strict=True))
            terminalreporter.write_line(
                f"{tier}: {len(mine)} tests, {own:.0f} s of processor time,"
                f" and {shared:.0f} s of fixtures that they share"
            )
    for name, own in _over(MOST_S):
        terminalreporter.write_line(
            f"{name}: {own:.1f} s of processor time; a test of the default tier has {MOST_S:g} s"
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where CI runs: on a machine that is slow or busy nothing is wrong with the project."""
    if "CI" in os.environ and _over(TOO_LONG_S) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with long tests first, so that short ones fill the processors at the end."""
    long = {i.path for i in items if any(i.get_closest_marker(name) for name in ("root", *TIERS))}
    items.sort(key=lambda item: item.path not in long)
