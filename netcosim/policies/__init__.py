"""Policies that both worlds obey, one file each; the registry is the folder."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.policies import order, placement

Arrange = Callable[[Sequence[int], np.random.Generator], list[int]]
Place = Callable[[Sequence[int], int], list[int]]


def order_names() -> tuple[str, ...]:
    """The names of all release orders, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(order.__path__)))


def placement_names() -> tuple[str, ...]:
    """The names of all placements, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(placement.__path__)))


def load_order(name: str) -> Arrange:
    """``arrange(sizes_bytes, rng) -> permutation`` of the order of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    _check("policy.order", name, order_names())
    return cast("Arrange", importlib.import_module(f"{order.__name__}.{name}").arrange)


def load_placement(name: str) -> Place:
    """``place(sizes_bytes, servers) -> server of each tensor`` of the placement of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    _check("policy.placement", name, placement_names())
    return cast("Place", importlib.import_module(f"{placement.__name__}.{name}").place)


def _check(field: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise ScenarioError.at(field, name, f"unknown; allowed: {', '.join(known)}")
