"""Random draws that all processes of a run of the suite share.

Property tests draw the same examples in every run; HYPOTHESIS_PROFILE=explore draws new ones.
KILL_SEED, which trials with kill -9 have in their names, is new in every run unless it is given.
"""

import os
import random
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> "list[Figure]":
    """Figures of reports, each when it is drawn."""
    from netcosim.report import style  # here, as few tests need what draws

    kept: list[Figure] = []
    real = style.png

    def keep(figure: "Figure") -> bytes:
        kept.append(figure)
        return real(figure)

    monkeypatch.setattr(style, "png", keep)
    return kept


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with long tests first, so that short ones fill the processors at the end."""
    long = {i.path for i in items if i.get_closest_marker("root") or i.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)
