"""The list of cells: workload, direction, rate, link and transport of each."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from bench.common.clock import REAL
from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario, build_scenario

LISTING: Final = Path(__file__).with_name("cells.toml")
CONNECTIONS: Final = LISTING.with_name("connections.toml")
"""Cells of several connections."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One cell of the list.

    Attributes
    ----------
    workload, direction, rate, link, transport : what it is made of, by name
    family : of its transport
    settings : its transport's, as in a scenario
    total, repetitions : bytes a burst, valid bursts
    cluster : the topology and its hosts; nothing for a pair with one connection
    stagger : between the starts of its workers
    clock : that it is measured by
    """

    workload: str
    direction: str
    rate: str
    link: str
    transport: str
    family: str
    settings: tuple[tuple[str, Any], ...]
    total: str
    repetitions: int
    cluster: tuple[tuple[str, Any], ...] = ()
    stagger: str = ""
    clock: str = REAL

    @property
    def key(self) -> str:
        """Its name, also of its folder."""
        return f"{self.group}-{self.transport}"

    @property
    def group(self) -> str:
        """The cells of one group can share a run."""
        hosts = "x".join(str(value) for _, value in self.cluster)
        parts = (self.workload, self.direction, self.rate, self.link, hosts, self.stagger)
        return "-".join(part for part in parts if part)

    @cached_property
    def scenario(self) -> Scenario:
        """The job with this cell alone."""
        return scenario_of([self])


def scenario_of(cells: Sequence[Listed]) -> Scenario:
    """The job that runs cells of one group on one network.

    Raises
    ------
    ScenarioError
        A setting that no scenario may have.
    """
    first = cells[0]
    name = first.key if len(cells) == 1 else first.group
    return build_scenario(
        {
            "name": name,
            "repetitions": first.repetitions,
            "clock": first.clock,
            "cluster": {
                "link": {"rate": first.rate, "model": first.link},
                **dict(first.cluster),
            },
            "workload": [
                {
                    "name": first.workload,
                    "set": first.workload,
                    "total": first.total,
                    "direction": first.direction,
                    **({"stagger": first.stagger} if first.stagger else {}),
                }
            ],
            "transport": [{"name": c.transport, **dict(c.settings)} for c in cells],
        },
        name,
    )


def read_listing(path: Path = LISTING, clock: str = REAL) -> list[Listed]:
    """All cells in their order, to be measured by this clock.

    Raises
    ------
    ScenarioError
        Not TOML, a transport that the file does not describe, a cell that is listed twice.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise ScenarioError(f"{path}: {problem}") from None
    transports = data.pop("transport")
    cells = [
        replace(_listed(path, data, transports, group, name), clock=clock)
        for group in data.pop("group")
        for name in group["transports"]
    ]
    seen: set[str] = set()
    for cell in cells:
        if cell.key in seen:
            raise ScenarioError(f"{path}: {cell.key} is listed twice")
        seen.add(cell.key)
    return cells


def _listed(
    path: Path,
    data: dict[str, Any],
    transports: dict[str, dict[str, Any]],
    group: dict[str, Any],
    name: str,
) -> Listed:
    if name not in transports:
        raise ScenarioError(
            f'{path}: transports: "{name}": must be one of {", ".join(sorted(transports))}'
        )
    settings = dict(transports[name])
    return Listed(
        workload=group["workload"],
        direction=group["direction"],
        rate=group["rate"],
        link=group["link"],
        transport=name,
        family=settings.pop("family") + ("" if group["link"] == "fair" else ", fifo link"),
        settings=tuple(settings.items()),
        total=group.get("total", data["total"]),
        repetitions=data["repetitions"],
        cluster=tuple(group.get("cluster", {}).items()),
        stagger=group.get("stagger", ""),
    )
