"""The cells for development, and those that are drawn when the simulator is finished.

Joins, schedules and slow links are not among them: they are not run over real flows yet.
"""

import hashlib
from dataclasses import fields
from itertools import cycle
from pathlib import Path
from typing import Final

import numpy as np

from bench.crosscheck.cells import (
    COSTS,
    COUNTS,
    NETWORKS,
    ORDERS,
    RATIOS,
    RULES,
    STRAGGLERS,
    TRANSPORTS,
    Cell,
)

_ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("sim", "netcosim/training", "netcosim/policies", "h2model", "emu/remote/training")
DRAWN: Final = 20
_DRAWN_FAIR: Final = 10


def development() -> tuple[Cell, ...]:
    """The cells that may be looked at while the simulator is made."""
    fair = [
        Cell(network=network, transport=transport, rule=rule, ratio=ratio)
        for (network, ratio), transport, rule in zip(
            [(n, r) for r in RATIOS for n in NETWORKS][:15],
            cycle(TRANSPORTS),
            cycle(("bsp", "asp", "bsp", "ssp")),
            strict=False,
        )
    ]
    fair += [
        Cell(network="alexnet", transport="grpc", rule="bsp", workers=(8,)),
        Cell(network="resnet50", transport="fifo", rule="asp", order="reverse"),
        Cell(network="vgg11", transport="priority", rule="bsp", order="smallest_first"),
        Cell(network="googlenet", transport="two_visit", rule="asp", order="random"),
        Cell(network="alexnet", transport="fifo", rule="ssp", straggler="slow"),
        Cell(network="resnet50", transport="whole", rule="asp", straggler="transient"),
        *(
            Cell(network=network, transport=transport, rule=rule, costs=costs)
            for (network, transport, rule), costs in zip(
                (
                    *(("alexnet", "fifo", "bsp"), ("resnet50", "grpc", "asp")),
                    *(("vgg11", "whole", "bsp"), ("googlenet", "priority", "asp")),
                ),
                cycle(COSTS),
                strict=False,
            )
        ),
    ]
    slow = [
        Cell(
            network=network,
            transport=transport,
            rule=rule,
            model="fifo",
            delay="5ms",
            workers=(1, 2, 4),
            servers=servers,
        )
        for network, transport, rule, servers in (
            ("alexnet", "fifo", "bsp", 1),
            ("alexnet", "grpc", "asp", 2),
            ("googlenet", "grpc", "bsp", 1),
            ("inception_v3", "two_visit", "asp", 1),
            ("resnet50", "whole", "bsp", 2),
            ("resnet50", "fifo", "asp", 1),
            ("vgg11", "priority", "bsp", 1),
            ("vgg11", "grpc", "ssp", 1),
            ("alexnet_b4", "whole", "asp", 1),
            ("inception_v3", "grpc", "bsp", 2),
        )
    ]
    return (*fair, *slow)


def drawn() -> tuple[Cell, ...]:
    """Cells drawn by the hash of the sources of simulator and nodes: no one has chosen them."""
    rng = np.random.default_rng(int(source_hash(), 16))
    found: dict[str, Cell] = {}
    while len(found) < DRAWN:
        fair = len(found) < _DRAWN_FAIR
        cell = Cell(
            network=_one(rng, NETWORKS),
            transport=_one(rng, tuple(TRANSPORTS)),
            rule=_one(rng, RULES),
            ratio=float(rng.choice(RATIOS)),
            workers=COUNTS[rng.integers(len(COUNTS))],
            model="fair" if fair else "fifo",
            delay="0ms" if fair else "5ms",
            servers=int(rng.choice((1, 2))),
            order=_one(rng, ORDERS),
            straggler=_one(rng, tuple(STRAGGLERS)) if rng.random() < 0.2 else None,
            costs=_one(rng, tuple(COSTS)) if rng.random() < 0.2 else None,
            drawn=True,
        )
        found[cell.name] = cell
    return tuple(found.values())


def _one(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    return names[int(rng.integers(len(names)))]


def source_hash() -> str:
    """Hash of the sources that predict and of those that run the nodes."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def described(cell: Cell) -> dict[str, object]:
    """A cell's properties, for its record."""
    return {field.name: getattr(cell, field.name) for field in fields(cell)}
