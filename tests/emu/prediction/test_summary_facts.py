"""Facts of a cell beside its bursts: windows, releases, link capacity."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emu.prediction.summary_facts import cell_facts
from netcosim.job import Cell, resolve_cells
from netcosim.scenario import read_scenario
from tests.emu.run.running import scenario


def cell_with(**setting: Any) -> Cell:
    cell = resolve_cells(read_scenario(Path(scenario("transports"))))[0]
    changed = cell.transport.model_copy(update={"flow_control": True, **setting})
    return replace(cell, transport=changed, window_bytes=setting.get("window"))


@pytest.mark.parametrize(
    ("setting", "windowed"),
    [
        ({"receiver": "h2"}, True),  # 65,535 bytes (RFC 9113, section 6.9.2), and they stay
        ({"receiver": "grpc"}, False),  # its probe moves them
        ({"receiver": "script"}, False),
        ({"receiver": "grpc", "window": 9000}, True),
        ({"receiver": "h2", "window": 9000, "flow_control": False}, False),
    ],
)
def test_windows_are_configured_where_the_receiver_keeps_to_them(
    setting: dict[str, Any], windowed: bool
) -> None:
    assert cell_facts(cell_with(**setting), {}, (), ()).windowed is windowed
