"""The cells for development, and those that are drawn when the simulator is finished."""

import hashlib
from dataclasses import fields
from functools import partial
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
    SCHEDULES,
    STRAGGLERS,
    TRANSPORTS,
    Cell,
)

_ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("sim", "netcosim/training", "netcosim/policies", "h2model", "emu/remote/training")
DRAWN_CELLS: Final = 20

_FAIR_CELLS: Final = 10
PARSING, PROCESSOR, BOUND = COSTS


def development() -> tuple[Cell, ...]:
    """The cells that may be looked at while the simulator is made, the most telling ones first.

    Those by the machine's own clock are the last.
    """
    real = partial(Cell, clock="real", workers=(1, 2))
    far = partial(Cell, model="fifo", delay="2.5ms")
    return (
        Cell(network="alexnet", transport="grpc", rule="bsp", ratio=0.5, workers=(1, 4)),
        Cell(network="alexnet_b4", transport="whole", rule="asp", ratio=0.5),
        Cell(network="googlenet", transport="two_visit", rule="bsp", ratio=0.5, workers=(1, 4)),
        Cell(network="resnet50", transport="priority", rule="join", order="smallest_first"),
        Cell(network="alexnet", transport="fifo", rule="bsp", ratio=2.0, schedule="p3"),
        far(
            network="alexnet", transport="grpc", rule="asp", servers=2, delay="5ms", workers=(1, 4)
        ),
        Cell(network="vgg11", transport="grpc", rule="asp"),
        Cell(network="inception_v3", transport="fifo", rule="ssp", order="reverse", costs=PARSING),
        Cell(network="vgg11", transport="whole", rule="bsp", costs=PROCESSOR),
        Cell(network="resnet50", transport="whole", rule="bsp", straggler="slow_link"),
        far(network="googlenet", transport="grpc", rule="bsp", workers=(1, 4)),
        Cell(network="vgg11", transport="grpc", rule="asp", schedule="bytescheduler"),
        Cell(network="resnet50", transport="grpc", rule="asp", costs=PARSING, workers=(1, 4)),
        far(network="alexnet", transport="fifo", rule="bsp", workers=(2,)),
        Cell(network="googlenet", transport="grpc", rule="asp", ratio=2.0, straggler="transient"),
        Cell(network="alexnet", transport="fifo", rule="bsp", costs=PARSING, order="random"),
        Cell(network="googlenet", transport="priority", rule="asp", costs=PROCESSOR),
        far(network="resnet50_b4", transport="whole", rule="bsp", servers=2, workers=(3,)),
        Cell(network="alexnet", transport="two_visit", rule="asp", straggler="slow", workers=(2,)),
        far(network="vgg11", transport="grpc", rule="ssp", workers=(3,)),
        Cell(network="alexnet", transport="grpc", rule="bsp", workers=(8,)),
        Cell(network="resnet50_b4", transport="two_visit", rule="join", costs=PARSING),
        Cell(network="inception_v3", transport="priority", rule="bsp", costs=PARSING, servers=2),
        Cell(network="inception_v3", transport="whole", rule="join", ratio=2.0, costs=PROCESSOR),
        Cell(network="alexnet_b4", transport="grpc", rule="ssp", costs=PARSING, order="random"),
        Cell(network="googlenet", transport="fifo", rule="join", schedule="prophet"),
        far(network="inception_v3", transport="two_visit", rule="join", workers=(2,)),
        Cell(network="inception_v3", transport="grpc", rule="bsp", ratio=0.5, workers=(1, 4)),
        Cell(
            network="googlenet",
            transport="whole",
            rule="join",
            costs=PROCESSOR,
            order="reverse",
            workers=(2,),
        ),
        Cell(network="resnet50", transport="grpc", rule="join", schedule="prophet", workers=(2,)),
        Cell(
            network="alexnet",
            transport="priority",
            rule="ssp",
            straggler="transient",
            workers=(3,),
        ),
        far(network="vgg11", transport="grpc", rule="join", workers=(1, 4)),
        Cell(network="vgg11", transport="fifo", rule="bsp", costs=BOUND),
        Cell(network="alexnet", transport="grpc", rule="asp", costs=BOUND, workers=(3,)),
        Cell(network="resnet50", transport="two_visit", rule="join", costs=BOUND, workers=(2,)),
        Cell(network="googlenet", transport="priority", rule="ssp", costs=BOUND, workers=(2,)),
        Cell(
            network="inception_v3",
            transport="whole",
            rule="bsp",
            costs=BOUND,
            servers=2,
            workers=(2,),
        ),
        Cell(network="alexnet_b4", transport="grpc", rule="bsp", costs=BOUND, workers=(1, 4)),
        Cell(network="resnet50_b4", transport="fifo", rule="join", costs=PARSING, workers=(3,)),
        Cell(network="vgg11", transport="whole", rule="ssp", costs=PARSING, order="reverse"),
        real(network="alexnet", transport="grpc", rule="bsp"),
        real(network="googlenet", transport="fifo", rule="join"),
        real(network="resnet50", transport="whole", rule="asp"),
        real(network="vgg11", transport="two_visit", rule="bsp"),
        real(network="inception_v3", transport="grpc", rule="join", ratio=2.0),
        real(network="alexnet_b4", transport="priority", rule="ssp", costs=PARSING),
    )


def drawn() -> tuple[Cell, ...]:
    """Cells drawn by the hash of the sources of simulator and nodes: no one has chosen them."""
    rng = np.random.default_rng(int(source_hash(), 16))
    found: dict[str, Cell] = {}
    while len(found) < DRAWN_CELLS:
        fair = len(found) < _FAIR_CELLS
        cell = Cell(
            network=_one(rng, NETWORKS),
            transport=_one(rng, tuple(TRANSPORTS)),
            rule=_one(rng, RULES),
            ratio=float(rng.choice(RATIOS)),
            workers=COUNTS[rng.integers(len(COUNTS))],
            model="fair" if fair else "fifo",
            delay="0ms" if fair else "2.5ms",
            servers=int(rng.choice((1, 2))),
            order=_one(rng, ORDERS),
            straggler=_one(rng, tuple(STRAGGLERS)) if rng.random() < 0.2 else None,
            costs=_one(rng, (PARSING, BOUND)) if rng.random() < 0.2 else None,
            schedule=_one(rng, tuple(SCHEDULES)) if rng.random() < 0.15 else None,
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
