"""Profiles from files of any known format; the registry is the folder of importers."""

import importlib
import pkgutil
from pathlib import Path
from typing import Protocol, cast

from netcosim.errors import ScenarioError
from netcosim.formatting import printable
from netcosim.nearest import unknown
from netcosim.workload import importers
from netcosim.workload.checked import read_text
from netcosim.workload.model import Profile
from netcosim.workload.uncollected import uncollected


class Importer(Protocol):
    """Interface of a module in `netcosim.workload.importers`."""

    SUMMARY: str
    """The format, in one line for people."""

    def matches(self, text: str) -> bool:
        """True if a text looks like this format, be it damaged; never fails."""

    def read(self, text: str, source: str, batch: int | None) -> Profile:
        """The profile; `batch` is given where the file does not tell it."""


def importer_names() -> tuple[str, ...]:
    """The names of all importers, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(importers.__path__)))


def load_importer(name: str) -> Importer:
    """The importer of this name.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    if name not in importer_names():
        said = f'importer: "{name}": {unknown(name, importer_names())}'
        raise ScenarioError(printable(said))
    module = importlib.import_module(f"{importers.__name__}.{name}")
    return cast("Importer", module)


def import_profile(path: Path, importer: str | None = None, batch: int | None = None) -> Profile:
    """The profile in a file of any known format; `netcosim.workload.lint` judges it.

    Parameters
    ----------
    path : the file
    importer : name of its format; None: the one that it looks like
    batch : examples of a step, for formats that don't tell

    Raises
    ------
    ScenarioError
        The file can't be read, is of no known format or not of the one named, or is damaged.
    """
    text = read_text(path)
    chosen = load_importer(_detect(text, str(path)) if importer is None else importer)
    if batch is not None and batch < 1:
        raise ScenarioError.at("batch", batch, "must be >= 1")
    with uncollected():
        return chosen.read(text, str(path), batch)


def _detect(text: str, source: str) -> str:
    fitting = [name for name in importer_names() if load_importer(name).matches(text)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ScenarioError(
            printable(f"{source}: may be {' or '.join(fitting)}; name the importer")
        )
    known = "; ".join(f"{name}: {load_importer(name).SUMMARY}" for name in importer_names())
    raise ScenarioError(printable(f"{source}: of no known format; allowed: {known}"))
