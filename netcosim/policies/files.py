"""Policies of a folder, one file each: their names, what they do, and the file of a name."""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown


@cache
def names_in(folder: ModuleType) -> tuple[str, ...]:
    """The names of all, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(folder.__path__)))


def first_lines(folder: ModuleType) -> dict[str, str]:
    """By name, what a policy does: the first line of its file."""
    found = names_in(folder)
    files = {name: importlib.import_module(f"{folder.__name__}.{name}") for name in found}
    return {name: (file.__doc__ or "").partition("\n")[0] for name, file in files.items()}


def load_file(folder: ModuleType, field: str, name: str) -> ModuleType:
    """The file of a policy that a scenario's field names.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    known = names_in(folder)
    if name not in known:
        raise ScenarioError.at(field, name, unknown(name, known))
    return importlib.import_module(f"{folder.__name__}.{name}")
