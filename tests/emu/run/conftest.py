"""Every run of these tests happens in a world of its own; see `tests.emu.run.world`."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.emu.run.terminal import Terminal
from tests.emu.run.world import World


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with closing(Terminal()) as made:
        yield made
